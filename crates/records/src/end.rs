//! `end.json`: what an agent reports at the end of an experiment. Times are nanoseconds since its start.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The whole report.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct End {
    /// Length of the experiment.
    pub duration_ns: u64,
    /// Its start since 1970, by the clock of its hosts; None: they differ.
    pub start_epoch_ns: Option<u64>,
    /// Flows in the order of the plan.
    pub flows: Vec<FlowEnd>,
    /// The qdiscs that were sampled, in the order of their records.
    pub queues: Vec<FoundQueue>,
    /// Programs in the order of the plan.
    pub programs: Vec<ProgramEnd>,
    /// Both ends of the programs' connections.
    pub connections: Vec<ConnectionEnd>,
    /// The programs' UDP flows.
    pub udp: UdpFlows,
    /// Counters of each host before the experiment.
    pub counters_before: BTreeMap<String, Counters>,
    /// Counters of each host at the end.
    pub counters: BTreeMap<String, Counters>,
    /// Effective settings.
    pub settings: Settings,
    /// What the recordings missed.
    pub seen: Recorded,
    /// How late the agent's timers were, in real time.
    pub machine: Option<TimerLateness>,
    /// Changes of the path; None: it was not watched.
    pub path: Option<PathChanges>,
    /// Programs of the machine that executed commands for the agent.
    pub machine_programs: Vec<MachineProgram>,
}

/// A flow.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct FlowEnd {
    /// Name in the plan.
    pub name: String,
    /// Congestion control that the socket reported at the end; None for UDP.
    pub cc: Option<String>,
    /// When it started.
    pub started_ns: Option<u64>,
    /// When the connection was established.
    pub connected_ns: Option<u64>,
    /// When the receiver got the last byte, for sized flows.
    pub completed_ns: Option<u64>,
    /// When it stopped: by the plan, when done, on failure, or at the end.
    pub stopped_ns: Option<u64>,
    /// Bytes received in order.
    pub bytes_received: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Data segments sent, retransmissions included.
    pub data_segs_out: u64,
    /// Response time of each exchange of a request/response flow.
    pub exchanges_ns: Vec<u64>,
    /// Why it failed.
    pub error: Option<String>,
}

/// A qdisc found on a device.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct FoundQueue {
    /// Host.
    pub host: String,
    /// Device name.
    pub device: String,
    /// `fq_codel`, `htb`, …
    pub kind: String,
    /// As tc writes it: `10:`.
    pub handle: String,
    /// As tc writes it: `1:1`, or `root`.
    pub parent: String,
}

/// A program.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct ProgramEnd {
    /// Name in the plan.
    pub name: String,
    /// When it started; 0 for servers.
    pub started_ns: Option<u64>,
    /// When it exited.
    pub ended_ns: Option<u64>,
    /// Its exit status.
    pub status: Option<i32>,
    /// Signal that killed it.
    pub signal: Option<i32>,
    /// Did the agent stop it?
    pub stopped: bool,
    /// Why it could not start, or was not ready in time.
    pub fault: Option<String>,
    /// Bytes of each output stream that were not stored.
    pub dropped_bytes: [u64; 2],
    /// Files in its working folder.
    pub files: Artifacts,
}

/// Files that a program left.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub struct Artifacts {
    /// Copied: paths below the working folder.
    pub kept: Vec<String>,
    /// Not copied: too many, too large, too deep or unreadable. A folder's name ends in `/`.
    pub lost: Vec<String>,
    /// Number of lost files not listed.
    pub lost_more: u64,
}

/// One end of a connection of a program.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct ConnectionEnd {
    /// Where the socket is.
    pub host: String,
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// Index of the program that owns the socket, if known.
    pub program: Option<usize>,
    /// Congestion control at the last sample.
    pub cc: Option<String>,
    /// When a sample first found it.
    pub seen_ns: u64,
    /// When it was destroyed.
    pub gone_ns: Option<u64>,
}

/// UDP flows of programs, each direction for itself.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct UdpFlows {
    /// In the order of their first datagrams.
    pub flows: Vec<UdpFlow>,
    /// Packets that were not counted because they came faster than they were read.
    pub missed_packets: u64,
}

/// One direction between two UDP addresses.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct UdpFlow {
    /// Host of the source.
    pub sender: String,
    /// Host where its datagrams arrive; None: none arrived at a host with a program.
    pub receiver: Option<String>,
    /// From.
    pub source: SocketAddr,
    /// To.
    pub destination: SocketAddr,
    /// Index of the program that owns the source's socket, if known.
    pub program: Option<usize>,
    /// The plan's QUIC flow that it is, from its server.
    #[serde(default)]
    pub flow: Option<usize>,
    /// When the first datagram was sent.
    pub first_ns: u64,
    /// When the first datagram arrived.
    #[serde(default)]
    pub arrived_ns: Option<u64>,
    /// When the last one was sent.
    pub last_ns: u64,
    /// When a sample found its socket closed.
    pub gone_ns: Option<u64>,
    /// Datagrams sent.
    pub sent_packets: u64,
    /// Payload bytes that arrived.
    pub bytes_received: u64,
}

