//! Startup: double the rate each round trip, until the bandwidth stops growing or a round loses too much.

use super::Bbr3;
use super::phase::Phase;
use super::version::Version;
use crate::cc::{CaState, CcState, RateSample, SenderState};

impl<V: Version> Bbr3<V> {
    /// Ends Startup after a round of recovery with many losses and a loss rate above the threshold
    /// (`CheckStartupHighLoss`).
    pub(super) fn check_startup_loss(&mut self, tp: &SenderState, cc: &CcState, sample: &RateSample) {
        if self.full_bw.full_bw_reached {
            return;
        }
        let by_mark = self.marks_are_losses() && sample.is_ece;
        let counts = by_mark || (!V::STARTUP_COUNTS_GAPS && sample.losses > 0);
        self.signals.loss_events = self.signals.loss_events.saturating_add(u32::from(counts)).min(MAX_EVENTS);
        if !self.signals.loss_round_start {
            return;
        }
        let is_reported = tp.state == CaState::Recovery || by_mark;
        let fewest = self.tuning.full_loss_count;
        let are_many = fewest > 0 && self.signals.loss_events >= fewest;
        if is_reported && are_many && self.is_inflight_too_high(sample) {
            self.undo.note(Phase::Startup);
            self.end_startup_by_loss(tp, cc);
            return;
        }
        self.signals.loss_events = 0;
    }

    /// Loss ended Startup: marks the pipe as full and sets the long-term bound.
    pub(super) fn end_startup_by_loss(&mut self, tp: &SenderState, cc: &CcState) {
        self.full_bw.reach();
        self.long_term.inflight_longterm = V::inflight_after_startup(self, tp, cc);
    }

    /// `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, tp: &SenderState, cc: &mut CcState) {
        if self.phase == Phase::Startup && self.full_bw.full_bw_reached {
            self.enter_drain(tp, cc);
        }
    }
}

/// Linux counts in four bits.
const MAX_EVENTS: u32 = 15;
