//! When programs start and stop, and what their end means for the experiment.
//!
//! Those that serve start before time zero and must listen by then; the others are on the agenda.

use super::Lab;
use super::agenda::Kind;
use super::connections::{Connections, Owners};
use super::doors::Door;
use super::terminal::Terminal;
use crate::error::{Attempt, Result};
use crate::plan::Plan;
use crate::programs::running::Running;
use crate::sys;
use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// In virtual time: how often a server is looked at until it listens, and for how long.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS: u32 = 6_000;
/// What a program has, once asked to end, before it is ended.
const GRACES: u32 = 100;
const LISTENING: &str = "0A";

/// All programs of an experiment, and the connections that they make.
pub struct Company {
    pub running: Vec<Running>,
    pub connections: Option<Connections>,
    pub terminal: Option<Terminal>,
}

impl Company {
    /// Nobody has started yet; without programs nobody looks for connections.
    pub fn assemble(plan: &Plan, folder: &Path) -> Result<Self> {
        let programs = &plan.programs.all;
        if programs.is_empty() {
            return Ok(Self { running: Vec::new(), connections: None, terminal: None });
        }
        fs::create_dir_all(folder.join("programs")).attempt(|| "making the programs' folder".into())?;
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

impl Lab<'_> {
    /// Puts starts and stops on the agenda, and starts those that serve.
    pub(super) fn prepare_programs(&mut self) -> Result<()> {
        for number in 0..self.company.running.len() {
            let plan = self.company.running[number].plan.clone();
            self.unfinished += usize::from(!plan.stays);
            if let Some(stop_ns) = plan.stop_ns {
                self.agenda.add(stop_ns, Kind::Halt, number);
            }
            match plan.serves {
                Some(port) => self.serve(number, port)?,
                None => self.agenda.add(plan.start_ns, Kind::Launch, number),
            }
        }
        let descriptors: Vec<_> = self.company.connections.iter().flat_map(Connections::descriptors).collect();
        descriptors.into_iter().enumerate().try_for_each(|(place, each)| self.doors.watch(each, Door::Gone(place)))
    }

    fn serve(&mut self, number: usize, port: u16) -> Result<()> {
        let host = self.company.running[number].plan.host.clone();
        let before = listening(&host)?;
        if port != 0 && before.contains(&port) {
            self.company.running[number].report.fault = Some(format!("somebody listens at TCP port {port} already"));
            return Ok(());
        }
        self.launch(number, 0)?;
        for _ in 0..LOOKS {
            let program = &mut self.company.running[number];
            if program.reap(0)? {
                program.report.fault.get_or_insert_with(|| "it ended before it listened".into());
                return Ok(());
            }
            let now = listening(&host)?;
            if now.contains(&port) || (port == 0 && now.difference(&before).next().is_some()) {
                return Ok(());
            }
            program.hear(0)?;
            program.hear(1)?;
            thread::sleep(LOOK);
        }
        let program = &mut self.company.running[number];
        let at = if port == 0 { "at no TCP port".into() } else { format!("not at TCP port {port}") };
        program.report.fault = Some(format!("after {} s it listened {at}", (LOOK * LOOKS).as_secs()));
        program.stop(Signal::SIGKILL);
        Ok(())
    }

    /// A program's time has come.
    pub(super) fn launch(&mut self, number: usize, now_ns: u64) -> Result<()> {
        let program = &mut self.company.running[number];
        let terminal = program.start(now_ns)?.zip(program.plan.terminal);
        let [ended, out, err] = program.descriptors().expect("it has started");
        self.doors.watch(ended, Door::Ended(number))?;
        self.doors.watch(out, Door::Stream(2 * number))?;
        self.doors.watch(err, Door::Stream(2 * number + 1))?;
        terminal.map_or(Ok(()), |(socket, plan)| self.open_terminal(number, socket, plan))
    }

    /// A program has said something, or will say no more.
    pub(super) fn hear_program(&mut self, stream: usize) -> Result<()> {
        if self.company.running[stream / 2].hear(stream % 2)? {
            return Ok(());
        }
        self.doors.forget(Door::Stream(stream))
    }

    /// A program has ended.
    pub(super) fn program_ended(&mut self, number: usize) -> Result<()> {
        let now_ns = self.now_ns();
        if !self.company.running[number].reap(now_ns)? {
            return Ok(());
        }
        self.doors.forget(Door::Ended(number))?;
        let plan = &self.company.running[number].plan;
        let ends = plan.ends;
        if !plan.stays {
            self.one_is_done();
        }
        if ends {
            self.end_now();
        }
        Ok(())
    }

    /// A flow or a program that the experiment waits for is done.
    pub(super) fn one_is_done(&mut self) {
        self.unfinished -= 1;
        if self.unfinished == 0 && self.plan.ends_when_done {
            self.end_now();
        }
    }

    /// Samples once more and ends the experiment.
    pub(super) fn end_now(&mut self) {
        let now_ns = self.now_ns();
        self.agenda.add(now_ns, Kind::Sample, usize::MAX);
        self.agenda.add(now_ns, Kind::End, 0);
    }

    /// Looks at the connections of programs.
    pub(super) fn sample_connections(&mut self, now_ns: u64) -> Result<()> {
        let owners = self.company.owners();
        let Some(connections) = &mut self.company.connections else { return Ok(()) };
        connections.sample(now_ns, |address| self.expected.contains_key(address), &owners)
    }

    /// Sockets of a host are gone.
    pub(super) fn sockets_gone(&mut self, place: usize) -> Result<()> {
        let now_ns = self.now_ns();
        let Some(connections) = &mut self.company.connections else { return Ok(()) };
        connections.gone(place, now_ns, |address| self.expected.contains_key(address))
    }

    /// The experiment is over: whoever still runs is asked to end, then ended.
    pub(super) fn dismiss(&mut self) -> Result<()> {
        let ended_ns = self.ended_ns.expect("the lab has ended");
        self.company.running.iter_mut().for_each(|program| program.stop(Signal::SIGTERM));
        for round in 0..2 * GRACES {
            for program in &mut self.company.running {
                program.hear(0)?;
                program.hear(1)?;
                program.reap(ended_ns)?;
            }
            if !self.company.running.iter().any(Running::is_running) {
                break;
            }
            if round == GRACES {
                self.company.running.iter_mut().for_each(|program| program.stop(Signal::SIGKILL));
            }
            thread::sleep(LOOK);
        }
        self.company.running.iter_mut().try_for_each(Running::clear)
    }
}

/// TCP ports at which somebody listens in a host.
fn listening(host: &str) -> Result<BTreeSet<u16>> {
    let mut ports = BTreeSet::new();
    for file in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        // A kernel may have no IPv6.
        let text = sys::within(host, || Ok(fs::read_to_string(file).unwrap_or_default()));
        ports.extend(text.attempt(|| format!("reading {file}"))?.lines().filter_map(listening_port));
    }
    Ok(ports)
}

/// Of a line such as `0: 00000000:0050 00000000:0000 0A …`.
fn listening_port(line: &str) -> Option<u16> {
    let words: Vec<_> = line.split_whitespace().collect();
    let (_, port) = words.get(1)?.rsplit_once(':')?;
    (*words.get(3)? == LISTENING).then(|| u16::from_str_radix(port, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::listening_port;

    #[test]
    fn a_listening_port_is_read_and_nothing_else() {
        assert_eq!(listening_port(" 0: 00000000:0050 00000000:0000 0A 0:0"), Some(80));
        assert_eq!(listening_port(" 1: 0100007F:0050 0100007F:C350 01 0:0"), None);
        assert_eq!(listening_port("  sl  local_address rem_address   st tx_queue"), None);
    }
}
