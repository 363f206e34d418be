//! Types of `plan.json`.
//!
//! `dumbbell.plan` writes the file and explains its choices.

use crate::inside::plan::Recordings;
use crate::programs::plan::Programs;
use serde::Deserialize;
use std::net::Ipv4Addr;

/// One run of an experiment on one host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Duration of the experiment.
    pub duration_ns: u64,
    /// Sampling interval.
    pub sample_ns: u64,
    /// End when every sized flow is done; set if all flows are sized.
    pub ends_when_done: bool,
    /// Hosts: one network namespace each.
    pub hosts: Vec<String>,
    /// Commands to run in order before time zero.
    pub setup: Vec<Command>,
    /// Flows, in the order of the result.
    pub flows: Vec<Flow>,
    /// Probes.
    pub probes: Vec<Probe>,
    /// Timed commands, sorted by time.
    pub changes: Vec<Change>,
    /// Seeds of netem's random numbers.
    #[serde(rename = "dice")]
    pub netem_seed: Vec<NetemSeed>,
    /// Programs; most experiments have none.
    #[serde(default)]
    pub programs: Programs,
    /// If not empty, sample only these devices' queues: on a real host the others belong to other users.
    #[serde(default)]
    pub devices: Vec<String>,
    /// Optional recordings besides flows, queues and probes.
    #[serde(default)]
    pub inside: Recordings,
    /// Interval of host load samples; None in a guest, where virtual time has no load.
    #[serde(default)]
    pub machine_ns: Option<u64>,
}

/// Seed of a netem's random numbers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetemSeed {
    /// Host.
    pub host: String,
    /// Device.
    pub device: String,
    /// Handle as tc writes it: `10:`.
    pub handle: String,
    /// `TCA_NETEM_PRNG_SEED`.
    pub seed: u64,
}

/// A command line: `ip`, `tc`, `ethtool -K` or `sysctl -w`; `write FILE TEXT` means `echo TEXT > FILE`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Network namespace; empty for the agent's own.
    pub host: String,
    /// Program and arguments; arguments contain no white space.
    pub argv: Vec<String>,
}

impl Command {
    /// The command as one line.
    pub fn line(&self) -> String {
        self.argv.join(" ")
    }
}

/// A command with a time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub at_ns: u64,
    /// What.
    pub command: Command,
}

/// Transport of a flow.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A TCP connection, sender to receiver.
    Tcp,
    /// UDP packets at a constant rate.
    Udp,
}

/// Which ends of a flow or probe are on this host.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// Both, as in a guest.
    #[default]
    Both,
    /// Only the sender, or a probe's client.
    Sender,
    /// Only the receiver, or a probe's server; no other flow uses its port.
    Receiver,
}

impl Ends {
    /// Is the sender on this host?
    pub fn sends(self) -> bool {
        self != Self::Receiver
    }

    /// Is the receiver on this host?
    pub fn receives(self) -> bool {
        self != Self::Sender
    }
}

/// One flow. Times are since the experiment's start.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name in messages.
    pub name: String,
    /// TCP or UDP.
    pub transport: Transport,
    /// Sending host.
    pub sender: String,
    /// Receiving host.
    pub receiver: String,
    /// Address of the receiver.
    pub address: Ipv4Addr,
    /// Port of the receiver.
    pub port: u16,
    /// Congestion control, for TCP.
    pub cc: Option<String>,
    /// When it starts.
    pub start_ns: u64,
    /// When it stops sending; None: at the end.
    pub stop_ns: Option<u64>,
    /// Size; None: unlimited.
    pub bytes: Option<u64>,
    /// Send for `on_ns`, pause for `off_ns`, repeat.
    pub on_off_ns: Option<(u64, u64)>,
    /// Request/response instead of bulk.
    pub exchange: Option<Exchange>,
    /// Fixed send buffer.
    pub sndbuf: Option<usize>,
    /// Fixed receive buffer.
    pub rcvbuf: Option<usize>,
    /// Read each segment when it arrives, like most applications, instead of in large pieces.
    pub prompt_reads: bool,
    /// `SO_MAX_PACING_RATE`, bytes per second.
    pub pacing_rate: Option<u64>,
    /// `SO_MARK` of the sender's socket.
    pub mark: Option<u32>,
    /// Payload bytes of a UDP packet.
    pub packet: Option<usize>,
    /// Interval between UDP packets.
    pub interval_ns: Option<u64>,
    /// Which ends are on this host.
    #[serde(default)]
    pub ends: Ends,
    /// Address of a sender on another host.
    #[serde(default)]
    pub from: Option<Ipv4Addr>,
}

/// The receiver sends a request, the sender responds, the receiver pauses and repeats.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Bytes of a request.
    pub request: u64,
    /// Bytes of a response.
    pub response: u64,
    /// Pause after a response.
    pub think_ns: u64,
}

/// Type of a probe.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ProbeKind {
    /// ICMP echo; the kernel answers.
    Ping,
    /// UDP; the agent answers.
    Udp,
}

/// Probes sent every `interval_ns` from `start_ns` on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Ping or UDP.
    pub kind: ProbeKind,
    /// Host of the client.
    pub sender: String,
    /// Host of the server.
    pub receiver: String,
    /// Address of the server.
    pub address: Ipv4Addr,
    /// UDP port of the server.
    pub port: u16,
    /// First probe.
    pub start_ns: u64,
    /// Time between probes.
    pub interval_ns: u64,
    /// Payload bytes.
    pub payload: usize,
    /// Which ends are on this host.
    #[serde(default)]
    pub ends: Ends,
}
