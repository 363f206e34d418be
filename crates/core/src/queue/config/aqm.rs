//! Settings of pie, `fq_pie`, choke and sfq, as numbers.

use super::RedConfig;
use crate::time::Span;
use serde::Serialize;

/// pie (RFC 8033).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PieConfig {
    /// Maximum packets.
    pub limit: u32,
    /// Target delay.
    pub target: Span,
    /// Jiffies between updates of the probability; the timer wheel adds one.
    pub tupdate: u32,
    /// alpha: weight of the delay's distance from the target, in sixteenths.
    pub alpha: u32,
    /// beta: weight of the delay's change, in sixteenths.
    pub beta: u32,
    /// Mark instead of dropping while the probability is low.
    pub ecn: bool,
    /// Drop small packets less often.
    pub bytemode: bool,
    /// Estimate the delay from the departure rate instead of sojourn time.
    pub dq_rate_estimator: bool,
    /// MTU of the device including the Ethernet header: no drops below twice this backlog.
    pub mtu: u32,
}

/// `fq_pie`: one pie per flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FqPieConfig {
    /// Maximum packets in all queues.
    pub limit: u32,
    /// Number of queues.
    pub flows: u32,
    /// Quantum in bytes.
    pub quantum: u32,
    /// Percentage of probability up to which packets are marked instead of dropped.
    pub ecn_prob: u32,
    /// pie settings of each flow; `limit` is unused.
    pub pie: PieConfig,
}

/// choke: red that also compares each arrival with a queued packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChokeConfig {
    /// Maximum packets.
    pub limit: u32,
    /// red's settings with thresholds in packets; `limit`, `nodrop`, `adaptive` and `inner` are unused.
    pub red: RedConfig,
}

/// sfq: stochastic fairness queueing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SfqConfig {
    /// Maximum packets in all queues.
    pub limit: u32,
    /// Maximum packets per queue.
    pub depth: u32,
    /// Maximum number of active queues.
    pub flows: u32,
    /// Number of hash buckets.
    pub divisor: u32,
    /// Quantum in bytes.
    pub quantum: u32,
    /// Seconds between changes of the hash; 0 is never.
    pub perturb: u32,
    /// A full queue drops its oldest packet instead of the arriving one.
    pub headdrop: bool,
    /// red per queue with thresholds in bytes; `limit`, `idle_damping`, `nodrop`, `adaptive` and `inner` are unused.
    pub red: Option<RedConfig>,
}
