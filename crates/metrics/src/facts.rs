//! What the manifest says about a run.

use serde::Deserialize;

/// From and to, in nanoseconds since the experiment's start; both inclusive.
pub type Window = (i64, i64);

/// What the manifest says about a run.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Facts {
    /// Length of the run.
    pub duration_ns: i64,
    /// Flows in order, with distinct names.
    pub flows: Vec<Flow>,
    /// The queue under test.
    pub queue: Option<Queue>,
    /// All queues, the one under test too.
    #[serde(default)]
    pub queues: Vec<Queue>,
    /// Whether the queue under test holds super-packets: Linux counts a dropped one as one packet and a sent one as its
    /// segments (net/sched: `qdisc_qstats_drop`, `bstats_update`).
    pub holds_super_packets: bool,
    /// Whether the tables come from logs, which may lack columns and samples.
    pub is_import: bool,
}

/// A flow.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Flow {
    /// Name.
    pub name: String,
    /// Group.
    pub group: String,
    /// Congestion control; None for UDP.
    pub cc: Option<String>,
    /// Whether it is UDP.
    pub is_udp: bool,
    /// Whether its program pauses: requests and responses, or on and off.
    pub is_intermittent: bool,
    /// When it started. A flow that never did starts and stops at the run's end.
    pub start_ns: i64,
    /// When it stopped; None: at the end.
    pub stop_ns: Option<i64>,
    /// Its size, if it has one.
    pub bytes_asked: Option<u64>,
    /// Bytes that the receiver got in order.
    pub bytes_received: Option<u64>,
    /// Retransmitted segments.
    pub retransmits: Option<u64>,
    /// Data segments sent, retransmissions included.
    pub data_segs_out: Option<u64>,
    /// Completion time in seconds.
    pub fct_s: Option<f64>,
    /// Time of a QUIC connection's handshake in seconds.
    #[serde(default)]
    pub handshake_s: Option<f64>,
    /// Time of each exchange in seconds, for a flow of requests.
    pub exchanges_s: Option<Vec<f64>>,
}

impl Flow {
    /// Whether it sends as much as it can during its lifetime: TCP without a size or pauses.
    #[must_use]
    pub fn is_bulk(&self) -> bool {
        !self.is_udp && !self.is_intermittent && self.bytes_asked.is_none()
    }

    /// Whether it ends by itself.
    #[must_use]
    pub fn is_sized(&self) -> bool {
        self.bytes_asked.is_some() || self.fct_s.is_some()
    }
}

/// A queue.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Queue {
    /// Name.
    pub name: String,
    /// Its discipline and options, as tc writes them.
    #[serde(default)]
    pub qdisc: String,
    /// Whether it is under test.
    #[serde(default)]
    pub is_under_test: bool,
    /// Its rate over time: (seconds, bits per second); None: unknown.
    pub rates: Vec<(f64, Option<f64>)>,
    /// Dropped packets.
    pub drops: Option<u64>,
    /// Marked packets; None if it never marks.
    pub marks: Option<u64>,
    /// Bytes sent, with link headers.
    pub sent_bytes: Option<u64>,
    /// Packets sent.
    pub sent_packets: Option<u64>,
}
