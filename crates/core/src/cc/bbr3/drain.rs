//! Drain: send slowly until the queue that Startup built is empty.

use super::phase::Phase;
use super::profile::Rules;
use super::{Bbr3, UNIT};
use crate::cc::{CcState, SenderState};

impl Bbr3 {
    /// `EnterDrain`. `ssthresh` only shows observers that Startup is over.
    pub(super) fn enter_drain(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.phase = Phase::Drain;
        self.drain_start_round = self.rounds.count;
        cc.ssthresh = self.inflight(tp, cc, self.max_bw.best(), UNIT);
        if self.profile.rules == Rules::Linux {
            self.reset_signals();
        }
    }

    /// Ends with the queue, or after a number of rounds if the bandwidth was overestimated (`CheckDrainDone`).
    pub(super) fn check_drain_done(&mut self, tp: &SenderState, cc: &CcState) {
        if self.phase != Phase::Drain {
            return;
        }
        let is_empty = match self.profile.rules {
            Rules::Draft => tp.in_flight() <= self.inflight(tp, cc, self.bw(), UNIT),
            Rules::Linux => {
                self.at_departure(tp, cc, tp.in_flight()) <= self.inflight(tp, cc, self.max_bw.best(), UNIT)
            }
        };
        let rounds = self.rounds.count - self.drain_start_round;
        if is_empty || self.profile.drain_rounds.is_some_and(|maximum| rounds > maximum) {
            self.start_down(tp);
        }
    }
}
