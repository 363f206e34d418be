//! RTT independence: flows below the target round-trip time grow as slowly as one at the target (draft section 2.4.4).
//!
//! It starts after some hundred round trips; a short flow never reaches it.

use super::{ONE, micros};
use crate::cc::{CcState, Parameters, SenderState};
use crate::time::{Span, Time};

/// How growth depends on the round-trip time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scaling {
    rule: Rule,
    /// The target round-trip time, in units of 128 µs.
    target: u64,
    /// Rounds after slow start until scaling applies.
    transition: u32,
    /// Rounds since slow start.
    rounds: u32,
    /// Growth per unmarked packet and window, in 2⁻²⁰ packets.
    pub increase: u64,
}

/// L4STeam's `prague_rtt_scaling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Growth as in DCTCP.
    None,
    /// The same rate at every round-trip time up to the target.
    Rate,
    /// Somewhat faster on very short ones, so that there is at least one mark per eight round trips.
    Scalable,
    /// As if the target were added to the round-trip time.
    Additive,
}

impl Scaling {
    pub fn new(parameters: &mut Parameters) -> Self {
        let target = parameters.take("prague_rtt_target", DEFAULT_TARGET_US, 0..=1_000_000);
        let transition = parameters.take("prague_rtt_transition", DEFAULT_TRANSITION, 0..=u32::MAX);
        let rule = match parameters.take("prague_rtt_scaling", 1_u32, 0..=3) {
            0 => Rule::None,
            2 => Rule::Scalable,
            3 => Rule::Additive,
            _ => Rule::Rate,
        };
        let target = target >> UNIT_SHIFT;
        let rule = if target == 0 { Rule::None } else { rule };
        Self { rule, target, transition, rounds: 0, increase: ONE }
    }

    /// Does scaling apply now (`prague_is_rtt_indep`)?
    pub fn is_independent(&self, cc: &CcState) -> bool {
        self.rule != Rule::None && !cc.in_slow_start() && self.rounds >= self.transition
    }

    /// The effective round-trip time.
    pub fn target(&self, tp: &SenderState) -> Span {
        let added = if self.rule == Rule::Additive { round_trip(tp) } else { 0 };
        micros((self.target + added) << UNIT_SHIFT)
    }

    /// May alpha be updated, after an update at `before`?
    pub fn may_update(&self, tp: &SenderState, cc: &CcState, before: Time) -> bool {
        !self.is_independent(cc) || self.target(tp) <= tp.now.since(before)
    }

    /// Counts a round.
    pub fn count_round(&mut self, cc: &CcState) {
        if !cc.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    /// Recomputes the increase for a new window or round-trip time (`prague_ai_ack_increase`).
    pub fn refresh(&mut self, tp: &SenderState) {
        let rtt = round_trip(tp);
        let counts = self.rounds >= self.transition && rtt > 0;
        self.increase = match self.rule {
            Rule::Rate | Rule::Additive if counts => self.at_rate(rtt, tp),
            Rule::Scalable if counts => scalable(rtt),
            _ => ONE,
        };
    }

    /// One packet per target time: the square of the ratio of the round-trip times.
    fn at_rate(&self, rtt: u64, tp: &SenderState) -> u64 {
        let target = self.target + if self.rule == Rule::Additive { round_trip(tp) } else { 0 };
        if rtt >= target { ONE } else { (ONE * rtt * rtt + target * target / 2) / (target * target) }
    }
}

/// `prague_scalable_ai_ack_increase`: at least an eighth, and 1 from 16 ms above 1.5 ms on.
fn scalable(rtt: u64) -> u64 {
    let (scale, minimum) = ((1 << 14) >> UNIT_SHIFT, ((1 << 10) + (1 << 9)) >> UNIT_SHIFT);
    let share = (ONE >> 3) * scale + ONE * rtt.saturating_sub(minimum).min(scale);
    (share * rtt + scale * scale / 2) / (scale * scale)
}

/// The smoothed round-trip time in units of 128 µs, at most 12.8 s.
fn round_trip(tp: &SenderState) -> u64 {
    u64::from(tp.srtt_us8 >> 3 >> UNIT_SHIFT).min(MAX_RTT)
}

/// Round-trip times are in units of 128 µs (`RTT_UNIT`).
const UNIT_SHIFT: u32 = 7;
/// `MAX_SCALED_RTT`, which L4STeam compares with these units.
const MAX_RTT: u64 = 100_000;
const DEFAULT_TARGET_US: u64 = 25_000;
const DEFAULT_TRANSITION: u32 = 500;
