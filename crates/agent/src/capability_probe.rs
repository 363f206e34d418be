//! Tries what this host supports, in a separate network namespace: reads `trial.json`, writes `result.json`.
//!
//! A qdisc or filter is tried with a few `tc` commands on a new veth pair, a controller with a socket.
//! `dumbbell.engines.capability_probe` decides what to try and judges what is missing.

use crate::error::{Attempt, Error, Result};
use crate::{setup, sys};
use dumbbell_plan::operation::VethEnd;
use dumbbell_plan::trial::{TRIAL_DEVICE, Trial};
use dumbbell_plan::{Operation, Step};
use dumbbell_tc::Command;
use serde::Serialize;
use socket2::{Domain, Socket, Type};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// More than the default of `net.core.wmem_max` on any system.
const LARGE_BYTES: u64 = 1 << 24;
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

#[derive(Serialize)]
struct ProbeResult {
    /// By kind: the reason for a refusal, or None.
    refused: BTreeMap<String, Option<String>>,
    /// Those to try that a socket accepted.
    controllers: Vec<String>,
    /// All that the kernel lists.
    available: Vec<String>,
    /// May socket buffers exceed the system's limit?
    large_buffers: bool,
}

/// Tries everything.
pub fn run(folder: &Path) -> Result<()> {
    let text = fs::read_to_string(folder.join("trial.json")).attempt(|| "reading trial.json".into())?;
    let request: Trial = serde_json::from_str(&text)?;
    let refused = request.commands.into_iter().map(|(what, lines)| Ok((what, try_commands(lines)?)));
    let result = ProbeResult {
        refused: refused.collect::<Result<_>>()?,
        controllers: request.controllers.into_iter().filter(|name| has(name)).collect(),
        available: fs::read_to_string(AVAILABLE)
            .attempt(|| format!("reading {AVAILABLE}"))?
            .split_whitespace()
            .map(String::from)
            .collect(),
        large_buffers: buffers_may_be_large(),
    };
    fs::write(folder.join("tried.json"), serde_json::to_vec(&result)?).attempt(|| "writing tried.json".into())
}

/// Why the commands were refused on a new veth pair, or None.
fn try_commands(commands: Vec<Command>) -> Result<Option<String>> {
    let end = |device: &str| VethEnd { device: device.into(), ..VethEnd::default() };
    let here = |operation| Step::new("", operation);
    setup::run(&[here(Operation::AddVeth { end: end(TRIAL_DEVICE), peer: end("trial-end") })])?;
    let steps: Vec<_> = commands.into_iter().map(|command| here(Operation::Tc(command))).collect();
    let outcome = setup::run(&steps);
    setup::run(&[here(Operation::DeleteDevice { device: TRIAL_DEVICE.into() })])?;
    match outcome {
        Ok(_) => Ok(None),
        Err(Error::Refused { reason, .. }) => Ok(Some(reason)),
        Err(error) => Err(error),
    }
}

/// Can a socket use this congestion control?
pub fn has(controller: &str) -> bool {
    socket().is_ok_and(|socket| socket.set_tcp_congestion(controller.as_bytes()).is_ok())
}

fn buffers_may_be_large() -> bool {
    let force = |socket: Socket| {
        sys::set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, sys::small(LARGE_BYTES))
    };
    socket().is_ok_and(|socket| force(socket).is_ok())
}

fn socket() -> io::Result<Socket> {
    Socket::new(Domain::IPV4, Type::STREAM, None)
}
