//! What a plan consists of.

use crate::model::{ParameterValue, ProbeKind, Transport};
pub use dumbbell_plan::{Exchange, NetemSeed};
use dumbbell_tc::message::Message;
use serde::Serialize;
use std::net::Ipv4Addr;

/// Rates over time: (nanoseconds, bits per second), the first at time 0.
pub type Rates = Vec<(u64, u64)>;

/// One run, ready for an engine.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Length of the experiment.
    pub duration_ns: u64,
    /// Time between samples.
    pub sample_ns: u64,
    /// Whether the run ends as soon as every flow has delivered its bytes.
    pub ends_when_done: bool,
    /// Whether links with a rate stamp packets.
    pub telemetry: bool,
    /// Whether every change is recorded, not only samples.
    pub every_change: bool,
    /// Host names.
    pub hosts: Vec<String>,
    /// Links and TCP settings, for an engine that runs no commands.
    pub net: Net,
    /// Commands before time zero.
    pub setup: Vec<Command>,
    /// Flows in the order of the result.
    pub flows: Vec<Flow>,
    /// Probes in the order of the result.
    pub probes: Vec<Probe>,
    /// Commands during the run, sorted by time.
    pub changes: Vec<TimedCommand>,
    /// Qdiscs, in the order of the result.
    pub queues: Vec<Queue>,
    /// Seeds of netems without one of their own.
    pub netem_seeds: Vec<NetemSeed>,
    /// Name of the queue that a summary describes.
    pub bottleneck: Option<String>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Programs.
    pub programs: Vec<Program>,
    /// `/etc/hosts` of the programs; empty without programs.
    pub hosts_file: String,
}

impl Plan {
    /// Whether the result depends on the iproute2 of the machine: it runs commands that the agent cannot execute itself,
    /// or a program of the experiment is one of iproute2.
    #[must_use]
    pub fn uses_iproute2(&self) -> bool {
        let commands = self.setup.iter().chain(self.changes.iter().map(|change| &change.command));
        let is_unknown = |command: &Command| {
            let words: Vec<_> = command.argv.iter().map(String::as_str).collect();
            matches!(words.split_first(), Some((&"tc", rest)) if Message::read(rest).is_err())
        };
        let is_iproute2 = |program: &Program| {
            let name = program.argv.first().and_then(|path| path.rsplit('/').next());
            matches!(name, Some("ip" | "tc"))
        };
        commands.into_iter().any(is_unknown) || self.programs.iter().any(is_iproute2)
    }
}

/// Where in an experiment a command comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Dotted key.
    pub key: String,
    /// Its value as written, or the command.
    pub text: String,
}

/// A command line; `write FILE TEXT` means `echo TEXT > FILE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Command {
    /// Network namespace; empty for the machine itself.
    pub host: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The key that requests it; tc commands have one.
    #[serde(skip)]
    pub origin: Option<Box<Origin>>,
}

impl Command {
    /// A line of plain words.
    pub(super) fn of(host: &str, line: &str) -> Self {
        Self::from_words(host, line.split_ascii_whitespace().map(String::from).collect())
    }

    /// A command with these words.
    pub(super) fn from_words(host: &str, argv: Vec<String>) -> Self {
        Self { host: host.into(), argv, origin: None }
    }

    /// `sysctl -w`; a value may have spaces.
    pub(super) fn sysctl(host: &str, key: &str, value: &str) -> Self {
        Self::from_words(host, vec!["sysctl".into(), "-w".into(), format!("{key}={value}")])
    }

    /// The same with the key and the value that request it.
    pub(super) fn with_key(self, key: &str, text: &str) -> Self {
        Self { origin: Some(Box::new(Origin { key: key.into(), text: text.into() })), ..self }
    }

    /// The same with the key that requests it; the value is the command.
    pub(super) fn for_key(self, key: &str) -> Self {
        let line = self.line();
        self.with_key(key, &line)
    }

    /// As typed.
    #[must_use]
    pub fn line(&self) -> String {
        self.argv.join(" ")
    }

    /// The word after `name`.
    #[must_use]
    pub fn word_after(&self, name: &str) -> Option<&str> {
        let position = self.argv.iter().position(|word| word == name)?;
        self.argv.get(position + 1).map(String::as_str)
    }
}

/// A command with a time.
#[derive(Clone, Debug, Serialize)]
pub struct TimedCommand {
    /// When.
    pub at_ns: u64,
    /// What.
    pub command: Command,
}

/// A device of a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Device {
    /// Host.
    pub host: String,
    /// Name in the host.
    pub name: String,
}

/// A veth pair between neighbours.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// Number, from 1.
    pub number: usize,
    /// Host on the senders' side.
    pub left_host: String,
    /// The left host's device.
    pub left_device: String,
    /// Host on the receivers' side.
    pub right_host: String,
    /// The right host's device.
    pub right_device: String,
}

/// Links and TCP settings.
#[derive(Clone, Debug, Serialize)]
pub struct Net {
    /// Links.
    pub wires: Vec<Link>,
    /// Sending hosts.
    pub senders: Vec<Sender>,
    /// MTU of every link.
    pub mtu: u32,
    /// Whether segmentation offloads are on.
    pub offloads: bool,
    /// TCP settings of every host.
    pub tcp: TcpSettings,
}

