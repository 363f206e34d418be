//! `plan.json`: one run of an experiment on one host.
//!
//! `crates/experiment/src/plan/agent.rs` writes it and explains its choices. An engine adds to it what depends on the
//! request: recordings, home directories, terminals.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// One run of an experiment on one host.
#[derive(Clone, Debug, Deserialize, Serialize)]
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
    pub netem_seeds: Vec<NetemSeed>,
    /// Programs; most experiments have none.
    #[serde(default, skip_serializing_if = "Programs::is_empty")]
    pub programs: Programs,
    /// If not empty, sample only these devices' queues: on a real host the others belong to other users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// Optional recordings besides flows, queues and probes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub inside: Recordings,
    /// Interval of host load samples; None in a guest, where virtual time has no load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_ns: Option<u64>,
}

/// Seed of a netem's random numbers.
#[derive(Clone, Debug, Deserialize, Serialize)]
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
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Network namespace; empty for the agent's own.
    pub host: String,
    /// Program and arguments; arguments contain no white space.
    pub argv: Vec<String>,
}

impl Command {
    /// The command as one line.
    #[must_use]
    pub fn line(&self) -> String {
        self.argv.join(" ")
    }
}

/// A command with a time.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub at_ns: u64,
    /// What.
    pub command: Command,
}

/// Transport of a flow.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A TCP connection, sender to receiver.
    Tcp,
    /// UDP packets at a constant rate.
    Udp,
}

/// Which ends of a flow or probe are on this host.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
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
    #[must_use]
    pub fn sends(self) -> bool {
        self != Self::Receiver
    }

    /// Is the receiver on this host?
    #[must_use]
    pub fn receives(self) -> bool {
        self != Self::Sender
    }
}

/// One flow, without its group and the parameters of its controller: those are set before the run. Times are since the experiment's start.
#[derive(Clone, Debug, Deserialize, Serialize)]
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
    pub sndbuf: Option<u64>,
    /// Fixed receive buffer.
    pub rcvbuf: Option<u64>,
    /// Read each segment when it arrives, like most applications, instead of in large pieces.
    pub prompt_reads: bool,
    /// `SO_MAX_PACING_RATE`, bytes per second.
    pub pacing_rate: Option<u64>,
    /// `SO_MARK` of the sender's socket.
    pub mark: Option<u32>,
    /// Payload bytes of a UDP packet.
    pub packet: Option<u32>,
    /// Interval between UDP packets.
    pub interval_ns: Option<u64>,
    /// Whether UDP packets are ECN-capable (ECT(0)); TCP's are as host and controller have it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ecn: bool,
    /// Which ends are on this host.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ends: Ends,
    /// Address of a sender on another host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Ipv4Addr>,
}

/// The receiver sends a request, the sender responds, the receiver pauses and repeats.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ProbeKind {
    /// ICMP echo; the kernel answers.
    Ping,
    /// UDP; the agent answers.
    Udp,
}

/// Probes sent every `interval_ns` from `start_ns` on.
#[derive(Clone, Debug, Deserialize, Serialize)]
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
    pub payload: u32,
    /// Which ends are on this host.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ends: Ends,
}

/// All programs, and what they share.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// Text of `/etc/hosts`.
    pub hosts_file: String,
    /// Home directories, visible only to programs whose command the user typed.
    pub homes: Vec<String>,
    /// Folders of Dumbbell's installation, visible even below a folder that is empty for programs.
    #[serde(default)]
    pub shown: Vec<String>,
    /// Folder of the command `dumbbell`: the last one of the search path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<String>,
    /// Folder in which the user typed the command; visible to typed programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed_folder: Option<String>,
    /// In the order of the result.
    pub all: Vec<Program>,
}

impl Programs {
    /// Has the experiment no program?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// One program. Times are since the experiment's start.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent option")]
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Name in messages.
    pub name: String,
    /// Network namespace it runs in.
    pub host: String,
    /// Program and arguments; not passed to a shell.
    pub argv: Vec<String>,
    /// Additional environment variables.
    pub env: BTreeMap<String, String>,
    /// Initial content of its working folder.
    pub files: Vec<Content>,
    /// Folders replaced by empty writable ones.
    pub writable: Vec<String>,
    /// Did the user type its command? Then it can read home directories, and its output is read while it runs.
    pub typed: bool,
    /// Does it keep all of root's capabilities, including mounts? Only if the user who typed its command requests it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keeps_powers: bool,
    /// When it starts; servers start earlier.
    pub start_ns: u64,
    /// When it is stopped; None: at the end.
    pub stop_ns: Option<u64>,
    /// Does it run until it is stopped? Then the experiment does not wait for it.
    pub stays: bool,
    /// TCP port on which it must listen before the experiment starts; 0: any.
    pub serves: Option<u16>,
    /// The experiment ends when this program exits.
    pub ends: bool,
    /// Is it an interactive shell, for whose commands the experiment waits?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalPlan>,
}

impl Program {
    /// May it write sysctls of its host? Linux sends no notification of that, so only interactive shells and programs
    /// with all capabilities may.
    #[must_use]
    pub fn may_set(&self) -> bool {
        self.terminal.is_some() || self.keeps_powers
    }
}

/// How typed commands run.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TerminalPlan {
    /// Time limit of a command, after which it gets SIGINT.
    pub timeout_ns: u64,
    /// Interval at which the experiment waits for permission to continue; None: it waits only for commands.
    pub step_ns: Option<u64>,
}

/// An entry of a working folder: a text, a number of zero bytes, or a link.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Path below the working folder.
    pub path: String,
    /// Text of the file.
    pub text: Option<String>,
    /// Number of zero bytes.
    pub bytes: Option<u64>,
    /// Target of the link.
    pub link: Option<String>,
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

/// A device.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Host.
    pub host: String,
    /// Name in the host.
    pub device: String,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
