//! A plan as the agent reads it (`crates/plan` declares its types).

use super::error::Error;
use super::settings::module_writes;
use super::types::{self, Command, Flow, Plan, Probe, TimedCommand};
use crate::model;
use dumbbell_plan as agent;
use std::net::Ipv4Addr;

impl From<&Command> for agent::Command {
    fn from(command: &Command) -> Self {
        Self { host: command.host.clone(), argv: command.argv.clone() }
    }
}

impl From<&TimedCommand> for agent::Change {
    fn from(change: &TimedCommand) -> Self {
        Self { at_ns: change.at_ns, command: (&change.command).into() }
    }
}

/// With both ends on this host.
impl From<&Flow> for agent::Flow {
    fn from(flow: &Flow) -> Self {
        Self {
            name: flow.name.clone(),
            transport: match flow.transport {
                model::Transport::Tcp => agent::Transport::Tcp,
                model::Transport::Udp => agent::Transport::Udp,
            },
            sender: flow.sender.clone(),
            receiver: flow.receiver.clone(),
            address: flow.address,
            port: flow.port,
            cc: flow.cc.clone(),
            start_ns: flow.start_ns,
            stop_ns: flow.stop_ns,
            bytes: flow.bytes,
            on_off_ns: flow.on_off_ns,
            exchange: flow.exchange,
            sndbuf: flow.sndbuf,
            rcvbuf: flow.rcvbuf,
            prompt_reads: flow.prompt_reads,
            pacing_rate: flow.pacing_rate,
            mark: flow.mark,
            packet: flow.packet,
            interval_ns: flow.interval_ns,
            ecn: flow.ecn,
            ends: agent::Ends::Both,
            from: None,
        }
    }
}

/// With both ends on this host.
impl From<&Probe> for agent::Probe {
    fn from(probe: &Probe) -> Self {
        Self {
            kind: match probe.kind {
                model::ProbeKind::Ping => agent::ProbeKind::Ping,
                model::ProbeKind::Udp => agent::ProbeKind::Udp,
            },
            sender: probe.sender.clone(),
            receiver: probe.receiver.clone(),
            address: probe.address,
            port: probe.port,
            start_ns: probe.start_ns,
            interval_ns: probe.interval_ns,
            payload: probe.payload,
            ends: agent::Ends::Both,
        }
    }
}

impl From<&types::Program> for agent::Program {
    fn from(program: &types::Program) -> Self {
        let content = |path: &str| agent::Content { path: path.into(), text: None, bytes: None, link: None };
        let texts =
            program.texts.iter().map(|(path, text)| agent::Content { text: Some(text.clone()), ..content(path) });
        let zeros = program.zeros.iter().map(|(path, bytes)| agent::Content { bytes: Some(*bytes), ..content(path) });
        Self {
            name: program.name.clone(),
            host: program.host.clone(),
            argv: program.argv.clone(),
            env: program.env.iter().cloned().collect(),
            files: texts.chain(zeros).collect(),
            writable: program.writable.clone(),
            typed: false,
            keeps_powers: false,
            start_ns: program.start_ns,
            stop_ns: program.stop_ns,
            stays: program.stays,
            serves: program.serves,
            ends: program.ends,
            terminal: None,
        }
    }
}

/// A flow with one end on a real host; `from` is the address of a sender on another host.
pub(super) fn with_end(flow: &Flow, ends: agent::Ends, from: Option<Ipv4Addr>) -> agent::Flow {
    agent::Flow { sender: String::new(), receiver: String::new(), ends, from, ..flow.into() }
}

/// Probes with one end on a real host.
pub(super) fn probe_with_end(probe: &Probe, ends: agent::Ends) -> agent::Probe {
    agent::Probe { sender: String::new(), receiver: String::new(), ends, ..probe.into() }
}

impl Plan {
    /// The plan for an agent that has all hosts.
    ///
    /// # Errors
    ///
    /// Two groups set the same kernel module differently.
    pub fn for_agent(&self) -> Result<agent::Plan, Error> {
        let programs = agent::Programs {
            hosts_file: self.hosts_file.clone(),
            all: self.programs.iter().map(Into::into).collect(),
            ..agent::Programs::default()
        };
        Ok(agent::Plan {
            duration_ns: self.duration_ns,
            sample_ns: self.sample_ns,
            ends_when_done: self.ends_when_done,
            hosts: self.hosts.clone(),
            setup: module_writes(&self.flows)?.iter().chain(&self.setup).map(Into::into).collect(),
            flows: self.flows.iter().map(Into::into).collect(),
            probes: self.probes.iter().map(Into::into).collect(),
            changes: self.changes.iter().map(Into::into).collect(),
            netem_seeds: self.netem_seeds.clone(),
            programs,
            devices: Vec::new(),
            inside: agent::Recordings::default(),
            machine_ns: None,
        })
    }
}
