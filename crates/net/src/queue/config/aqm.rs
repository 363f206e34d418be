//! Settings of pie, `fq_pie`, choke, sfq, gred, hhf and sfb, as numbers.

use super::{RedConfig, Rule};
use crate::time::Span;
use alloc::vec::Vec;
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

/// gred: virtual queues with a red each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GredConfig {
    /// Maximum bytes in all virtual queues.
    pub limit: u32,
    /// Number of the virtual queue of packets whose own has no settings.
    pub default: u32,
    /// Virtual queues with settings.
    pub queues: Vec<GredQueue>,
}

/// A virtual queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GredQueue {
    /// Its number.
    pub number: u32,
    /// Its priority for `grio`.
    pub prio: u8,
    /// Its red; `nodrop`, `adaptive` and `inner` are unused.
    pub red: RedConfig,
}

/// hhf: the heavy-hitter filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HhfConfig {
    /// Maximum packets.
    pub limit: u32,
    /// Quantum of heavy hitters in bytes.
    pub quantum: u32,
    /// Maximum number of heavy hitters; further ones are treated as other flows.
    pub hh_limit: u32,
    /// Jiffies between resets of the counters.
    pub reset_timeout: u64,
    /// Bytes between resets from which on a flow is a heavy hitter.
    pub admit_bytes: u32,
    /// Jiffies of silence after which it is no longer one.
    pub evict_timeout: u64,
    /// Quantum of the other flows, as a multiple of that of heavy hitters.
    pub non_hh_weight: u32,
}

/// sfb: stochastic fair blue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SfbConfig {
    /// Maximum packets in all bins.
    pub limit: u32,
    /// A packet is dropped if all its bins hold this many packets.
    pub max: u32,
    /// Packets of a bin from which on its probability grows.
    pub target: u32,
    /// Growth of a probability, in units of 1/65535.
    pub increment: u32,
    /// Decrease of a probability, in units of 1/65535.
    pub decrement: u32,
    /// Jiffies between changes of the hash; 0 is never.
    pub rehash: u64,
    /// Jiffies before such a change from which on inelastic flows count in the next bins, too; 0 is never.
    pub warmup: u64,
    /// Packets per second of all inelastic flows.
    pub penalty_rate: u32,
    /// Packets of inelastic flows that may pass at once.
    pub penalty_burst: u32,
    /// Filters in order of precedence; with any, a packet's class replaces its flow.
    pub rules: Vec<Rule>,
}
