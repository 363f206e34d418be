//! Settings of fq, as numbers.

use crate::rate::Rate;
use crate::time::Span;
use serde::Serialize;

/// Settings of fq as tc passes them to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FqConfig {
    /// Maximum packets, the fast path not counted.
    pub limit: u32,
    /// Maximum packets per flow.
    pub flow_limit: u32,
    /// Quantum in bytes.
    pub quantum: u32,
    /// Initial quantum of a flow.
    pub initial_quantum: u32,
    /// Whether fq paces (and sockets of the host leave pacing to it).
    pub pacing: bool,
    /// Maximum rate per flow.
    pub max_rate: Option<Rate>,
    /// Idle time after which a flow gets a new initial quantum.
    pub refill_delay: Span,
    /// Forwarded flows below this rate are paced packet by packet.
    pub low_rate_threshold: Rate,
    /// Mask of the hash for packets without a socket.
    pub orphan_mask: u32,
    /// Mark packets that leave later than this after their departure time.
    pub ce_threshold: Option<Span>,
    /// Timer slack.
    pub timer_slack: Span,
    /// How far in the future a departure time may be.
    pub horizon: Span,
    /// Drop packets beyond the horizon; otherwise send them at the horizon.
    pub horizon_drop: bool,
}
