//! Independence of the round trip: flows below the target grow as slowly as one at the target (draft section 2.4.4).
//!
//! A flow becomes so after some hundred round trips; a short one never does.

use super::{ONE, micros};
use crate::cc::{Parameters, Vitals};
use crate::time::{Span, Time};

/// How growth depends on the round trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scaling {
    rule: Rule,
    /// The round trip that shorter ones are treated as, in units of 128 µs.
    target: u64,
    /// Rounds after slow start until it counts.
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
    /// The same rate at every round trip up to the target.
    Rate,
    /// Somewhat faster on very short ones, so that there is a mark at least each eight round trips.
    Scalable,
    /// As if the target came on top of the round trip.
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

    /// Does it count now (`prague_is_rtt_indep`)?
    pub fn is_independent(&self, vitals: &Vitals) -> bool {
        self.rule != Rule::None && !vitals.in_slow_start() && self.rounds >= self.transition
    }

    /// The round trip that it behaves as.
    pub fn target(&self, vitals: &Vitals) -> Span {
        let added = if self.rule == Rule::Additive { round_trip(vitals) } else { 0 };
        micros((self.target + added) << UNIT_SHIFT)
    }

    /// May alpha be updated again, as it was at `before`?
    pub fn is_due(&self, vitals: &Vitals, before: Time) -> bool {
        !self.is_independent(vitals) || self.target(vitals) <= vitals.now.since(before)
    }

    /// A round is over.
    pub fn count_round(&mut self, vitals: &Vitals) {
        if !vitals.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    /// The window or the round trip changed (`prague_ai_ack_increase`).
    pub fn refresh(&mut self, vitals: &Vitals) {
        let rtt = round_trip(vitals);
        let counts = self.rounds >= self.transition && rtt > 0;
        self.increase = match self.rule {
            Rule::Rate | Rule::Additive if counts => self.at_rate(rtt, vitals),
            Rule::Scalable if counts => scalable(rtt),
            _ => ONE,
        };
    }

    /// A packet each target's time: the square of how much shorter the round trip is.
    fn at_rate(&self, rtt: u64, vitals: &Vitals) -> u64 {
        let target = self.target + if self.rule == Rule::Additive { round_trip(vitals) } else { 0 };
        if rtt >= target { ONE } else { (ONE * rtt * rtt + target * target / 2) / (target * target) }
    }
}

/// `prague_scalable_ai_ack_increase`: an eighth at least, whole from 16 ms above 1.5 ms on.
fn scalable(rtt: u64) -> u64 {
    let (whole, least) = ((1 << 14) >> UNIT_SHIFT, ((1 << 10) + (1 << 9)) >> UNIT_SHIFT);
    let share = (ONE >> 3) * whole + ONE * rtt.saturating_sub(least).min(whole);
    (share * rtt + whole * whole / 2) / (whole * whole)
}

/// The smoothed one, in units of 128 µs, 12.8 s at most.
fn round_trip(vitals: &Vitals) -> u64 {
    u64::from(vitals.srtt_us8 >> 3 >> UNIT_SHIFT).min(LONGEST)
}

/// Round trips are counted in 128 µs (`RTT_UNIT`).
const UNIT_SHIFT: u32 = 7;
/// `MAX_SCALED_RTT`, which L4STeam compares with these units.
const LONGEST: u64 = 100_000;
const DEFAULT_TARGET_US: u64 = 25_000;
const DEFAULT_TRANSITION: u32 = 500;
