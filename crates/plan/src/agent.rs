//! `plan.json`: one run on one host, as the agent reads it.

use crate::network::Device;
use crate::settings::Conflict;
use crate::traffic::is_default;
use crate::{
    BuiltStack, Change, Content, Ends, Flow, NetemSeed, Operation, Plan, Probe, Program, Programs, Step, TerminalPlan,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// One run of an experiment on one host.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AgentPlan {
    /// Duration of the experiment.
    pub duration_ns: u64,
    /// Sampling interval.
    pub sample_ns: u64,
    /// End when every sized flow is done; set if all flows are sized.
    pub ends_when_done: bool,
    /// Hosts: one network namespace each.
    pub hosts: Vec<String>,
    /// Steps in order before time zero.
    pub setup: Vec<Step>,
    /// Flows, in the order of the result.
    pub flows: Vec<Flow>,
    /// Probes.
    pub probes: Vec<Probe>,
    /// Steps with their times, sorted by time.
    pub changes: Vec<Change>,
    /// Seeds of netem's random numbers.
    pub netem_seeds: Vec<NetemSeed>,
    /// Programs; most experiments have none.
    #[serde(default, skip_serializing_if = "Programs::is_empty")]
    pub programs: Programs,
    /// If not empty, sample only these devices' queues: on a real host the others belong to other users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// Optional recordings besides flows, queues and probes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub recordings: Recordings,
    /// Interval of host load samples; None in a guest, where virtual time has no load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_ns: Option<u64>,
}

/// The requested recordings; none by default.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Recordings {
    /// Captured devices, in the order of the file's interfaces.
    pub captures: Vec<Device>,
    /// Bytes captured of each packet.
    pub snap_bytes: usize,
    /// Ring size in packets, per device.
    pub ring_frames: usize,
    /// Interval for reading the rings.
    pub capture_ns: Option<u64>,
    /// Interval for recording all sockets.
    pub sockets_ns: Option<u64>,
    /// Interval for recording the counters.
    pub counters_ns: Option<u64>,
    /// Trace events, as `SYSTEM:EVENT`.
    pub trace: Vec<String>,
    /// Interval for reading the trace.
    pub trace_ns: Option<u64>,
}

/// What an engine adds to a plan for its agent.
#[derive(Clone, Debug, Default)]
pub struct AgentOptions {
    /// Recordings besides flows, queues and probes.
    pub recordings: Recordings,
    /// Interval of host load samples; None: in a guest.
    pub machine_ns: Option<u64>,
    /// Whether every receiver reads each segment when it arrives.
    pub prompt_reads: bool,
    /// Whether the kernel logs all messages on its console, for crash reports and warnings of added code.
    pub logs_all: bool,
    /// What programs see of the machine.
    pub shared: SharedFolders,
    /// Programs whose commands the user typed.
    pub typed: Option<Typed>,
    /// The program that is an interactive shell, and how its commands run.
    pub terminal: Option<(String, TerminalPlan)>,
}

/// What all programs see of the machine.
#[derive(Clone, Debug, Default)]
pub struct SharedFolders {
    /// As [`Programs::homes`].
    pub homes: Vec<String>,
    /// As [`Programs::shown`].
    pub shown: Vec<String>,
    /// As [`Programs::commands`].
    pub commands: Option<String>,
    /// Stacks of the plan's QUIC flows.
    pub stacks: Vec<BuiltStack>,
}

/// Programs whose commands the user typed: they see the user's files.
#[derive(Clone, Debug, Default)]
pub struct Typed {
    /// Their names.
    pub names: BTreeSet<String>,
    /// As [`Programs::typed_folder`].
    pub folder: String,
    /// Search path of commands, unless a program has one.
    pub path: String,
    /// Whether they keep all of root's capabilities.
    pub keeps_powers: bool,
    /// Entries of the folder: name and target of a link in the working folder.
    pub links: Vec<(String, String)>,
}

/// Makes the kernel log all messages on its console.
const LOG_ALL: (&str, &str) = ("kernel.printk", "7");

impl Plan {
    /// The plan for an agent that has all hosts.
    ///
    /// # Errors
    ///
    /// Two groups set the same kernel module differently.
    pub fn for_agent(&self, options: &AgentOptions) -> Result<AgentPlan, Conflict> {
        let mut setup: Vec<_> = self.module_parameters()?.into_iter().chain(self.setup.iter().cloned()).collect();
        if options.logs_all {
            let host = self.hosts.first().map_or("", |host| host);
            setup.push(Step::sysctl(host, LOG_ALL.0, LOG_ALL.1));
        }
        let mut flows = self.flows.clone();
        if options.prompt_reads {
            for flow in &mut flows {
                flow.prompt_reads = true;
            }
        }
        Ok(AgentPlan {
            duration_ns: self.duration_ns,
            sample_ns: self.sample_ns,
            ends_when_done: self.ends_when_done,
            hosts: self.hosts.clone(),
            setup,
            flows,
            probes: self.probes.clone(),
            changes: self.changes.clone(),
            netem_seeds: self.netem_seeds.clone(),
            programs: if self.programs.is_empty() { Programs::default() } else { self.programs_for(options) },
            devices: Vec::new(),
            recordings: options.recordings.clone(),
            machine_ns: options.machine_ns,
        })
    }

