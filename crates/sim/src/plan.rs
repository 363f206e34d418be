//! The input of the simulator: hosts, links, qdiscs, flows, probes, changes.
//!
//! [`from_experiment`] makes it of an experiment's plan, which the agent executes, too.
//! Paths run from left (senders) to right (receivers): a link joins a left host to a
//! right host and has a device at each end.

pub mod from_experiment;
mod sysctls;

pub use sysctls::Sysctls;

use dumbbell_net::cc::Parameters;
use dumbbell_net::queue::Node;
use dumbbell_net::time::{Span, Time};
use dumbbell_net::transport::Settings;
use dumbbell_plan::Wait;
use dumbbell_tc as tc;
use serde::Serialize;

/// One run, with the tc commands of its devices executed.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Seed of all random streams.
    pub seed: u64,
    /// Length of the experiment.
    pub duration: Span,
    /// Time between samples.
    pub sample: Span,
    /// Whether the run ends as soon as every flow has delivered its bytes.
    pub ends_when_done: bool,
    /// Record every change, not only samples (`record = "events"`).
    pub every_change: bool,
    /// Host names in any order.
    pub hosts: Vec<String>,
    /// Links; their index here identifies them.
    pub wires: Vec<Link>,
    /// Qdiscs on devices. A device without one sends immediately.
    pub devices: Vec<Device>,
    /// Flows with unique names.
    pub flows: Vec<Flow>,
    /// Probe series in the order of the result.
    pub probes: Vec<Probe>,
    /// Changes in order of time.
    pub changes: Vec<Change>,
    /// Where hosts that have two ways to another send at first.
    pub routes: Vec<HostRoute>,
    /// Sampled qdiscs in the order of the result.
    pub queues: Vec<Watched>,
    /// Capture, if any.
    pub capture: Option<Capture>,
}

/// Captures the packets at one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Capture {
    /// The device.
    pub at: End,
}

/// A link between neighbours, without loss and delay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Host on the left (sending) side.
    pub left: String,
    /// Host on the right (receiving) side.
    pub right: String,
}

/// End of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkSide {
    /// Device of the left host; it sends to the right.
    Left,
    /// Device of the right host; it sends to the left.
    Right,
}

/// One end of a link, which identifies a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct End {
    /// Index of the link.
    pub wire: usize,
    /// Which end.
    pub side: LinkSide,
}

/// A device with a qdisc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    /// The device.
    pub at: End,
    /// Its root qdisc.
    pub root: Node,
    /// Whether it stamps packets (in-network telemetry).
    pub telemetry: bool,
}

/// A sampled qdisc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Watched {
    /// Name in the result.
    pub name: String,
    /// Its device.
    pub at: End,
    /// Its handle, such as `10:`.
    pub handle: String,
    /// Whether it is the queue under test.
    pub under_test: bool,
    /// What limits it, over time: (nanoseconds, bits per second); empty without a limit.
    pub limits: Vec<(u64, u64)>,
    /// Whether it is or contains a script's netem, so that its backlog waits for no rate.
    pub holds_netem: bool,
}

/// One flow, from its sender to a receiver at the right end of the path.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// Name. Random streams and ties depend on it, so the order of flows in a file does not matter.
    pub name: String,
    /// Name of its group.
    pub group: String,
    /// Sending host.
    pub sender: String,
    /// Receiving host.
    pub receiver: String,
    /// Start time; since the completion of others if it waits for them.
    pub start: Time,
    /// Others that it waits for.
    pub wait: Wait,
    /// Stop time, if the flow is stopped early.
    pub stop: Option<Time>,
    /// Server port.
    pub port: u16,
    /// `SO_MARK`; 0 if unset.
    pub mark: u16,
    /// TCP or UDP.
    pub traffic: Traffic,
}

/// What a flow sends.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Traffic {
    /// A TCP connection.
    Tcp(Box<Tcp>),
    /// Datagrams at a constant rate.
    Udp(Udp),
}

/// Datagrams at a constant rate.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Udp {
    /// Payload bytes per datagram.
    pub payload: u32,
    /// Largest IP packet; larger datagrams leave in fragments.
    pub mtu: u32,
    /// Time between datagrams.
    pub interval: Span,
    /// Sends for the first time, pauses for the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_off: Option<(Span, Span)>,
    /// Whether datagrams are ECN-capable.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
    /// Memory that datagrams may take in the sender's own queues; None: Linux's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sndbuf: Option<u64>,
    /// Memory of datagrams that the receiver has not read; None: Linux's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rcvbuf: Option<u64>,
}

/// A TCP connection.
#[derive(Clone, Debug, Serialize)]
pub struct Tcp {
    /// Congestion control of the sender.
    pub cc: String,
    /// Parameters of the controller.
    #[serde(skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Settings of the sending host and socket.
    pub sender: Settings,
    /// Settings of the receiving host and socket.
    pub receiver: Settings,
    /// Application behaviour.
    pub work: Work,
}

/// Behaviour of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Sends without end.
    Bulk,
    /// Sends this many bytes and closes.
    Sized {
        /// Bytes.
        bytes: u64,
    },
    /// Alternates between sending and pausing.
    OnOff {
        /// Sending period; comes first.
        on: Span,
        /// Pause.
        off: Span,
        /// Maximum bytes in total.
        bytes: Option<u64>,
    },
    /// Request/response: the receiver requests, the sender responds, the receiver pauses.
    Exchange {
        /// Request size in bytes.
        request: u64,
        /// Response size in bytes.
        response: u64,
        /// Time between a response and the next request.
        think: Span,
    },
}

/// Probes at a constant interval, from the first sender to the receiver and back.
#[derive(Clone, Debug, Serialize)]
pub struct Probe {
    /// Name in the result.
    pub name: String,
    /// `ping` or `udp`.
    pub kind: String,
    /// Host that sends the probes.
    pub sender: String,
    /// Host that replies.
    pub receiver: String,
    /// Time of the first probe.
    pub start: Time,
    /// Time between probes.
    pub interval: Span,
    /// Payload bytes.
    pub payload: u32,
    /// Server port, for classifiers.
    pub port: u16,
}

/// A change during the run.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Time.
    pub at: Time,
    /// The change.
    pub what: What,
}

/// What changes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A qdisc or class.
    Tc {
        /// Its device.
        device: End,
        /// The change.
        change: tc::tree::Change,
    },
    /// A route.
    Route(HostRoute),
}

/// How a host reaches another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostRoute {
    /// The host.
    pub host: String,
    /// The other.
    pub to: String,
    /// The host's device that leads there.
    pub by: End,
}
