//! What this machine has, found by trying it in a network of its own: `trial.json` says what, `tried.json` how it went.
//!
//! Each trial is a few `tc` commands on a wire of its own; of a controller, a socket that asks for it. What is tried,
//! and what it means that something is missing, is `dumbbell.engine.host_trial`'s.

use crate::error::{Attempt, Error, Result};
use crate::plan::Command;
use crate::{setup, sys};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket, Type};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The wire that disciplines are tried on.
const DEVICE: &str = "trial";
/// More than `net.core.wmem_max` has anywhere by default.
const LARGE_BYTES: usize = 1 << 24;
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// `tc` commands on the device `trial`, by what they try.
    commands: BTreeMap<String, Vec<String>>,
    /// Congestion controls.
    controllers: Vec<String>,
}

#[derive(Serialize)]
struct Tried {
    /// By what was tried: why not, or nothing.
    refused: BTreeMap<String, Option<String>>,
    /// Those of the wanted ones that a socket got.
    controllers: Vec<String>,
    /// All that the kernel lists.
    available: Vec<String>,
    /// May a socket's buffers be larger than the machine's limit?
    large_buffers: bool,
}

/// Tries everything.
pub fn run(folder: &Path) -> Result<()> {
    let text = fs::read_to_string(folder.join("trial.json")).attempt(|| "reading trial.json".into())?;
    let wanted: Wanted = serde_json::from_str(&text)?;
    let refused = wanted.commands.into_iter().map(|(what, lines)| Ok((what, attempted(&lines)?)));
    let tried = Tried {
        refused: refused.collect::<Result<_>>()?,
        controllers: wanted.controllers.into_iter().filter(|name| has(name)).collect(),
        available: fs::read_to_string(AVAILABLE)
            .attempt(|| format!("reading {AVAILABLE}"))?
            .split_whitespace()
            .map(String::from)
            .collect(),
        large_buffers: buffers_may_be_large(),
    };
    fs::write(folder.join("tried.json"), serde_json::to_vec(&tried)?).attempt(|| "writing tried.json".into())
}

/// Why the commands were refused, on a wire that nothing stands on yet.
fn attempted(lines: &[String]) -> Result<Option<String>> {
    setup::run(&[command(&format!("ip link add {DEVICE} type veth peer name {DEVICE}-end"))])?;
    let commands: Vec<Command> = lines.iter().map(|line| command(line)).collect();
    let outcome = setup::run(&commands);
    setup::run(&[command(&format!("ip link del {DEVICE}"))])?;
    match outcome {
        Ok(()) => Ok(None),
        Err(Error::Refused { reason, .. }) => Ok(Some(reason)),
        Err(error) => Err(error),
    }
}

fn command(line: &str) -> Command {
    Command { host: String::new(), argv: line.split_whitespace().map(String::from).collect() }
}

/// Does a socket get this congestion control?
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
