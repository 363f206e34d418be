//! Starts and stops programs, and handles their exit.
//!
//! Servers start before time zero and must listen by then; other programs start by events.

use super::connections::Connections;
use super::event_queue::Kind;
use super::poller::Token;
use super::terminal::Terminal;
use super::{EventLoop, Traffic};
use crate::error::{Attempt, Result};
use crate::programs::datagrams::{self, DatagramFlows};
use crate::programs::processes::Owners;
use crate::programs::running::Running;
use crate::sys;
use dumbbell_plan::{AgentPlan, Serves, Transport};
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
    pub datagrams: Option<DatagramFlows>,
    pub terminal: Option<Terminal>,
}

impl ProgramSet {
    /// No program has started. Without programs, connections are not discovered.
    pub fn open(plan: &AgentPlan, folder: &Path) -> Result<Self> {
        let programs = &plan.programs.all;
        if programs.is_empty() {
            return Ok(Self { running: Vec::new(), connections: None, datagrams: None, terminal: None });
        }
        fs::create_dir_all(folder.join("programs")).attempt(|| "creating the programs' folder".into())?;
        let running = programs.iter().cloned().enumerate();
        let running = running.map(|(number, plan)| Running::new(plan, number, folder)).collect();
        let hosts: BTreeSet<_> = programs.iter().map(|program| &program.host).collect();
        let connections = Some(Connections::open(hosts, folder)?);
        Ok(Self { running, connections, datagrams: Some(DatagramFlows::open(plan, folder)?), terminal: None })
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
                Some(serves) => self.serve(number, serves)?,
                None => self.event_queue.add(plan.start_ns, Kind::Launch, number),
            }
        }
        if let Some(every_ns) = self.programs.datagrams.as_ref().map(DatagramFlows::every_ns)
            && every_ns < self.plan.sample_ns
        {
            self.event_queue.add(every_ns, Kind::CountDatagrams, 0);
        }
        let descriptors: Vec<_> = self.programs.connections.iter().flat_map(Connections::descriptors).collect();
        descriptors
            .into_iter()
            .enumerate()
            .try_for_each(|(host_index, each)| self.poller.watch(each, Token::SocketsDestroyed(host_index)))
    }

    fn serve(&mut self, number: usize, serves: Serves) -> Result<()> {
        let host = self.programs.running[number].plan.host.clone();
        let before = listening(&host)?;
        if let Serves::At(transport, port) = serves
            && before.contains(&(transport.word(), port))
        {
            self.programs.running[number].report.fault = Some(format!("{} is in use already", described(serves)));
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
            let listens = match serves {
                Serves::Any => now.difference(&before).next().is_some(),
                Serves::At(transport, port) => now.contains(&(transport.word(), port)),
            };
            if listens {
                return Ok(());
            }
            program.read_stream(0)?;
            program.read_stream(1)?;
            thread::sleep(CHECK_INTERVAL);
        }
        let program = &mut self.programs.running[number];
        let limit_s = (CHECK_INTERVAL * MAX_CHECKS).as_secs();
        program.report.fault = Some(format!("it did not listen at {} within {limit_s} s", described(serves)));
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
        if let Some(connections) = &mut self.programs.connections {
            connections.sample(now_ns, |ends| self.expected.contains_key(&ends), &owners)?;
        }
        let Some(datagrams) = &mut self.programs.datagrams else { return Ok(()) };
        datagrams.sample(self.clock, now_ns, &owners, |record| self.sampler.record_flow(record))
    }

    /// Counts UDP packets between two samples that are too far apart for them.
    pub(super) fn count_datagrams(&mut self, now_ns: u64) -> Result<()> {
        let Some(datagrams) = &mut self.programs.datagrams else { return Ok(()) };
        datagrams.read(self.clock)?;
        let next_ns = now_ns + datagrams.every_ns();
        self.event_queue.add(next_ns, Kind::CountDatagrams, 0);
        Ok(())
    }

    /// Sockets of a host were destroyed.
    pub(super) fn sockets_closed(&mut self, host_index: usize) -> Result<()> {
        let now_ns = self.now_ns();
        let Some(connections) = &mut self.programs.connections else { return Ok(()) };
        connections.sockets_destroyed(host_index, now_ns, |ends| self.expected.contains_key(&ends))
    }

    /// Fills the reports of QUIC flows from their programs and packets.
    pub(super) fn report_stacks(&mut self) {
        let ended_ns = self.ended_ns.expect("the experiment has ended");
        for program in &self.programs.running {
            let (Some(end), report) = (program.plan.quic, &program.report) else { continue };
            let Traffic::Quic(flow) = &mut self.flows[end.flow] else {
                unreachable!("programs of QUIC have a QUIC flow")
            };
            if end.serves {
                let died = report.fault.is_some() || (report.ended_ns.is_some() && !report.stopped);
                if died {
                    flow.error.get_or_insert_with(|| "its server exited".into());
                }
                continue;
            }
            let planned = &self.plan.flows[end.flow];
            let udp = self.programs.datagrams.as_ref().and_then(|datagrams| datagrams.planned(end.flow));
            let has_succeeded = report.status == Some(0) && !report.stopped;
            flow.cc.clone_from(&planned.cc);
            flow.started_ns = report.started_ns;
            flow.stopped_ns = report.started_ns.map(|_| report.ended_ns.unwrap_or(ended_ns));
            flow.completed_ns = report.ended_ns.filter(|_| planned.bytes.is_some() && has_succeeded);
            flow.connected_ns = udp.as_ref().and_then(|udp| udp.arrived_ns);
            flow.bytes_received = udp.as_ref().map_or(0, |udp| udp.bytes_received);
            flow.data_segs_out = udp.as_ref().map_or(0, |udp| udp.sent_packets);
            if report.ended_ns.is_some() && !report.stopped && report.status != Some(0) {
                flow.error.get_or_insert_with(|| "its client failed".into());
            }
        }
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

/// `TCP port 80`, or any port.
fn described(serves: Serves) -> String {
    match serves {
        Serves::Any => "any TCP or UDP port".into(),
        Serves::At(transport, port) => format!("{} port {port}", transport.word().to_uppercase()),
    }
}

/// Ports at which a host's sockets listen, with their transports.
fn listening(host: &str) -> Result<BTreeSet<(&'static str, u16)>> {
    let udp = datagrams::listening(host)?.into_iter().map(|port| (Transport::Udp.word(), port));
    Ok(udp.chain(listening_tcp(host)?.into_iter().map(|port| (Transport::Tcp.word(), port))).collect())
}

/// TCP ports in state LISTEN on a host.
fn listening_tcp(host: &str) -> Result<BTreeSet<u16>> {
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
