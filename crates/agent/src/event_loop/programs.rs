//! Starts and stops programs, and handles their exit.
//!
//! Servers start before time zero and must listen by then; other programs start by events.

use super::EventLoop;
use super::connections::{Connections, Owners};
use super::event_queue::Kind;
use super::poller::Token;
use super::terminal::Terminal;
use crate::error::{Attempt, Result};
use crate::programs::running::Running;
use crate::sys;
use dumbbell_plan::AgentPlan;
use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// In virtual time: how often, and how many times, to check whether a server listens.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
const MAX_CHECKS: u32 = 6_000;
/// How many checks a program has to exit after SIGTERM, before SIGKILL.
const GRACE_CHECKS: u32 = 100;
const LISTENING: &str = "0A";

/// All programs of an experiment and the connections they make.
pub struct ProgramSet {
    pub running: Vec<Running>,
    pub connections: Option<Connections>,
    pub terminal: Option<Terminal>,
}

impl ProgramSet {
    /// No program has started. Without programs, connections are not discovered.
    pub fn open(plan: &AgentPlan, folder: &Path) -> Result<Self> {
        let programs = &plan.programs.all;
        if programs.is_empty() {
            return Ok(Self { running: Vec::new(), connections: None, terminal: None });
        }
        fs::create_dir_all(folder.join("programs")).attempt(|| "creating the programs' folder".into())?;
        let running = programs.iter().cloned().enumerate();
        let running = running.map(|(number, plan)| Running::new(plan, number, folder)).collect();
        let hosts: BTreeSet<_> = programs.iter().map(|program| &program.host).collect();
        Ok(Self { running, connections: Some(Connections::open(hosts, folder)?), terminal: None })
    }

    fn owners(&self) -> Owners {
        let each = self.running.iter().enumerate();
        each.map(|(number, program)| (program.plan.host.clone(), number, program.group())).collect()
    }
}

