//! Timed commands. They are read before the experiment starts; each is one request at its time.
//!
//! For commands that only the machine's program understands, the program is started before the experiment and stays
//! open: starting one takes milliseconds.

use super::Request;
use super::iproute2::{MachinePrograms, batch_line, spawn};
use super::rtnetlink::RequestSocket;
use crate::error::{Attempt, Error, Result};
use dumbbell_plan::{Change, Command};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, ChildStdin};

/// All changes of a plan.
pub struct Changes<'a> {
    /// By number of the change; None: a standby makes it.
    requests: Vec<(&'a Command, Option<Request>)>,
    sockets: BTreeMap<&'a str, RequestSocket>,
    standbys: Vec<Standby>,
}

impl<'a> Changes<'a> {
    /// Reads the changes, opens a socket in each of their hosts, and starts the programs that they need.
    pub fn prepare(changes: &'a [Change], programs: &mut MachinePrograms) -> Result<Self> {
        let mut prepared = Self { requests: Vec::new(), sockets: BTreeMap::new(), standbys: Vec::new() };
        for Change { command, .. } in changes {
            let request = Request::read(command);
            if request.is_none() {
                programs.record(command);
                if !prepared.standbys.iter().any(|standby| standby.serves(command)) {
                    prepared.standbys.push(Standby::start(command)?);
                }
            } else if !prepared.sockets.contains_key(command.host.as_str()) {
                prepared.sockets.insert(&command.host, RequestSocket::open_guarded(&command.host)?);
            }
            prepared.requests.push((command, request));
        }
        Ok(prepared)
    }

    /// Hosts and netlink ports that make the changes. Linux chooses iproute2's port: the PID.
    pub fn ports(&self) -> Result<Vec<(&str, u32)>> {
        let own = self.sockets.iter().map(|(host, socket)| Ok((*host, socket.port()?)));
        let standbys = self.standbys.iter().map(|standby| Ok((standby.host.as_str(), standby.child.id())));
        own.chain(standbys).collect()
    }

    /// Makes a change. A standby makes it before virtual time advances, and reports a failure at the end.
    pub fn make(&mut self, number: usize) -> Result<()> {
        let (command, request) = &self.requests[number];
        if let Some(request) = request {
            return request.send(&self.sockets[command.host.as_str()], command);
        }
        let standby = self.standbys.iter_mut().find(|standby| standby.serves(command));
        standby.expect("one was started for every change").send(command)
    }

    /// Waits for the programs to exit; their hosts, and their first failed changes.
    pub fn finish(self) -> impl Iterator<Item = (String, Result<()>)> {
        self.standbys.into_iter().map(|standby| (standby.host.clone(), standby.finish()))
    }
}

/// A `tc` or `ip` process that stays open.
struct Standby {
    host: String,
    program: String,
    child: Child,
    input: ChildStdin,
    sent: Vec<Command>,
}

impl Standby {
    /// Starts the program in a host.
    fn start(command: &Command) -> Result<Self> {
        let mut child = spawn(&command.argv[0], &command.host)?;
        let input = child.stdin.take().expect("stdin is piped");
        Ok(Self { host: command.host.clone(), program: command.argv[0].clone(), child, input, sent: Vec::new() })
    }

    /// Does it run this command's program in the same host?
    fn serves(&self, command: &Command) -> bool {
        self.host == command.host && self.program == command.argv[0]
    }

    fn send(&mut self, command: &Command) -> Result<()> {
        self.sent.push(command.clone());
        self.input.write_all(batch_line(command).as_bytes()).attempt(|| command.line())
    }

    fn finish(self) -> Result<()> {
        // A program of the experiment may have stopped it with a signal.
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGCONT);
        drop(self.input);
        let output = self.child.wait_with_output().attempt(|| format!("waiting for {}", self.program))?;
        if output.status.success() {
            return Ok(());
        }
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_string();
        let command = refused_line(&reason).and_then(|line| self.sent.get(line - 1)).map(Command::line);
        Err(Error::Refused { command: command.unwrap_or_default(), reason })
    }
}

/// `ip` and `tc` end their error message with "Command failed -:LINE".
fn refused_line(complaint: &str) -> Option<usize> {
    complaint.lines().rev().find_map(|line| line.strip_prefix("Command failed -:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failed_line_is_parsed() {
        assert_eq!(refused_line("What is \"limt\"?\nCommand failed -:3\n"), Some(3));
        assert_eq!(refused_line("Cannot find device \"x\""), None);
    }
}