/// What distinguishes a sending host.
#[derive(Clone, Debug, Serialize)]
pub struct Sender {
    /// Its name.
    pub host: String,
    /// Initial window in packets; None: Linux's.
    pub initial_window: Option<u32>,
    /// ECN by its route; [`TcpSettings::ecn`] is for all hosts.
    pub ecn: bool,
    /// Whether its data is acknowledged at once.
    pub quickack: bool,
}

/// TCP settings of every host.
#[derive(Clone, Debug, Serialize)]
pub struct TcpSettings {
    /// `tcp_ecn`.
    pub ecn: bool,
    /// Limit of the receive buffer.
    pub rmem_max: u64,
    /// Limit of the send buffer.
    pub wmem_max: u64,
    /// `tcp_slow_start_after_idle`.
    pub slow_start_after_idle: bool,
    /// Further settings by name.
    pub sysctl: Vec<(String, String)>,
}

/// One flow.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// Name in the result.
    pub name: String,
    /// Name of its group.
    pub group: String,
    /// TCP or UDP.
    #[serde(serialize_with = "transport_name")]
    pub transport: Transport,
    /// Sending host.
    pub sender: String,
    /// Receiving host.
    pub receiver: String,
    /// Address of the receiver.
    pub address: Ipv4Addr,
    /// Port of the receiver.
    pub port: u16,
    /// Congestion control.
    pub cc: Option<String>,
    /// Its parameters, as written.
    #[serde(serialize_with = "parameters")]
    pub cc_parameters: Vec<(String, ParameterValue)>,
    /// Start.
    pub start_ns: u64,
    /// Stop; None: at the end.
    pub stop_ns: Option<u64>,
    /// Size; None: unlimited.
    pub bytes: Option<u64>,
    /// Send for the first time, pause for the second.
    pub on_off_ns: Option<(u64, u64)>,
    /// Request/response instead of bulk.
    pub exchange: Option<Exchange>,
    /// Fixed send buffer.
    pub sndbuf: Option<u64>,
    /// Fixed receive buffer.
    pub rcvbuf: Option<u64>,
    /// Whether the receiver reads each segment when it arrives.
    pub prompt_reads: bool,
    /// `SO_MAX_PACING_RATE`, bytes per second.
    pub pacing_rate: Option<u64>,
    /// `SO_MARK`.
    pub mark: Option<u32>,
    /// Payload bytes of a UDP packet.
    pub packet: Option<u32>,
    /// Time between UDP packets.
    pub interval_ns: Option<u64>,
    /// Whether UDP packets are ECN-capable (ECT(0)).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
    /// Propagation delay there and back, the longest of the run.
    pub rtt_ns: u64,
}

/// A series of probes.
#[derive(Clone, Debug, Serialize)]
pub struct Probe {
    /// Ping or UDP.
    #[serde(serialize_with = "probe_name")]
    pub kind: ProbeKind,
    /// Host that sends them.
    pub sender: String,
    /// Host that replies.
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
    pub payload: u32,
}

/// A qdisc by its location in the kernel.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Queue {
    /// Name in the result.
    pub name: String,
    /// Host.
    pub host: String,
    /// Device.
    pub device: String,
    /// Handle as tc writes it.
    pub handle: String,
    /// Kind and options for tc.
    pub text: String,
    /// Whether the experiment tests it.
    pub under_test: bool,
    /// The key that requests it.
    pub key: String,
    /// Under test, or a netem with loss.
    pub may_drop: bool,
    /// Rates over time; empty without a limit.
    pub rates: Rates,
    /// What a tc script's qdiscs and classes let through here; `rates` are those that the experiment states.
    pub capped_bps: Option<u64>,
    /// Whether it is or contains a script's netem: its backlog then is mostly packets that wait for no rate.
    pub holds_netem: bool,
}

impl Queue {
    /// Its rates, or what a script lets through; empty without a limit.
    #[must_use]
    pub fn limits(&self) -> Rates {
        match self.capped_bps {
            Some(rate) if self.rates.is_empty() && rate > 0 => vec![(0, rate)],
            _ => self.rates.clone(),
        }
    }
}

/// One program.
#[derive(Clone, Debug, Serialize)]
pub struct Program {
    /// Name.
    pub name: String,
    /// Host.
    pub host: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Additional environment variables.
    pub env: Vec<(String, String)>,
    /// Text files of its working folder.
    pub texts: Vec<(String, String)>,
    /// Files of this many zero bytes.
    pub zeros: Vec<(String, u64)>,
    /// Folders replaced by empty writable ones.
    pub writable: Vec<String>,
    /// Start.
    pub start_ns: u64,
    /// Stop; None: at the end.
    pub stop_ns: Option<u64>,
    /// Whether it runs until it is stopped.
    pub stays: bool,
    /// TCP port at which it listens; 0: any.
    pub serves: Option<u16>,
    /// Whether the experiment ends when it exits.
    pub ends: bool,
    /// Default controller of its host.
    pub cc: Option<String>,
    /// Exit status of success.
    pub expect_status: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn transport_name<S: serde::Serializer>(transport: &Transport, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(transport.word())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn probe_name<S: serde::Serializer>(kind: &ProbeKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.word())
}

fn parameters<S: serde::Serializer>(values: &[(String, ParameterValue)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|(name, value)| (name, super::error::Value::from(value))))
}
