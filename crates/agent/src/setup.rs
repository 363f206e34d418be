//! Executes the plan's commands: links, addresses, routes and qdiscs by rtnetlink; namespaces, sysctls, module
//! parameters and offloads by system calls.
//!
//! ```text
//! ip        commands of ip as rtnetlink messages
//! rtnetlink requests with the kernel's reason for a refusal
//! changes   timed commands
//! iproute2  commands that only the machine's own ip and tc understand
//! ```
//!
//! No program runs, because what a program does in a guest (system calls, random numbers) changes the run, and differs
//! between versions. `dumbbell_net::tc` has tc's language. A command that neither module knows goes to the machine's
//! program, which is reported in `end.json`. `dumbbell.plan` generates the commands.

pub mod changes;
mod ip;
pub mod iproute2;
mod rtnetlink;

use crate::error::{Attempt, Error, Result};
use crate::sys;
use dumbbell_plan::Command;
use dumbbell_tc::message::Message;
use iproute2::MachinePrograms;
use rtnetlink::RequestSocket;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};

/// A command that the agent executes itself.
enum Request {
    Ip(ip::Request),
    Tc(Message),
}

impl Request {
    /// None: only the machine's program knows the command.
    fn read(command: &Command) -> Option<Self> {
        let words: Vec<&str> = command.argv.iter().map(String::as_str).collect();
        match words.split_first()? {
            (&"ip", rest) => ip::Request::read(rest).map(Self::Ip),
            (&"tc", rest) => Message::read(rest).ok().map(Self::Tc),
            _ => None,
        }
    }

    fn send(&self, socket: &RequestSocket, command: &Command) -> Result<()> {
        let refused = |reason| Error::Refused { command: command.line(), reason };
        match self {
            Self::Ip(request) => request.send(socket)?.map_err(refused),
            Self::Tc(message) => {
                let Some(index) = socket.device(&message.device)? else {
                    return Err(refused(no_device(&message.device)));
                };
                socket.send(message.kind, message.flags, &message.body(index))?.map_err(refused)
            }
        }
    }
}

/// As ip and tc put it.
fn no_device(name: &str) -> String {
    format!("Cannot find device \"{name}\"")
}

/// Runs all commands in order; stops at the first failure. Returns what programs of the machine ran.
pub fn run(commands: &[Command]) -> Result<MachinePrograms> {
    let mut programs = MachinePrograms::default();
    let mut sockets: BTreeMap<&str, RequestSocket> = BTreeMap::new();
    for command in commands {
        match command.argv[0].as_str() {
            "ip" | "tc" => match Request::read(command) {
                Some(Request::Ip(ip::Request::AddNamespace { name })) => {
                    add_namespace(&name).attempt(|| command.line())?;
                }
                Some(request) => request.send(open(&mut sockets, &command.host)?, command)?,
                None => programs.run(command)?,
            },
            "sysctl" => set_sysctl(command)?,
            "write" => set_parameter(command)?,
            "ethtool" => set_offloads(command)?,
            other => panic!("the plan contains a forbidden program: {other}"),
        }
    }
    Ok(programs)
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
fn set_sysctl(command: &Command) -> Result<()> {
    let setting = command.argv.last().expect("sysctl -w KEY=VALUE");
    let (key, value) = setting.split_once('=').expect("sysctl -w KEY=VALUE");
    let path = sys::sysctl_file(key);
    sys::within(&command.host, || fs::write(&path, value)).map_err(|error| Error::Refused {
        command: command.line(),
        reason: match error.kind() {
            io::ErrorKind::NotFound if !command.host.is_empty() && fs::exists(&path).unwrap_or(false) => {
                format!("{key} is system-wide on this kernel, not per host")
            }
            io::ErrorKind::NotFound if !fs::exists(HOST_WIDE_SYSCTL).unwrap_or(false) => {
                format!("{key} does not exist in a host: this kernel lacks it, or it is system-wide")
            }
            io::ErrorKind::NotFound => format!("this kernel has no {key}"),
            _ => error.to_string(),
        },
    })
}

/// Exists on every kernel, system-wide: where it is invisible, other system-wide sysctls are invisible, too.
const HOST_WIDE_SYSCTL: &str = "/proc/sys/net/core/netdev_max_backlog";

/// Sets a parameter of a congestion control module; no other file is ever written.
fn set_parameter(command: &Command) -> Result<()> {
    let [_, path, value] = command.argv.as_slice() else { panic!("write FILE TEXT") };
    assert!(path.starts_with("/sys/module/tcp_") && !path.contains(".."), "the plan writes a forbidden file");
    let written = fs::OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(|error| Error::Refused {
        command: command.line(),
        reason: match error.kind() {
            io::ErrorKind::NotFound => "this kernel's controller has no such parameter".into(),
            io::ErrorKind::PermissionDenied => "the parameter is read-only after boot".into(),
            _ => error.to_string(),
        },
    })
}

/// The features of `ethtool -K DEVICE FEATURE on|off …` that plans use, as ioctl numbers.
const OFFLOADS: [(&str, u32); 3] = [("tso", 0x1f), ("gso", 0x24), ("gro", 0x2c)];

fn set_offloads(command: &Command) -> Result<()> {
    let device = &command.argv[2];
    for pair in command.argv[3..].chunks_exact(2) {
        let number = OFFLOADS.iter().find(|(name, _)| *name == pair[0]).expect("an offload of the plan").1;
        sys::within(&command.host, || Ok(sys::features::set(device, number, pair[1] == "on")?))
            .attempt(|| command.line())?;
    }
    if command.argv[3..].chunks_exact(2).any(|pair| pair[1] == "on") {
        return Ok(());
    }
    let stay = sys::within(&command.host, || Ok(sys::features::without_super_packets(device)?));
    let stay = stay.attempt(|| command.line())?;
    if stay.is_empty() {
        return Ok(());
    }
    let reason = format!("{} can't be turned off on {device}; path.offloads = true accepts that", stay.join(", "));
    Err(Error::Refused { command: command.line(), reason })
}