    /// How often waiting packets are read so that they never fill a ring of `frames`: at samples, or at equal parts of
    /// the time between two.
    ///
    /// At most rate ÷ (8 × packet) packets a second come on the fastest link, and as many ACKs; slow start and BBR send
    /// faster for a while. Where no link has a rate, as on 10 Gbit/s.
    #[must_use]
    pub fn capture_interval_ns(&self, frames: usize) -> u64 {
        const BURST: u64 = 4;
        const FASTEST_BPS: u64 = 10_000_000_000;
        let rates = self.queues.iter().flat_map(|queue| queue.rates.iter().map(|(_, bps)| *bps));
        let sizes = self.flows.iter().filter_map(|flow| flow.packet.map(u64::from));
        let packet_bytes = sizes.chain([self.net.mtu.into()]).min().unwrap_or(1).max(1);
        let a_second = 2 * BURST * (rates.max().unwrap_or(FASTEST_BPS) / 8 / packet_bytes).max(1);
        let enough_ns = (frames as u64).saturating_mul(1_000_000_000) / a_second;
        let parts = self.sample_ns.div_ceil(enough_ns.max(1)).max(1);
        (self.sample_ns / parts).max(1)
    }

    fn programs_for(&self, options: &AgentOptions) -> Programs {
        let mut all = self.programs.clone();
        if let Some(typed) = &options.typed {
            all.iter_mut()
                .filter(|program| typed.names.contains(&program.name))
                .for_each(|program| typed.apply(program));
        }
        if let Some((name, terminal)) = &options.terminal {
            all.iter_mut()
                .filter(|program| program.name == *name)
                .for_each(|program| program.terminal = Some(*terminal));
        }
        let SharedFolders { homes, mut shown, commands, stacks } = options.shared.clone();
        for program in &mut all {
            let flow = program.quic.map(|end| &self.flows[end.flow]);
            let Some(stack) =
                flow.and_then(|flow| stacks.iter().find(|stack| Some(&stack.name) == flow.stack.as_ref()))
            else {
                continue;
            };
            program.use_stack(stack);
            shown.extend(stack.folders.iter().filter(|folder| !shown.contains(folder)).cloned().collect::<Vec<_>>());
        }
        let typed_folder = options.typed.as_ref().map(|typed| typed.folder.clone());
        Programs {
            hosts_file: self.hosts_file.clone(),
            homes,
            shown,
            commands,
            typed_folder,
            ring_frames: Programs::RING_FRAMES,
            ring_ns: self.capture_interval_ns(Programs::RING_FRAMES),
            all,
        }
    }
}

impl Typed {
    fn apply(&self, program: &mut Program) {
        (program.typed, program.keeps_powers) = (true, self.keeps_powers);
        if !program.env.iter().any(|(name, _)| name == "PATH") {
            program.env.insert(0, ("PATH".into(), self.path.clone()));
        }
        let first = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
        let taken: Vec<_> = program.files.iter().map(|file| first(&file.path)).collect();
        let free = self.links.iter().filter(|(name, _)| !taken.contains(name));
        program.files.extend(free.map(|(name, target)| Content::link(name, target)));
    }
}

impl Step {
    /// Whether it is a setting of the whole machine.
    #[must_use]
    pub fn is_of_the_machine(&self) -> bool {
        self.host.is_empty() && matches!(self.operation, Operation::Sysctl { .. })
    }
}

impl AgentPlan {
    /// Whether it runs in a guest, where programs can do no harm.
    #[must_use]
    pub const fn is_for_guest(&self) -> bool {
        self.machine_ns.is_none()
    }

    /// The part of a host that has one end of all flows and probes, or none; the agent knows no host's name. `from` is the
    /// address of a sender on another host.
    #[must_use]
    pub fn of_host(mut self, host: &str, devices: Vec<String>, ends: Option<Ends>, from: Option<IpAddr>) -> Self {
        self.hosts = vec![String::new()];
        self.devices = devices;
        self.ends_when_done &= ends.is_some();
        self.setup.retain(|step| step.host == host);
        self.changes.retain(|change| change.step.host == host);
        self.netem_seeds.retain(|seed| seed.host == host);
        let steps = self.setup.iter_mut().chain(self.changes.iter_mut().map(|change| &mut change.step));
        let names = steps.map(|step| &mut step.host);
        names.chain(self.netem_seeds.iter_mut().map(|seed| &mut seed.host)).for_each(String::clear);
        let Some(ends) = ends else {
            (self.flows, self.probes) = (Vec::new(), Vec::new());
            return self;
        };
        for flow in &mut self.flows {
            (flow.ends, flow.from) = (ends, from);
            flow.sender.clear();
            flow.receiver.clear();
        }
        for probe in &mut self.probes {
            probe.ends = ends;
            probe.sender.clear();
            probe.receiver.clear();
        }
        self
    }
}
