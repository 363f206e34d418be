//! Marks on paths that mark early: `ecn_alpha` is the share of marked packets, smoothed as DCTCP's, once a round.
//!
//! Only Google's v3 has it, only where the route says `ecn_low`, and only on round trips of up to 5 ms.

use super::Bbr3;
use super::profile::{Marks, Share};
use crate::cc::model::bandwidth::UNIT;
use crate::cc::{RateSample, Vitals};

/// The share of marked packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ecn {
    is_eligible: bool,
    /// In 1/256; all of it at first, so that a flow that begins in congestion yields quickly.
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

    /// What marks leave of a flight: up to a third less.
    pub(super) fn cut(&self, inflight: u32) -> u32 {
        Share { part: UNIT - self.alpha * FACTOR / UNIT, whole: UNIT }.of(inflight)
    }

    /// Are so many marked of so many too many?
    pub(super) const fn exceeds(&self, marked: u32, delivered: u32) -> bool {
        self.is_eligible && marked > delivered / 2
    }

    /// A round is over; answers the share that was marked in it, in 1/256.
    fn update(&mut self, vitals: &Vitals) -> Option<u32> {
        let delivered = vitals.delivered - self.delivered;
        if delivered == 0 {
            return None;
        }
        let marked = vitals.delivered_ce - self.delivered_ce;
        let ratio = super::narrow(marked * u64::from(UNIT) / delivered);
        self.alpha = (((UNIT - GAIN) * self.alpha) / UNIT + GAIN * ratio / UNIT).min(UNIT);
        (self.delivered, self.delivered_ce) = (vitals.delivered, vitals.delivered_ce);
        Some(ratio)
    }
}

impl Bbr3 {
    /// What this ACK's marks say, before anything else is made of it.
    pub(super) fn hear_marks(&mut self, vitals: &Vitals, sample: &RateSample) {
        match self.profile.marks {
            Marks::Ignored => {}
            Marks::AsLoss => {
                if sample.is_ece && sample.acked_sacked > 0 {
                    self.note_loss(vitals);
                }
            }
            Marks::Low => {
                self.ecn.is_eligible |= self.min_rtt.raw() <= LONGEST_RTT_US;
                if self.rounds.started && self.ecn.is_eligible {
                    self.end_round_of_marks(vitals);
                }
                self.signals.is_mark_in_round |= self.ecn.is_eligible && sample.is_ece;
                self.signals.is_mark_in_cycle |= sample.delivered_ce > 0;
            }
        }
    }

    /// Two rounds with half of their packets marked end Startup.
    fn end_round_of_marks(&mut self, vitals: &Vitals) {
        let Some(ratio) = self.ecn.update(vitals) else { return };
        if self.full_bw.full_bw_reached {
            return;
        }
        self.ecn.startup_rounds = if ratio >= UNIT / 2 { self.ecn.startup_rounds + 1 } else { 0 };
        if self.ecn.startup_rounds >= FULL_ROUNDS {
            self.end_startup_by_loss(vitals);
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
const LONGEST_RTT_US: u32 = 5_000;
