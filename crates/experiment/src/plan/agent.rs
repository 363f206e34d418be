//! A plan as the agent reads it (`crates/agent/src/plan.rs`).

use super::error::Error;
use super::settings::module_writes;
use super::types::{self, Command, Exchange, Flow, NetemSeed, Plan, Probe, TimedCommand};
use serde::Serialize;
use std::collections::BTreeMap;

/// `plan.json`.
#[derive(Clone, Debug, Serialize)]
pub struct AgentPlan<'a> {
    /// Length of the experiment.
    pub duration_ns: u64,
    /// Time between samples.
    pub sample_ns: u64,
    /// Whether the run ends as soon as every flow has delivered its bytes.
    pub ends_when_done: bool,
    /// Host names.
    pub hosts: Vec<&'a str>,
    /// On a real host the only devices whose queues are sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<&'a [String]>,
    /// Commands before time zero.
    pub setup: Vec<Command>,
    /// Flows in the order of the result.
    pub flows: Vec<AgentFlow<'a>>,
    /// Probes.
    pub probes: Vec<AgentProbe<'a>>,
    /// Commands during the run.
    pub changes: Vec<TimedCommand>,
    /// Seeds of netems.
    #[serde(rename = "dice")]
    pub netem_seeds: Vec<NetemSeed>,
    /// Programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<Programs<'a>>,
}

/// Ends of flows and probes on a real host.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// Sender or client.
    Sender,
    /// Receiver or server.
    Receiver,
}

/// A flow. It has no group and no parameters: those are set before the run.
#[derive(Clone, Debug, Serialize)]
pub struct AgentFlow<'a> {
    name: &'a str,
    transport: &'static str,
    sender: &'a str,
    receiver: &'a str,
    address: &'a str,
    port: u16,
    cc: Option<&'a str>,
    start_ns: u64,
    stop_ns: Option<u64>,
    bytes: Option<u64>,
    on_off_ns: Option<(u64, u64)>,
    exchange: Option<Exchange>,
    sndbuf: Option<u64>,
    rcvbuf: Option<u64>,
    prompt_reads: bool,
    pacing_rate: Option<u64>,
    mark: Option<u32>,
    packet: Option<u32>,
    interval_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends: Option<Ends>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
}

impl<'a> AgentFlow<'a> {
    /// A flow with both ends on this host.
    pub(super) fn of(flow: &'a Flow) -> Self {
        Self {
            name: &flow.name,
            transport: types::name_of(flow.transport),
            sender: &flow.sender,
            receiver: &flow.receiver,
            address: &flow.address,
            port: flow.port,
            cc: flow.cc.as_deref(),
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
            ends: None,
            from: None,
        }
    }

    /// The same with one end here; `from` is the address of a sender on another host.
    pub(super) fn with_end(self, ends: Ends, from: Option<&'a str>) -> Self {
        Self { sender: "", receiver: "", ends: Some(ends), from, ..self }
    }
}

/// A series of probes.
#[derive(Clone, Debug, Serialize)]
pub struct AgentProbe<'a> {
    kind: &'static str,
    sender: &'a str,
    receiver: &'a str,
    address: &'a str,
    port: u16,
    start_ns: u64,
    interval_ns: u64,
    payload: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends: Option<Ends>,
}

impl<'a> AgentProbe<'a> {
    /// Probes with both ends on this host.
    pub(super) fn of(probe: &'a Probe) -> Self {
        Self {
            kind: types::probe_kind(probe.kind),
            sender: &probe.sender,
            receiver: &probe.receiver,
            address: &probe.address,
            port: probe.port,
            start_ns: probe.start_ns,
            interval_ns: probe.interval_ns,
            payload: probe.payload,
            ends: None,
        }
    }

    /// The same with one end here.
    pub(super) fn with_end(self, ends: Ends) -> Self {
        Self { sender: "", receiver: "", ends: Some(ends), ..self }
    }
}

/// All programs (`crates/agent/src/programs/plan.rs`).
#[derive(Clone, Debug, Serialize)]
pub struct Programs<'a> {
    hosts_file: &'a str,
    /// An engine may add some.
    homes: [&'a str; 0],
    all: Vec<AgentProgram<'a>>,
}

/// One program; an engine may add links, and whether the user typed it.
#[derive(Clone, Debug, Serialize)]
pub struct AgentProgram<'a> {
    name: &'a str,
    host: &'a str,
    argv: &'a [String],
    env: BTreeMap<&'a str, &'a str>,
    files: Vec<Content<'a>>,
    writable: &'a [String],
    typed: bool,
    start_ns: u64,
    stop_ns: Option<u64>,
    stays: bool,
    serves: Option<u16>,
    ends: bool,
}

/// A file of a working folder.
#[derive(Clone, Debug, Serialize)]
struct Content<'a> {
    path: &'a str,
    text: Option<&'a str>,
    bytes: Option<u64>,
    link: Option<&'a str>,
}

impl<'a> AgentProgram<'a> {
    fn of(program: &'a types::Program) -> Self {
        let text = |(path, text): &'a (String, String)| Content { path, text: Some(text), bytes: None, link: None };
        let zeros = |(path, bytes): &'a (String, u64)| Content { path, text: None, bytes: Some(*bytes), link: None };
        Self {
            name: &program.name,
            host: &program.host,
            argv: &program.argv,
            env: program.env.iter().map(|(key, value)| (&key[..], &value[..])).collect(),
            files: program.texts.iter().map(text).chain(program.zeros.iter().map(zeros)).collect(),
            writable: &program.writable,
            typed: false,
            start_ns: program.start_ns,
            stop_ns: program.stop_ns,
            stays: program.stays,
            serves: program.serves,
            ends: program.ends,
        }
    }
}

impl Plan {
    /// The plan for an agent that has all hosts.
    ///
    /// # Errors
    ///
    /// Two groups set the same kernel module differently.
    pub fn for_agent(&self) -> Result<AgentPlan<'_>, Error> {
        let mut setup = module_writes(&self.flows)?;
        setup.extend_from_slice(&self.setup);
        let programs = (!self.programs.is_empty()).then(|| Programs {
            hosts_file: &self.hosts_file,
            homes: [],
            all: self.programs.iter().map(AgentProgram::of).collect(),
        });
        Ok(AgentPlan {
            duration_ns: self.duration_ns,
            sample_ns: self.sample_ns,
            ends_when_done: self.ends_when_done,
            hosts: self.hosts.iter().map(String::as_str).collect(),
            devices: None,
            setup,
            flows: self.flows.iter().map(AgentFlow::of).collect(),
            probes: self.probes.iter().map(AgentProbe::of).collect(),
            changes: self.changes.clone(),
            netem_seeds: self.netem_seeds.clone(),
            programs,
        })
    }
}
