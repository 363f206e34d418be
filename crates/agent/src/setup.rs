//! Executes the plan's steps: links, addresses, routes and qdiscs by rtnetlink; namespaces, sysctls, module parameters
//! and offloads by system calls.
//!
//! ```text
//! ip        links, addresses and routes as rtnetlink messages
//! rtnetlink requests with the kernel's reason for a refusal
//! changes   timed steps
//! iproute2  tc commands that only the machine's own tc understands
//! ```
//!
//! No program runs, because what a program does in a guest (system calls, random numbers) changes the run, and differs
//! between versions. A tc command that `dumbbell_tc` has no message for goes to the machine's
//! tc, which is reported in `end.json`.

pub mod changes;
mod ip;
pub mod iproute2;
mod rtnetlink;

use crate::error::{Attempt, Error, Result};
use crate::sys;
use dumbbell_plan::operation::{OFFLOADS, Operation, Step};
use dumbbell_tc::message::Message;
use iproute2::MachinePrograms;
use rtnetlink::RequestSocket;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};

/// As ip and tc put it.
fn no_device(name: &str) -> String {
    format!("Cannot find device \"{name}\"")
}

/// The error of a step that the kernel refuses.
fn refused(step: &Step, reason: impl Into<String>) -> Error {
    Error::Refused { command: step.line(), reason: reason.into() }
}

/// Executes all steps in order; stops at the first failure. Returns what programs of the machine ran.
pub fn run(steps: &[Step]) -> Result<MachinePrograms> {
    let mut programs = MachinePrograms::default();
    let mut sockets: BTreeMap<&str, RequestSocket> = BTreeMap::new();
    for step in steps {
        match &step.operation {
            Operation::AddHost { name } => add_namespace(name).attempt(|| step.line())?,
            Operation::Sysctl { key, value } => set_sysctl(step, key, value)?,
            Operation::ModuleParameter { cc, name, value } => set_parameter(step, cc, name, value)?,
            Operation::Offloads { device, on } => set_offloads(step, device, *on)?,
            Operation::Tc(command) => match Message::of(command) {
                Ok(message) => send_tc(&message, open(&mut sockets, &step.host)?, step)?,
                Err(_) => programs.run(step)?,
            },
            operation => {
                let socket = open(&mut sockets, &step.host)?;
                ip::send(operation, socket)?.map_err(|reason| refused(step, reason))?;
            }
        }
    }
    Ok(programs)
}

fn send_tc(message: &Message, socket: &RequestSocket, step: &Step) -> Result<()> {
    let index = socket.device(&message.device)?.ok_or_else(|| refused(step, no_device(&message.device)))?;
    let body = match message.mirrors_to() {
        Some(second) => {
            let second = socket.device(second)?.ok_or_else(|| refused(step, no_device(second)))?;
            message.body_to(index, second)
        }
        None => message.body(index),
    };
    socket.send(message.kind, message.flags, &body)?.map_err(|reason| refused(step, reason))
}

fn open<'a, 'b>(sockets: &'b mut BTreeMap<&'a str, RequestSocket>, host: &'a str) -> Result<&'b RequestSocket> {
    if !sockets.contains_key(host) {
        sockets.insert(host, RequestSocket::open(host)?);
    }
    Ok(&sockets[host])
}

/// Creates a network namespace with a name, as `ip netns add` does (ip-netns(8)).
fn add_namespace(name: &str) -> io::Result<()> {
    fs::create_dir_all(sys::NAMESPACES)?;
    let path = format!("{}/{name}", sys::NAMESPACES);
    fs::File::create_new(&path)?;
    sys::name_new_namespace(&path)
}

fn set_sysctl(step: &Step, key: &str, value: &str) -> Result<()> {
    let path = sys::sysctl_file(key);
    sys::within(&step.host, || fs::write(&path, value)).map_err(|error| {
        let reason = match error.kind() {
            io::ErrorKind::NotFound if !step.host.is_empty() && fs::exists(&path).unwrap_or(false) => {
                format!("{key} is system-wide on this kernel, not per host")
            }
            io::ErrorKind::NotFound if !fs::exists(HOST_WIDE_SYSCTL).unwrap_or(false) => {
                format!("{key} does not exist in a host: this kernel lacks it, or it is system-wide")
            }
            io::ErrorKind::NotFound => format!("this kernel has no {key}"),
            _ => error.to_string(),
        };
        refused(step, reason)
    })
}

/// Exists on every kernel, system-wide: where it is invisible, other system-wide sysctls are invisible, too.
const HOST_WIDE_SYSCTL: &str = "/proc/sys/net/core/netdev_max_backlog";

/// Sets a parameter of a congestion control module; no other file is ever written.
fn set_parameter(step: &Step, cc: &str, name: &str, value: &str) -> Result<()> {
    let path = Operation::parameter_file(cc, name);
    assert!(!path.contains(".."), "the plan writes a forbidden file");
    let written = fs::OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => refused(step, "this kernel's controller has no such parameter"),
        io::ErrorKind::PermissionDenied => refused(step, "the parameter is read-only after boot"),
        _ => refused(step, error.to_string()),
    })
}

/// The features behind [`OFFLOADS`], as ioctl numbers.
const FEATURES: [u32; OFFLOADS.len()] = [0x1f, 0x24, 0x2c];

fn set_offloads(step: &Step, device: &str, on: bool) -> Result<()> {
    for feature in FEATURES {
        sys::within(&step.host, || Ok(sys::features::set(device, feature, on)?)).attempt(|| step.line())?;
    }
    if on {
        return Ok(());
    }
    let stay = sys::within(&step.host, || Ok(sys::features::without_super_packets(device)?));
    let stay = stay.attempt(|| step.line())?;
    if stay.is_empty() {
        return Ok(());
    }
    let left = stay.join(", ");
    Err(refused(step, format!("{left} can't be turned off on {device}; path.offloads = true accepts that")))
}
