//! The values of an experiment: what each key holds after parsing.
//!
//! Times are nanoseconds, rates bits per second, sizes bytes. A field has the name of its key.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Nanoseconds.
pub type Nanoseconds = u64;
/// Bits per second.
pub type BitsPerSecond = u64;
/// Bytes.
pub type Bytes = u64;

/// A whole experiment: one case of a file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Experiment {
    pub title: String,
    pub duration: Nanoseconds,
    pub seeds: Vec<u64>,
    pub sample: Nanoseconds,
    pub trace: Trace,
    pub expect: Vec<String>,
    pub source: Option<Source>,
    pub hosts: Option<Hosts>,
    pub path: Path,
    pub flows: Vec<Flows>,
    pub probes: Vec<Probe>,
    pub tcp: Tcp,
    pub changes: Vec<Change>,
    pub programs: Vec<Program>,
}

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Trace {
    Samples,
    Events,
}

/// The arguments of one netem option, checked, as written: `1%`, `gemodel 1% 10%`.
pub type NetemArguments = String;

/// What a part of the path does to packets, in the data's direction.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Impairment {
    pub delay: Nanoseconds,
    pub loss: Option<NetemArguments>,
    pub jitter: Nanoseconds,
    pub distribution: Option<NetemArguments>,
    pub reorder: Option<NetemArguments>,
    pub duplicate: Option<NetemArguments>,
    pub corrupt: Option<NetemArguments>,
    pub slot: Option<NetemArguments>,
}

/// A queue discipline as written for tc, its words checked.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Qdisc {
    pub kind: String,
    /// The words after the kind, as written.
    pub words: Vec<String>,
    /// Sizes in bandwidth-delay products, by their position in `words`.
    pub bdp_words: BTreeMap<usize, BdpSize>,
}

/// A queue's size in bandwidth-delay products.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct BdpSize {
    pub products: f64,
    /// Whether tc takes packets here instead of bytes.
    pub in_packets: bool,
}

/// From the senders to the receivers and back.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Path {
    pub impairment: Impairment,
    pub rtt: Nanoseconds,
    pub offloads: bool,
    pub telemetry: bool,
    pub mtu: u32,
    pub bottleneck: Option<Bottleneck>,
    pub links: Vec<Link>,
    pub reverse: Option<Segment>,
    pub tc: Option<Verbatim>,
}

/// The queue under test and the rate behind it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Bottleneck {
    pub rate: Option<BitsPerSecond>,
    pub qdisc: Qdisc,
    /// Name of a trace file.
    pub trace: Option<String>,
    pub trace_step: Nanoseconds,
}

/// A link, or the reverse path, or an access link: an impairment with a rate and a queue of its own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Segment {
    pub impairment: Impairment,
    pub rate: Option<BitsPerSecond>,
    pub qdisc: Option<Qdisc>,
}

/// One more link in the row.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Link {
    pub name: String,
    pub position: Position,
    pub segment: Segment,
}

/// Where a link is (key `where`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Position {
    Before,
    After,
}

/// tc commands verbatim, for the senders' device.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Verbatim {
    pub interface: String,
    pub commands: Vec<String>,
    /// Name of a script file.
    pub script: Option<String>,
    pub queue: Option<String>,
}

/// A group of equal flows.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Flows {
    pub name: Option<String>,
    pub kind: Transport,
    pub cc: Option<String>,
    /// In the order of the file.
    pub cc_parameters: Vec<(String, ParameterValue)>,
    pub count: u32,
    pub start: Nanoseconds,
    pub stop: Option<Nanoseconds>,
    pub stagger: Nanoseconds,
    pub start_jitter: Nanoseconds,
    pub bytes: Option<Bytes>,
    pub port: Option<u16>,
    pub on: Option<Nanoseconds>,
    pub off: Option<Nanoseconds>,
    pub request: Option<Bytes>,
    pub response: Option<Bytes>,
    pub think: Nanoseconds,
    /// Flows per second.
    pub arrivals: Option<f64>,
    pub rate: Option<BitsPerSecond>,
    pub packet: u32,
    pub ecn: bool,
    pub sndbuf: Option<Bytes>,
    pub rcvbuf: Option<Bytes>,
    pub initial_window: Option<u32>,
    pub delayed_ack: bool,
    pub prompt_reads: bool,
    pub pacing_rate: Option<BitsPerSecond>,
    pub enter: Option<String>,
    pub leave: Option<String>,
    pub access: Option<Segment>,
    pub host_qdisc: Option<Qdisc>,
}

/// TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Transport {
    Tcp,
    Udp,
}

/// A controller's parameter, as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ParameterValue {
    Number(u64),
    Word(String),
}

/// A series of probes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Probe {
    pub kind: ProbeKind,
    pub interval: Nanoseconds,
    pub start: Nanoseconds,
    pub payload: u32,
}

/// ICMP echo or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum ProbeKind {
    Ping,
    Udp,
}

/// TCP settings of every host.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Tcp {
    pub defaults: TcpDefaults,
    pub ecn: bool,
    pub rmem_max: Bytes,
    pub wmem_max: Bytes,
    pub slow_start_after_idle: bool,
    /// In the order of the file.
    pub sysctl: Vec<(String, String)>,
}

/// Limits of buffer autotuning if the file gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum TcpDefaults {
    Dumbbell,
    Linux,
}

/// A scheduled change of the path.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Change {
    pub at: Nanoseconds,
    pub link: Option<String>,
    pub rate: Option<BitsPerSecond>,
    pub rtt: Option<Nanoseconds>,
    pub delay: Option<Nanoseconds>,
    pub jitter: Option<Nanoseconds>,
    pub loss: Option<NetemArguments>,
}

/// A program on a host of the experiment.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Program {
    pub name: String,
    pub on: String,
    pub group: Option<String>,
    pub run: Vec<String>,
    pub start: Nanoseconds,
    pub stop: Option<Stop>,
    /// TCP port at which it listens; 0: any.
    pub serves: Option<u16>,
    pub ends: bool,
    /// In the order of the file.
    pub files: Vec<(String, FileContent)>,
    pub env: Vec<(String, String)>,
    pub writable: Vec<String>,
    pub cc: Option<String>,
    pub expect_status: u8,
}

/// When a program gets SIGTERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Stop {
    At(Nanoseconds),
    End,
}

/// A file of a program's working folder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum FileContent {
    Text(String),
    Zeros(Bytes),
}

/// Real hosts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Hosts {
    pub sender: End,
    pub receiver: End,
    pub router: Option<Router>,
}

/// A sending or receiving host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct End {
    pub ssh: String,
    pub address: String,
    pub device: String,
}

/// A host between them that forwards.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Router {
    pub ssh: String,
    pub to_receiver: String,
    pub to_sender: String,
}

/// Where an experiment comes from.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Source {
    pub title: String,
    pub url: Option<String>,
    pub note: Option<String>,
    pub seen: Vec<Seen>,
}

/// One figure that a source reports.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Seen {
    pub what: String,
    pub value: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub unit: String,
    pub metric: String,
    pub case: Option<String>,
}