impl EventLoop<'_> {
    /// Schedules starts and stops, and starts the servers.
    pub(super) fn prepare_programs(&mut self) -> Result<()> {
        for number in 0..self.programs.running.len() {
            let plan = self.programs.running[number].plan.clone();
            self.unfinished += usize::from(!plan.stays);
            if let Some(stop_ns) = plan.stop_ns {
                self.event_queue.add(stop_ns, Kind::Halt, number);
            }
            match plan.serves {
                Some(port) => self.serve(number, port)?,
                None => self.event_queue.add(plan.start_ns, Kind::Launch, number),
            }
        }
        let descriptors: Vec<_> = self.programs.connections.iter().flat_map(Connections::descriptors).collect();
        descriptors
            .into_iter()
            .enumerate()
            .try_for_each(|(host_index, each)| self.poller.watch(each, Token::SocketsDestroyed(host_index)))
    }

    fn serve(&mut self, number: usize, port: u16) -> Result<()> {
        let host = self.programs.running[number].plan.host.clone();
        let before = listening(&host)?;
        if port != 0 && before.contains(&port) {
            self.programs.running[number].report.fault = Some(format!("TCP port {port} is in use already"));
            return Ok(());
        }
        self.launch(number, 0)?;
        for _ in 0..MAX_CHECKS {
            let program = &mut self.programs.running[number];
            if program.reap(0)? {
                program.report.fault.get_or_insert_with(|| "it exited before it listened".into());
                return Ok(());
            }
            let now = listening(&host)?;
            if now.contains(&port) || (port == 0 && now.difference(&before).next().is_some()) {
                return Ok(());
            }
            program.read_stream(0)?;
            program.read_stream(1)?;
            thread::sleep(CHECK_INTERVAL);
        }
        let program = &mut self.programs.running[number];
        let at = if port == 0 { "on any TCP port".into() } else { format!("on TCP port {port}") };
        program.report.fault =
            Some(format!("it did not listen {at} within {} s", (CHECK_INTERVAL * MAX_CHECKS).as_secs()));
        program.stop(Signal::SIGKILL);
        Ok(())
    }

    /// Starts a program.
    pub(super) fn launch(&mut self, number: usize, now_ns: u64) -> Result<()> {
        let program = &mut self.programs.running[number];
        let terminal = program.start(now_ns)?.zip(program.plan.terminal);
        let [ended, out, err] = program.descriptors().expect("it has started");
        self.poller.watch(ended, Token::Ended(number))?;
        self.poller.watch(out, Token::Stream(2 * number))?;
        self.poller.watch(err, Token::Stream(2 * number + 1))?;
        terminal.map_or(Ok(()), |(socket, plan)| self.open_terminal(number, socket, plan))
    }

    /// A program has written output or closed a stream.
    pub(super) fn read_program(&mut self, stream: usize) -> Result<()> {
        if self.programs.running[stream / 2].read_stream(stream % 2)? {
            return Ok(());
        }
        self.poller.remove(Token::Stream(stream))
    }

    /// A program has exited.
    pub(super) fn program_ended(&mut self, number: usize) -> Result<()> {
        let now_ns = self.now_ns();
        if !self.programs.running[number].reap(now_ns)? {
            return Ok(());
        }
        self.poller.remove(Token::Ended(number))?;
        let plan = &self.programs.running[number].plan;
        let ends = plan.ends;
        if !plan.stays {
            self.finish_one();
        }
        if ends {
            self.end_now();
        }
        Ok(())
    }

    /// A flow or program that the experiment waits for is done.
    pub(super) fn finish_one(&mut self) {
        self.unfinished -= 1;
        if self.unfinished == 0 && self.plan.ends_when_done {
            self.end_now();
        }
    }

    /// Takes a last sample and ends the experiment.
    pub(super) fn end_now(&mut self) {
        let now_ns = self.now_ns();
        self.event_queue.add(now_ns, Kind::Sample, usize::MAX);
        self.event_queue.add(now_ns, Kind::End, 0);
    }

    /// Samples the connections of programs.
    pub(super) fn sample_connections(&mut self, now_ns: u64) -> Result<()> {
        let owners = self.programs.owners();
        let Some(connections) = &mut self.programs.connections else { return Ok(()) };
        connections.sample(now_ns, |ends| self.expected.contains_key(&ends), &owners)
    }

    /// Sockets of a host were destroyed.
    pub(super) fn sockets_closed(&mut self, host_index: usize) -> Result<()> {
        let now_ns = self.now_ns();
        let Some(connections) = &mut self.programs.connections else { return Ok(()) };
        connections.sockets_destroyed(host_index, now_ns, |ends| self.expected.contains_key(&ends))
    }

    /// The experiment is over: sends running programs SIGTERM, then SIGKILL.
    pub(super) fn stop_programs(&mut self) -> Result<()> {
        let ended_ns = self.ended_ns.expect("the experiment has ended");
        self.programs.running.iter_mut().for_each(|program| program.stop(Signal::SIGTERM));
        for round in 0..2 * GRACE_CHECKS {
            for program in &mut self.programs.running {
                program.read_stream(0)?;
                program.read_stream(1)?;
                program.reap(ended_ns)?;
            }
            if !self.programs.running.iter().any(Running::is_running) {
                break;
            }
            if round == GRACE_CHECKS {
                self.programs.running.iter_mut().for_each(|program| program.stop(Signal::SIGKILL));
            }
            thread::sleep(CHECK_INTERVAL);
        }
        self.programs.running.iter_mut().try_for_each(Running::clear)
    }
}

/// TCP ports in state LISTEN on a host.
fn listening(host: &str) -> Result<BTreeSet<u16>> {
    let mut ports = BTreeSet::new();
    for file in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        // A kernel may have no IPv6.
        let text = sys::within(host, || Ok(fs::read_to_string(file).unwrap_or_default()));
        ports.extend(text.attempt(|| format!("reading {file}"))?.lines().filter_map(listening_port));
    }
    Ok(ports)
}

/// Parses a line such as `0: 00000000:0050 00000000:0000 0A …`.
fn listening_port(line: &str) -> Option<u16> {
    let fields: Vec<_> = line.split_whitespace().collect();
    let (_, port) = fields.get(1)?.rsplit_once(':')?;
    (*fields.get(3)? == LISTENING).then(|| u16::from_str_radix(port, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::listening_port;

    #[test]
    fn only_listening_ports_are_parsed() {
        assert_eq!(listening_port(" 0: 00000000:0050 00000000:0000 0A 0:0"), Some(80));
        assert_eq!(listening_port(" 1: 0100007F:0050 0100007F:C350 01 0:0"), None);
        assert_eq!(listening_port("  sl  local_address rem_address   st tx_queue"), None);
    }
}
