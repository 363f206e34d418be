//! Settings of dualpi2, as numbers.

use crate::time::Span;
use serde::Serialize;

/// dualpi2 (RFC 9332) as the kernel gets it from tc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that tc has")]
pub struct DualPi2Config {
    /// Maximum packets in both queues.
    pub limit: u32,
    /// Memory limit of both queues in bytes.
    pub memory_limit: u64,
    /// Target delay of the classic queue.
    pub target: Span,
    /// Time between updates of the probability.
    pub tupdate: Span,
    /// alpha: weight of the delay's distance from the target, in 1/256 Hz.
    pub alpha: u32,
    /// beta: weight of the delay's change, in 1/256 Hz.
    pub beta: u32,
    /// Threshold above which every packet of the low-latency queue is marked.
    pub step: StepThreshold,
    /// Minimum packets in the low-latency queue for the step to apply.
    pub min_qlen_step: u32,
    /// Coupling factor k: scalable packets are marked with k times the base probability.
    pub coupling: u8,
    /// Minimum share of the link for the classic queue, in percent.
    pub classic_protection: u8,
    /// Drop on overload; otherwise the queue grows to its limit.
    pub drop_on_overload: bool,
    /// Drop and mark on enqueue instead of dequeue.
    pub drop_enqueue: bool,
    /// Also put ECT(0) into the low-latency queue.
    pub any_ect: bool,
    /// Split super-packets.
    pub split_gso: bool,
    /// MTU of the device including the Ethernet header: no drops or marks below twice this backlog.
    pub mtu: u32,
}

/// Step threshold of the low-latency queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepThreshold {
    /// Sojourn time.
    Time(Span),
    /// Packets left in the queue.
    Packets(u32),
}
