//! What Python asked for: `plan.json`, as types.
//!
//! `dumbbell.plan` writes it and explains every choice; here it is only read.

use crate::inside::plan::Wishes;
use crate::programs::plan::Programs;
use serde::Deserialize;
use std::net::Ipv4Addr;

/// One run of one experiment on one machine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Length of the experiment.
    pub duration_ns: u64,
    /// Time between samples.
    pub sample_ns: u64,
    /// End as soon as every sized flow is done; set when all flows are sized.
    pub ends_when_done: bool,
    /// Network namespaces, one a host.
    pub hosts: Vec<String>,
    /// Commands, in order, before time zero.
    pub setup: Vec<Command>,
    /// Flows, in the order of the result.
    pub flows: Vec<Flow>,
    /// Probes.
    pub probes: Vec<Probe>,
    /// Commands at their times, sorted by time.
    pub changes: Vec<Change>,
    /// Where random numbers begin.
    pub dice: Vec<Dice>,
    /// The machine's own programs; none in most experiments.
    #[serde(default)]
    pub programs: Programs,
    /// Only these devices' queues are looked at; none: all. On somebody's machine others are not ours.
    #[serde(default)]
    pub devices: Vec<String>,
    /// What is to be looked at beside flows, queues and probes.
    #[serde(default)]
    pub inside: Wishes,
    /// Time between looks at the machine itself; none in a guest, whose machine has no time.
    #[serde(default)]
    pub machine_ns: Option<u64>,
}

/// Where the random numbers of a netem begin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dice {
    /// Its host.
    pub host: String,
    /// Its device.
    pub device: String,
    /// As tc writes it: `10:`.
    pub handle: String,
    /// `TCA_NETEM_PRNG_SEED`.
    pub seed: u64,
}

/// One line that a person could type: `ip`, `tc`, `ethtool -K` or `sysctl -w`; `write FILE TEXT` is ours for `echo TEXT > FILE`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Namespace it runs in; empty for the machine's own.
    pub host: String,
    /// Program and arguments; no argument holds white space.
    pub argv: Vec<String>,
}

impl Command {
    /// The line as typed.
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
    /// Packets at a constant rate.
    Udp,
}

/// Which ends of a flow or a probe are here; on real hosts the other one is on another machine.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// Both, as in a guest.
    #[default]
    Both,
    /// Only the one that sends, or asks.
    Sender,
    /// Only the one that receives, or answers; its port is no other flow's.
    Receiver,
}

impl Ends {
    /// Is the sending end here?
    pub fn sends(self) -> bool {
        self != Self::Receiver
    }

    /// Is the receiving end here?
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
    /// Host that sends the data.
    pub sender: String,
    /// Host that receives it.
    pub receiver: String,
    /// Address of the receiver.
    pub address: Ipv4Addr,
    /// Port of the receiver.
    pub port: u16,
    /// Congestion control, for TCP.
    pub cc: Option<String>,
    /// When it starts.
    pub start_ns: u64,
    /// When it stops sending; none: at the end.
    pub stop_ns: Option<u64>,
    /// Size; none: as much as it can.
    pub bytes: Option<u64>,
    /// Send for `on_ns`, rest for `off_ns`, repeated.
    pub on_off_ns: Option<(u64, u64)>,
    /// Request/response instead of bulk.
    pub exchange: Option<Exchange>,
    /// Fixed send buffer.
    pub sndbuf: Option<usize>,
    /// Fixed receive buffer.
    pub rcvbuf: Option<usize>,
    /// Read each segment as it comes, as most applications do, instead of in large pieces.
    pub prompt_reads: bool,
    /// `SO_MAX_PACING_RATE`, bytes per second.
    pub pacing_rate: Option<u64>,
    /// `SO_MARK` of the sender's socket.
    pub mark: Option<u32>,
    /// Payload bytes of a UDP packet.
    pub packet: Option<usize>,
    /// Time between two UDP packets.
    pub interval_ns: Option<u64>,
    /// Which of its ends are here.
    #[serde(default)]
    pub ends: Ends,
    /// Where a sender on another machine is.
    #[serde(default)]
    pub from: Option<Ipv4Addr>,
}

/// The receiver asks, the sender answers, the receiver thinks, and again.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Bytes of a question.
    pub request: u64,
    /// Bytes of an answer.
    pub response: u64,
    /// Pause after an answer.
    pub think_ns: u64,
}

/// Kind of a probe.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ProbeKind {
    /// ICMP echo, answered by the kernel.
    Ping,
    /// A UDP packet, answered by the agent.
    Udp,
}

/// A probe, sent every `interval_ns` from `start_ns` on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Ping or UDP.
    pub kind: ProbeKind,
    /// Host that asks.
    pub sender: String,
    /// Host that answers.
    pub receiver: String,
    /// Address of the receiver.
    pub address: Ipv4Addr,
    /// UDP port of the receiver.
    pub port: u16,
    /// First probe.
    pub start_ns: u64,
    /// Time between probes.
    pub interval_ns: u64,
    /// Payload bytes.
    pub payload: usize,
    /// Which of its ends are here.
    #[serde(default)]
    pub ends: Ends,
}
