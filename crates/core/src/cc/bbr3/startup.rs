//! Startup: double the rate each round trip, until the bandwidth grows no more or a round loses too much.

use super::Bbr3;
use super::phase::Phase;
use super::profile::{Marks, Words};
use crate::cc::{CaState, RateSample, Vitals};

impl Bbr3 {
    /// A round of recovery with many losses, more than the share that is tolerated, ends Startup
    /// (`CheckStartupHighLoss`). Linux counts ACKs that tell of losses, the draft gaps.
    pub(super) fn check_startup_loss(&mut self, vitals: &Vitals, sample: &RateSample) {
        if self.full_bw.full_bw_reached {
            return;
        }
        let by_mark = self.profile.marks == Marks::AsLoss && sample.is_ece;
        let counts = by_mark || (self.profile.words == Words::Linux && sample.losses > 0);
        self.signals.loss_events = self.signals.loss_events.saturating_add(u32::from(counts)).min(MOST_EVENTS);
        if !self.signals.loss_round_start {
            return;
        }
        let is_heard = vitals.state == CaState::Recovery || by_mark;
        let fewest = self.profile.full_loss_count;
        let are_many = fewest > 0 && self.signals.loss_events >= fewest;
        if is_heard && are_many && self.is_inflight_too_high(sample) {
            self.undo.note(Phase::Startup);
            self.end_startup_by_loss(vitals);
            return;
        }
        self.signals.loss_events = 0;
    }

    /// The pipe is full; what it held is known, too.
    pub(super) fn end_startup_by_loss(&mut self, vitals: &Vitals) {
        let mut inflight = match self.profile.words {
            Words::Draft => self.bdp_multiple(self.bw(), super::UNIT),
            Words::Linux => self.inflight(vitals, self.max_bw.best(), super::UNIT),
        };
        if self.profile.trusts_latest {
            inflight = inflight.max(self.signals.inflight_latest);
        }
        self.full_bw.reach();
        self.long_term.inflight_longterm = inflight;
    }

    /// `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, vitals: &mut Vitals) {
        if self.phase == Phase::Startup && self.full_bw.full_bw_reached {
            self.enter_drain(vitals);
        }
    }
}

/// Linux counts in four bits.
const MOST_EVENTS: u32 = 15;
