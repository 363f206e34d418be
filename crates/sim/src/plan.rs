//! What is to be simulated, as `dumbbell.plan.world` writes it: hosts, wires, disciplines, flows, probes, changes.
//!
//! It is the same plan that the agent carries out, with every tc line turned into numbers. A path is drawn from left
//! (senders) to right (receivers): a wire joins a left host to a right host and has a device at each end.

use crate::error::Error;
use dumbbell_core::cc::Parameters;
use dumbbell_core::queue::{HtbClass, Node};
use dumbbell_core::time::{Span, Time};
use dumbbell_core::transport::Settings;
use serde::Deserialize;

/// One run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// All dice come from it.
    pub seed: u64,
    /// The experiment's length.
    pub duration: Span,
    /// Time between two samples.
    pub sample: Span,
    /// Does it end as soon as every flow has delivered its bytes?
    pub ends_when_done: bool,
    /// Record every change too, not only samples (`trace = "events"`).
    #[serde(default)]
    pub every_change: bool,
    /// Hosts by name, in any order.
    pub hosts: Vec<String>,
    /// Wires; a wire's number is its place here.
    pub wires: Vec<Wire>,
    /// Disciplines on devices; a device without one sends at once.
    pub devices: Vec<Device>,
    /// Flows; names are unique.
    pub flows: Vec<Flow>,
    /// Series of probes, in the order in which a result names them.
    pub probes: Vec<Probe>,
    /// Changes in order of time.
    pub changes: Vec<Change>,
    /// Disciplines that are sampled, in the order of a result.
    pub queues: Vec<Watched>,
    /// Where packets are captured, if anywhere.
    #[serde(default)]
    pub capture: Option<Capture>,
}

/// A tap on one device: it writes down what leaves there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Which device.
    pub at: End,
}

impl Plan {
    /// Reads a plan from JSON.
    ///
    /// # Errors
    ///
    /// When the text is not a plan: the error says where, by keys and positions.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let mut reader = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| Error::Json { path: error.path().to_string(), problem: error.inner().to_string() })
    }
}

/// A wire between neighbours: nothing is lost on it and it takes no time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    /// Host on the senders' side.
    pub left: String,
    /// Host on the receivers' side.
    pub right: String,
}

/// Which end of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The left host's device: it sends to the right.
    Left,
    /// The right host's device: it sends to the left.
    Right,
}

/// One end of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Number of the wire.
    pub wire: usize,
    /// Which end of it.
    pub side: Side,
}

/// A device with a discipline.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Which device.
    pub at: End,
    /// Its root discipline.
    pub root: Node,
    /// Does it stamp what passes (in-network telemetry)?
    #[serde(default)]
    pub telemetry: bool,
}

/// A discipline that is sampled.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    /// Name in the result.
    pub name: String,
    /// Its device.
    pub at: End,
    /// Its handle, such as `10:`.
    pub handle: String,
    /// Is it what the experiment is about?
    #[serde(default)]
    pub under_test: bool,
}

/// One flow; it goes from its sender to the receiver at the right end of the path.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name; dice and ties are decided by it, so the order of flows in a file does not matter.
    pub name: String,
    /// Host that sends.
    pub sender: String,
    /// Host that receives.
    pub receiver: String,
    /// When it starts.
    pub start: Time,
    /// When it is broken off.
    #[serde(default)]
    pub stop: Option<Time>,
    /// Server's port.
    pub port: u16,
    /// `SO_MARK`; 0 is none.
    #[serde(default)]
    pub mark: u16,
    /// TCP or UDP.
    pub traffic: Traffic,
}

/// What a flow sends.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Traffic {
    /// A TCP connection.
    Tcp(Box<Tcp>),
    /// Datagrams at a constant rate.
    Udp {
        /// Payload bytes of each.
        payload: u32,
        /// Time between two.
        interval: Span,
    },
}

/// A TCP connection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Controller of the sender.
    pub cc: String,
    /// What is set of it.
    #[serde(default)]
    pub parameters: Parameters,
    /// Settings of the sending host and socket.
    pub sender: Settings,
    /// Settings of the receiving host and socket.
    pub receiver: Settings,
    /// What the application does.
    pub work: Work,
}

/// What an application does with its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Work {
    /// Writes without end.
    Bulk,
    /// Writes so many bytes and closes.
    Sized {
        /// Bytes.
        bytes: u64,
    },
    /// Writes for a time, rests for a time.
    OnOff {
        /// Writing; it begins with this.
        on: Span,
        /// Resting.
        off: Span,
        /// Most bytes in all.
        #[serde(default)]
        bytes: Option<u64>,
    },
    /// The receiver asks, the sender answers, the receiver thinks.
    Exchange {
        /// Bytes of the question.
        request: u64,
        /// Bytes of the answer.
        response: u64,
        /// Time between an answer and the next question.
        think: Span,
    },
}

/// Probes at a steady pace, from the first sender to the receiver and back.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Name in the result.
    pub name: String,
    /// Host that asks.
    pub sender: String,
    /// Host that answers.
    pub receiver: String,
    /// First one.
    pub start: Time,
    /// Time between two.
    pub interval: Span,
    /// Payload bytes.
    pub payload: u32,
    /// Server's port, for classifiers.
    pub port: u16,
}

/// What changes at a time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub at: Time,
    /// On which device.
    pub device: End,
    /// What.
    pub what: What,
}

/// One change.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum What {
    /// `tc qdisc change`.
    Discipline(Node),
    /// `tc class change` on the htb of this handle.
    Class {
        /// Handle of the htb.
        htb: String,
        /// The class as it becomes.
        class: HtbClass,
    },
}
