//! What dualpi2 is told, in numbers.

use crate::time::Span;
use serde::Deserialize;

/// dualpi2 (RFC 9332), as the kernel gets it from tc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that tc has")]
pub struct DualPi2Config {
    /// Most packets in both queues.
    pub limit: u32,
    /// Most memory of both queues, in bytes.
    pub memory_limit: u64,
    /// Delay of the classic queue that is wanted.
    pub target: Span,
    /// Time after which the probability is reckoned anew.
    pub tupdate: Span,
    /// Weight of the delay's distance from the target, in 1/256 Hz.
    pub alpha: u32,
    /// Weight of the delay's change, in 1/256 Hz.
    pub beta: u32,
    /// Where all of the low-latency queue is marked.
    pub step: StepThreshold,
    /// Packets that must stand in the low-latency queue for the step to be applied.
    pub min_qlen_step: u32,
    /// How many times more often a scalable packet is marked than the base probability says (k).
    pub coupling: u8,
    /// Per cent of the link that the classic queue gets at least.
    pub classic_protection: u8,
    /// When marks can't say more, drop; otherwise let the queue grow to its limit.
    pub drop_on_overload: bool,
    /// Drop and mark what comes, not what leaves.
    pub drop_enqueue: bool,
    /// ECT(0) goes into the low-latency queue too.
    pub any_ect: bool,
    /// Cut super-packets.
    pub split_gso: bool,
    /// The device's MTU with its header: less than twice this much backlog is neither marked nor dropped from.
    pub mtu: u32,
}

/// A threshold of the low-latency queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepThreshold {
    /// Packets that stood longer.
    Time(Span),
    /// Packets that leave more than so many behind.
    Packets(u32),
}
