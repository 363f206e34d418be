//! What comes out of a run beside its tables: every flow's life, every queue's totals, what it cost.

use crate::journeys::Told;
use crate::table::Table;
use dumbbell_core::time::Time;
use serde::Serialize;

/// A run's result.
#[derive(Debug)]
pub struct Outcome {
    /// One sample of one flow a row.
    pub flows: Table,
    /// One sample of one queue a row.
    pub queues: Table,
    /// One probe a row.
    pub probes: Table,
    /// Totals.
    pub report: Report,
    /// The capture, when one was asked for and nobody said where to write it.
    pub capture: Option<Vec<u8>>,
    /// Where packets were, when that was recorded.
    pub journeys: Option<Told>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Time of the last event.
    pub now: Time,
    /// Has everything happened that was asked for? Not where a call stopped before, to be called again.
    pub is_reached: bool,
    /// Is the experiment over?
    pub is_over: bool,
    /// Events handled so far.
    pub events: u64,
    /// Packets with payload that TCP and UDP flows have sent so far; a super-packet counts each of its segments.
    pub data_packets: u64,
}

/// Totals of a run. Times are nanoseconds since the experiment's start.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Seed of all dice.
    pub seed: u64,
    /// What really ran.
    pub duration_ns: u64,
    /// Every flow, in the order of the plan.
    pub flows: Vec<FlowReport>,
    /// Every watched discipline, in the order of the plan.
    pub queues: Vec<QueueReport>,
    /// Devices at which packets died.
    pub drops: Vec<DeviceDrops>,
    /// What the run cost.
    pub cost: Cost,
}

/// A flow's life in numbers, as the agent tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowReport {
    /// Name from the plan.
    pub name: String,
    /// The sender's controller; none for UDP.
    pub cc: Option<String>,
    /// When it was started.
    pub started_ns: Option<u64>,
    /// When the connection stood.
    pub connected_ns: Option<u64>,
    /// When its last byte reached the receiver; for sized flows.
    pub completed_ns: Option<u64>,
    /// When it stopped: asked to, done, failed, or at the end.
    pub stopped_ns: Option<u64>,
    /// In-order bytes at the receiver when it stopped.
    pub bytes_received: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Data segments sent, retransmits included.
    pub data_segs_out: u64,
    /// Time of each answer of a request/response flow.
    pub exchanges_ns: Vec<u64>,
    /// Packets of either direction that died in a queue; a super-packet counts once.
    pub dropped_packets: u64,
    /// Why it failed.
    pub error: Option<String>,
}

/// A discipline's totals, as `tc -s` would show them at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueReport {
    /// Name from the plan.
    pub name: String,
    /// tc's name for it.
    pub kind: &'static str,
    /// Bytes that left.
    pub sent_bytes: u64,
    /// Packets that left.
    pub sent_packets: u64,
    /// Packets that died.
    pub drops: u64,
    /// Packets that were marked; none where it never marks.
    pub marks: Option<u64>,
    /// Times that it held a packet back.
    pub overlimits: u64,
    /// Bytes that stand in it.
    pub backlog_bytes: u64,
    /// Packets that stand in it.
    pub backlog_packets: u32,
}

/// Packets that died at a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceDrops {
    /// Whose device.
    pub host: String,
    /// Its neighbour there.
    pub peer: String,
    /// How many; a super-packet counts once.
    pub packets: u64,
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Events handled.
    pub events: u64,
    /// Packets with payload that TCP and UDP flows have sent; a super-packet counts each of its segments.
    pub data_packets: u64,
    /// Packets of every kind that hosts have sent.
    pub packets: u64,
    /// Most packets alive at one time.
    pub peak_packets: u64,
    /// Bytes held at the end by the world and its tables, plus the most that packets held; reckoned, not measured.
    pub memory_bytes: u64,
}
