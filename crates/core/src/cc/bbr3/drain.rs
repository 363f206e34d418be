//! Drain: send slowly until the queue that Startup made is gone.

use super::phase::Phase;
use super::profile::Words;
use super::{Bbr3, UNIT};
use crate::cc::Vitals;

impl Bbr3 {
    /// `EnterDrain`. `ssthresh` only tells those who watch that Startup is over.
    pub(super) fn enter_drain(&mut self, vitals: &mut Vitals) {
        self.phase = Phase::Drain;
        self.drain_start_round = self.rounds.count;
        vitals.ssthresh = self.inflight(vitals, self.max_bw.best(), UNIT);
        if self.profile.words == Words::Linux {
            self.reset_signals();
        }
    }

    /// Ends with the queue, or after so many rounds when the bandwidth was overestimated (`CheckDrainDone`).
    pub(super) fn check_drain_done(&mut self, vitals: &Vitals) {
        if self.phase != Phase::Drain {
            return;
        }
        let is_empty = match self.profile.words {
            Words::Draft => vitals.in_flight() <= self.inflight(vitals, self.bw(), UNIT),
            Words::Linux => {
                self.at_departure(vitals, vitals.in_flight()) <= self.inflight(vitals, self.max_bw.best(), UNIT)
            }
        };
        let rounds = self.rounds.count - self.drain_start_round;
        if is_empty || self.profile.drain_rounds.is_some_and(|most| rounds > most) {
            self.start_down(vitals);
        }
    }
}
