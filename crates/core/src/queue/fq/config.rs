//! What an experiment may say of a fq, in numbers; what they do is its own file's affair.

use crate::rate::Rate;
use crate::time::Span;
use serde::Deserialize;

/// fq, as the kernel gets it from tc.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqConfig {
    /// Most packets, without those on the fast path.
    pub limit: u32,
    /// Most packets of one flow.
    pub flow_limit: u32,
    /// Deficit round robin's share.
    pub quantum: u32,
    /// What a flow begins with.
    pub initial_quantum: u32,
    /// Does it pace, and do the sockets of its host leave pacing to it?
    pub pacing: bool,
    /// Most that one flow may have.
    #[serde(default)]
    pub max_rate: Option<Rate>,
    /// How long a flow must have been empty to get a new quantum.
    pub refill_delay: Span,
    /// Flows of others that are slower than this are spaced packet by packet.
    pub low_rate_threshold: Rate,
    /// Flows without a socket are told apart by so many bits of their hash.
    pub orphan_mask: u32,
    /// Mark what leaves later than this after it might have.
    #[serde(default)]
    pub ce_threshold: Option<Span>,
    /// How late its timer may ring.
    pub timer_slack: Span,
    /// How far ahead a departure time may lie.
    pub horizon: Span,
    /// Does a packet beyond the horizon die, or is it sent at the horizon?
    pub horizon_drop: bool,
}
