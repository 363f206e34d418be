//! Results besides the tables: totals of flows and queues, and the cost of the run.

use crate::packet_trace::TraceResult;
use dumbbell_net::time::Time;
use dumbbell_table::Table;
use serde::Serialize;

/// Result of a run.
#[derive(Debug)]
pub struct RunResult {
    /// One row per sample and flow.
    pub flows: Table,
    /// One row per sample and queue.
    pub queues: Table,
    /// One row per probe.
    pub probes: Table,
    /// Totals.
    pub report: Report,
    /// The capture, if the plan has one and no writer was given.
    pub capture: Option<Vec<u8>>,
    /// Packet trace, if recorded.
    pub packet_trace: Option<TraceResult>,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Time of the last event.
    pub now: Time,
    /// Whether all events up to the requested time have run. False if the call returned early and must be repeated.
    pub is_reached: bool,
    /// Whether the experiment is over.
    pub is_over: bool,
    /// Events processed.
    pub events: u64,
    /// Data packets sent by TCP and UDP flows; a super-packet counts each of its segments.
    pub data_packets: u64,
}

/// Totals of a run. Times are nanoseconds since the start of the experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Seed of all random streams.
    pub seed: u64,
    /// Actual duration.
    pub duration_ns: u64,
    /// Flows in the order of the plan.
    pub flows: Vec<FlowReport>,
    /// Watched qdiscs in the order of the plan.
    pub queues: Vec<QueueReport>,
    /// Devices that dropped packets.
    pub drops: Vec<DeviceDrops>,
    /// Cost of the run.
    pub cost: Cost,
}

/// Totals of a flow, in the agent's format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowReport {
    /// Name from the plan.
    pub name: String,
    /// Congestion control of the sender; None for UDP.
    pub cc: Option<String>,
    /// Start time.
    pub started_ns: Option<u64>,
    /// Time at which the connection was established.
    pub connected_ns: Option<u64>,
    /// Time at which the last byte reached the receiver; for sized flows.
    pub completed_ns: Option<u64>,
    /// Stop time: as planned, on completion, on failure, or at the end.
    pub stopped_ns: Option<u64>,
    /// In-order bytes at the receiver when it stopped.
    pub bytes_received: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Data segments sent, retransmits included.
    pub data_segs_out: u64,
    /// Completion times of the exchanges of a request/response flow.
    pub exchanges_ns: Vec<u64>,
    /// Packets dropped by queues, both directions; a super-packet counts once.
    pub dropped_packets: u64,
    /// Error that ended the flow.
    pub error: Option<String>,
}

/// Totals of a qdisc, as `tc -s` would show at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueReport {
    /// Name from the plan.
    pub name: String,
    /// Name in tc.
    pub kind: &'static str,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked; None if this kind never marks.
    pub marks: Option<u64>,
    /// Times that it held a packet back.
    pub overlimits: u64,
    /// Bytes in the backlog.
    pub backlog_bytes: u64,
    /// Packets in the backlog.
    pub backlog_packets: u32,
}

/// Drops at a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceDrops {
    /// Its host.
    pub host: String,
    /// The host at the other end.
    pub peer: String,
    /// Packets; a super-packet counts once.
    pub packets: u64,
}

/// Cost of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Events processed.
    pub events: u64,
    /// Data packets sent by TCP and UDP flows; a super-packet counts each of its segments.
    pub data_packets: u64,
    /// Packets of every kind sent by hosts.
    pub packets: u64,
    /// Maximum packets in flight.
    pub peak_packets: u64,
    /// Memory of the world and its tables at the end plus the peak of packets, in bytes; computed, not measured.
    pub memory_bytes: u64,
}
