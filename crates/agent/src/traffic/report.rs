//! A flow's summary at the end; `dumbbell.engines.run_manifest` reads it.

use serde::Serialize;

/// Summary of a flow. Times are nanoseconds since the experiment's start.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Name in the plan.
    pub name: String,
    /// Congestion control that the socket reported at the end.
    pub cc: Option<String>,
    /// When it started.
    pub started_ns: Option<u64>,
    /// When the connection was established.
    pub connected_ns: Option<u64>,
    /// When the receiver got the last byte, for sized flows.
    pub completed_ns: Option<u64>,
    /// When it stopped: by the plan, when done, on failure, or at the end.
    pub stopped_ns: Option<u64>,
    /// Bytes received in order.
    pub bytes_received: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Data segments sent, retransmissions included.
    pub data_segs_out: u64,
    /// Response time of each exchange of a request/response flow.
    pub exchanges_ns: Vec<u64>,
    /// Why it failed.
    pub error: Option<String>,
}
