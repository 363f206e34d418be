//! Timed tc commands and routes. Their messages are made before the experiment starts; each is one request at its time.
//!
//! For commands that only the machine's tc understands, it is started before the experiment and stays open: starting a
//! program takes milliseconds.

use super::iproute2::{MachinePrograms, TC, batch_line, spawn};
use super::rtnetlink::RequestSocket;
use super::{ip, refused, send_tc};
use crate::error::{Attempt, Error, Result};
use dumbbell_plan::{Change, Operation, Step};
use dumbbell_tc::message::Message;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, ChildStdin};

/// All changes of a plan.
pub struct Changes<'a> {
    /// By number of the change.
    requests: Vec<(&'a Step, Request)>,
    sockets: BTreeMap<&'a str, RequestSocket>,
    standbys: Vec<Standby>,
}

/// How a change is made.
enum Request {
    /// By this message.
    Tc(Message),
    /// By a message about a route.
    Route,
    /// By a standby.
    ByProgram,
}

impl<'a> Changes<'a> {
    /// Reads the changes, opens a socket in each of their hosts, and starts the programs that they need.
    pub fn prepare(changes: &'a [Change], programs: &mut MachinePrograms) -> Result<Self> {
        let mut prepared = Self { requests: Vec::new(), sockets: BTreeMap::new(), standbys: Vec::new() };
        for Change { step, .. } in changes {
            let request = match &step.operation {
                Operation::Tc(command) => Message::of(command).map_or(Request::ByProgram, Request::Tc),
                Operation::Route(_) => Request::Route,
                _ => return Err(refused(step, "only tc commands and routes may have a time")),
            };
            if matches!(request, Request::ByProgram) {
                programs.record(step);
                if !prepared.standbys.iter().any(|standby| standby.host == step.host) {
                    prepared.standbys.push(Standby::start(&step.host)?);
                }
            } else if !prepared.sockets.contains_key(step.host.as_str()) {
                prepared.sockets.insert(&step.host, RequestSocket::open_guarded(&step.host)?);
            }
            prepared.requests.push((step, request));
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
        let (step, request) = &self.requests[number];
        match request {
            Request::Tc(message) => return send_tc(message, &self.sockets[step.host.as_str()], step),
            Request::Route => {
                let sent = ip::send(&step.operation, &self.sockets[step.host.as_str()])?;
                return sent.map_err(|reason| refused(step, reason));
            }
            Request::ByProgram => {}
        }
        let standby = self.standbys.iter_mut().find(|standby| standby.host == step.host);
        standby.expect("one was started for every change").send(step)
    }

    /// Waits for the programs to exit; their hosts, and their first failed changes.
    pub fn finish(self) -> impl Iterator<Item = (String, Result<()>)> {
        self.standbys.into_iter().map(|standby| (standby.host.clone(), standby.finish()))
    }
}

/// A `tc` process that stays open.
struct Standby {
    host: String,
    child: Child,
    input: ChildStdin,
    sent: Vec<Step>,
}

impl Standby {
    /// Starts it in a host.
    fn start(host: &str) -> Result<Self> {
        let mut child = spawn(host)?;
        let input = child.stdin.take().expect("stdin is piped");
        Ok(Self { host: host.into(), child, input, sent: Vec::new() })
    }

    fn send(&mut self, step: &Step) -> Result<()> {
        self.sent.push(step.clone());
        self.input.write_all(batch_line(step).as_bytes()).attempt(|| step.line())
    }

    fn finish(self) -> Result<()> {
        // A program of the experiment may have stopped it with a signal.
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGCONT);
        drop(self.input);
        let output = self.child.wait_with_output().attempt(|| format!("waiting for {TC}"))?;
        if output.status.success() {
            return Ok(());
        }
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_string();
        let command = refused_line(&reason).and_then(|line| self.sent.get(line - 1)).map(Step::line);
        Err(Error::Refused { command: command.unwrap_or_default(), reason })
    }
}

/// `tc` ends its error message with "Command failed -:LINE".
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
