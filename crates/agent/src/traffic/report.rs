//! What is told of a flow at the end; `dumbbell.engine.decode` reads it.

use serde::Serialize;

/// A flow's life in numbers. Times are nanoseconds since the experiment's start.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Name from the plan.
    pub name: String,
    /// The controller that the socket named at the end.
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
    /// Why it failed.
    pub error: Option<String>,
}
