//! ECN on paths with early marking: `ecn_alpha` is the share of marked packets, smoothed once per round as in DCTCP.
//!
//! Only in Google's v3, only if the route has `ecn_low`, and only on round trips of up to 5 ms.

use super::Bbr3;
use super::profile::{Marks, Share};
use crate::cc::model::bandwidth::UNIT;
use crate::cc::{CcState, RateSample, SenderState};

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
        let ratio = super::narrow(marked * u64::from(UNIT) / delivered);
        self.alpha = (((UNIT - GAIN) * self.alpha) / UNIT + GAIN * ratio / UNIT).min(UNIT);
        (self.delivered, self.delivered_ce) = (tp.delivered, tp.delivered_ce);
        Some(ratio)
    }
}

impl Bbr3 {
    /// Processes this ACK's marks, before the rest of the ACK.
    pub(super) fn update_ecn_marks(&mut self, tp: &SenderState, cc: &CcState, sample: &RateSample) {
        match self.profile.marks {
            Marks::Ignored => {}
            Marks::AsLoss => {
                if sample.is_ece && sample.acked_sacked > 0 {
                    self.record_loss(tp);
                }
            }
            Marks::Low => {
                self.ecn.is_eligible |= self.min_rtt.raw() <= MAX_RTT_US;
                if self.rounds.started && self.ecn.is_eligible {
                    self.end_round_of_marks(tp, cc);
                }
                self.signals.is_mark_in_round |= self.ecn.is_eligible && sample.is_ece;
                self.signals.is_mark_in_cycle |= sample.delivered_ce > 0;
            }
        }
    }

    /// Two rounds with half of their packets marked end Startup.
    fn end_round_of_marks(&mut self, tp: &SenderState, cc: &CcState) {
        let Some(ratio) = self.ecn.update(tp) else { return };
        if self.full_bw.full_bw_reached {
            return;
        }
        self.ecn.startup_rounds = if ratio >= UNIT / 2 { self.ecn.startup_rounds + 1 } else { 0 };
        if self.ecn.startup_rounds >= FULL_ROUNDS {
            self.end_startup_by_loss(tp, cc);
        }
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