/// Files of `/proc/net` as text: counters that reveal drops outside the queues under test.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct Counters {
    /// Packets and drops of each device (`proc_pid_net(5)`).
    pub dev: String,
    /// The MIBs of RFC 1213, as Linux has them.
    pub snmp: String,
    /// Linux's own counters of TCP and IP.
    pub netstat: String,
    /// A line for each CPU: packets processed, dropped, `time_squeeze` (`net/core/net-procfs.c`). The whole machine's.
    pub softnet_stat: String,
}

/// Key, as sysctl(8) writes it, to value.
pub type Values = BTreeMap<String, String>;

/// Effective settings at the end.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct Settings {
    /// Host-wide sysctls that the plan set.
    pub machine: Values,
    /// By host: `net.ipv4.tcp_*` that differ from the default, and sysctls that the plan set.
    pub hosts: BTreeMap<String, Values>,
    /// By controller: its module's parameters.
    pub parameters: BTreeMap<String, Values>,
}

/// What the recordings missed.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct Recorded {
    /// Packets that did not fit into the ring, by device, in the plan's order.
    pub missed_packets: Vec<u64>,
    /// Trace events that did not fit into the buffer.
    pub missed_events: u64,
    /// When the experiment started, on the clock of trace events.
    pub start_ns: u64,
}

/// Timer lateness over the whole experiment.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(default)]
pub struct TimerLateness {
    /// Number of timers.
    pub timers: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

/// Changes of the path that the plan did not make.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub struct PathChanges {
    /// The first of them.
    pub changes: Vec<PathChange>,
    /// Number of changes not listed.
    pub further: usize,
}

/// A change of the path.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub struct PathChange {
    /// When; None: found by the comparison at the end.
    pub time_ns: Option<u64>,
    /// Its host.
    pub host: String,
    /// The changed object, such as `qdisc 10: of 'right'`.
    pub object: String,
    /// Before; empty: there was none.
    pub before: String,
    /// After.
    pub after: String,
    /// Programs running in the host at that time.
    pub programs: Vec<String>,
}

/// A program of the machine.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub struct MachineProgram {
    /// `tc`.
    pub program: String,
    /// As it prints it.
    pub version: String,
    /// The commands that it ran.
    pub commands: Vec<String>,
    /// The host, if several machines report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl End {
    /// The reports of several machines as one agent's: flows by `sender` and `receiver`, the rest of each by its role.
    ///
    /// # Panics
    ///
    /// `ends` lacks one of the two.
    #[must_use]
    pub fn joined(ends: &[(String, Self)], sender: &str, receiver: &str) -> Self {
        let of = |role: &str| &ends.iter().find(|(name, _)| name == role).expect("each role reports").1;
        let (sending, receiving) = (of(sender), of(receiver));
        let own = |counters: &BTreeMap<String, Counters>| counters.get("").cloned().unwrap_or_default();
        Self {
            duration_ns: sending.duration_ns.max(receiving.duration_ns),
            flows: sending.flows.iter().zip(&receiving.flows).map(|(sent, got)| sent.received(got)).collect(),
            counters_before: ends.iter().map(|(role, end)| (role.clone(), own(&end.counters_before))).collect(),
            counters: ends.iter().map(|(role, end)| (role.clone(), own(&end.counters))).collect(),
            settings: Settings {
                machine: Values::new(),
                hosts: ends.iter().map(|(role, end)| (role.clone(), end.settings.machine.clone())).collect(),
                parameters: sending.settings.parameters.clone(),
            },
            seen: sending.seen.clone(),
            machine: sending.machine,
            queues: Self::each(ends, |end| &end.queues, |queue, host| FoundQueue { host, ..queue }),
            machine_programs: Self::each(
                ends,
                |end| &end.machine_programs,
                |used, host| MachineProgram { host: Some(host), ..used },
            ),
            ..Self::default()
        }
    }

    fn each<T: Clone>(ends: &[(String, Self)], list: fn(&Self) -> &Vec<T>, of: fn(T, String) -> T) -> Vec<T> {
        let items = |(role, end): &(String, Self)| {
            list(end).iter().map(|item| of(item.clone(), role.clone())).collect::<Vec<_>>()
        };
        ends.iter().flat_map(items).collect()
    }
}

impl FlowEnd {
    /// This sender's report with the receiver's values of receiving.
    fn received(&self, receiver: &Self) -> Self {
        Self {
            bytes_received: receiver.bytes_received,
            completed_ns: receiver.completed_ns,
            exchanges_ns: receiver.exchanges_ns.clone(),
            error: self.error.clone().or_else(|| receiver.error.clone()),
            ..self.clone()
        }
    }
}
