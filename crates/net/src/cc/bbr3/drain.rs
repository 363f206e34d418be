//! Drain: send slowly until the queue that Startup built is empty.

use super::phase::Phase;
use super::version::Version;
use super::{Bbr3, UNIT};
use crate::cc::{CcState, SenderState};

impl<V: Version> Bbr3<V> {
    /// `EnterDrain`. `ssthresh` only shows observers that Startup is over.
    pub(super) fn enter_drain(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.phase = Phase::Drain;
        self.drain_start_round = self.rounds.count;
        cc.ssthresh = self.inflight(tp, cc, self.max_bw.best(), UNIT);
        if V::DRAIN_RESETS_SIGNALS {
            self.reset_signals();
        }
    }

    /// Ends with the queue, or after a number of rounds if the bandwidth was overestimated (`CheckDrainDone`).
    pub(super) fn check_drain_done(&mut self, tp: &SenderState, cc: &CcState) {
        if self.phase != Phase::Drain {
            return;
        }
        let rounds = self.rounds.count - self.drain_start_round;
        if V::is_drained(self, tp, cc) || V::DRAIN_ROUNDS.is_some_and(|maximum| rounds > maximum) {
            self.start_down(tp);
        }
    }
}
