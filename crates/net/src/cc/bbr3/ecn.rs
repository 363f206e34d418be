//! ECN on paths with early marking: `ecn_alpha` is the share of marked packets, smoothed once per round as in DCTCP.
//!
//! Google's v3 has it, if the route has `ecn_low`, on round trips of up to 5 ms; the draft's version may use it too.

use super::Bbr3;
use super::tuning::Share;
use super::version::Version;
use crate::cc::model::bandwidth::UNIT;
use crate::cc::{CcState, RateSample, SenderState};
use crate::number::narrow;

/// The share of marked packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ecn {
    is_eligible: bool,
    /// In 1/256. Starts at 1, so that a flow that starts in congestion yields quickly.
    alpha: u32,
    delivered: u64,
    delivered_ce: u64,
    startup_rounds: u32,
}

impl Default for Ecn {
    fn default() -> Self {
        Self { is_eligible: false, alpha: UNIT, delivered: 0, delivered_ce: 0, startup_rounds: 0 }
    }
}

impl Ecn {
    pub(super) const fn is_eligible(&self) -> bool {
        self.is_eligible
    }

    /// The in-flight limit after marks: up to a third less.
    pub(super) fn cut(&self, inflight: u32) -> u32 {
        Share { numerator: UNIT - self.alpha * FACTOR / UNIT, denominator: UNIT }.of(inflight)
    }

    /// Does the share of marked packets exceed the threshold?
    pub(super) const fn exceeds(&self, marked: u32, delivered: u32) -> bool {
        self.is_eligible && marked > delivered / 2
    }

    /// Updates alpha at the end of a round; returns the round's share of marked packets in 1/256.
    fn update(&mut self, tp: &SenderState) -> Option<u32> {
        let delivered = tp.delivered - self.delivered;
        if delivered == 0 {
            return None;
        }
        let marked = tp.delivered_ce - self.delivered_ce;
        let ratio = narrow(marked * u64::from(UNIT) / delivered);
        self.alpha = (((UNIT - GAIN) * self.alpha) / UNIT + GAIN * ratio / UNIT).min(UNIT);
        (self.delivered, self.delivered_ce) = (tp.delivered, tp.delivered_ce);
        Some(ratio)
    }

    /// A round ends: updates alpha. In Startup, returns whether two rounds had half of their packets marked.
    fn ends_startup(&mut self, tp: &SenderState, in_startup: bool) -> bool {
        let Some(ratio) = self.update(tp) else { return false };
        if !in_startup {
            return false;
        }
        self.startup_rounds = if ratio >= UNIT / 2 { self.startup_rounds + 1 } else { 0 };
        self.startup_rounds >= FULL_ROUNDS
    }
}

impl<V: Version> Bbr3<V> {
    /// Processes this ACK's marks, before the rest of the ACK.
    pub(super) fn update_ecn_marks(&mut self, tp: &SenderState, cc: &CcState, sample: &RateSample) {
        if self.marks_are_losses() && sample.is_ece && sample.acked_sacked > 0 {
            self.record_loss(tp);
        }
        let Some(ecn) = &mut self.ecn else { return };
        ecn.is_eligible |= self.min_rtt.raw() <= MAX_RTT_US;
        self.signals.is_mark_in_round |= ecn.is_eligible && sample.is_ece;
        self.signals.is_mark_in_cycle |= sample.delivered_ce > 0;
        let is_round = self.rounds.started && ecn.is_eligible;
        if is_round && ecn.ends_startup(tp, !self.full_bw.full_bw_reached) {
            self.end_startup_by_loss(tp, cc);
        }
    }

    /// Does a marked packet count as a lost one?
    pub(super) const fn marks_are_losses(&self) -> bool {
        V::MARKS_ARE_LOSSES && self.ecn.is_none()
    }
}

/// `bbr_ecn_alpha_gain`, a sixteenth.
const GAIN: u32 = UNIT / 16;
/// `bbr_ecn_factor`, a third.
const FACTOR: u32 = UNIT / 3;
/// `bbr_full_ecn_cnt`.
const FULL_ROUNDS: u32 = 2;
/// `bbr_ecn_max_rtt_us`.
const MAX_RTT_US: u32 = 5_000;
