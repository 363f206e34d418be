//! What pie, `fq_pie`, choke and sfq are told, in numbers.

use super::RedConfig;
use crate::time::Span;
use serde::Deserialize;

/// pie (RFC 8033).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PieConfig {
    /// Most packets.
    pub limit: u32,
    /// Delay that is wanted.
    pub target: Span,
    /// Jiffies after which the probability is reckoned anew; the timer's wheel adds one.
    pub tupdate: u32,
    /// Weight of the delay's distance from the target, in sixteenths.
    pub alpha: u32,
    /// Weight of the delay's change, in sixteenths.
    pub beta: u32,
    /// Mark instead of dropping while the probability is low.
    pub ecn: bool,
    /// Small packets are hit less often.
    pub bytemode: bool,
    /// Take the delay from the rate at which packets leave, not from the time that they stood.
    pub dq_rate_estimator: bool,
    /// The device's MTU with its header: less than twice this much backlog is never dropped from.
    pub mtu: u32,
}

/// `fq_pie`: a pie a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqPieConfig {
    /// Most packets in all queues.
    pub limit: u32,
    /// Queues.
    pub flows: u32,
    /// Deficit round robin's share.
    pub quantum: u32,
    /// Per cent of probability up to which packets are marked instead of dropped.
    pub ecn_prob: u32,
    /// What each flow's pie does; its `limit` is not used.
    pub pie: PieConfig,
}

/// choke: red that also compares each arrival with a packet that stands.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChokeConfig {
    /// Most packets.
    pub limit: u32,
    /// red's numbers with thresholds in packets; its `limit`, `nodrop`, `adaptive` and `inner` are not used.
    pub red: RedConfig,
}

/// sfq: stochastic fairness queueing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SfqConfig {
    /// Most packets in all queues.
    pub limit: u32,
    /// Most packets in one queue.
    pub depth: u32,
    /// Queues that there may be at once.
    pub flows: u32,
    /// Values of the hash.
    pub divisor: u32,
    /// Bytes that a queue may send in its turn.
    pub quantum: u32,
    /// Seconds after which the hash is another one; 0 is never.
    #[serde(default)]
    pub perturb: u32,
    /// A full queue loses its oldest packet, not the one that comes.
    #[serde(default)]
    pub headdrop: bool,
    /// red in each queue: thresholds in bytes; its `limit`, `idle_damping`, `nodrop`, `adaptive` and `inner` are not used.
    #[serde(default)]
    pub red: Option<RedConfig>,
}
