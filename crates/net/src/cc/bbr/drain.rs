//! Drain: send slowly until the queue that Startup built is empty.

use super::bandwidth::UNIT;
use super::{Bbr, Gains, Mode};
use crate::cc::model::pacing::{DRAIN_PACING, HIGH_GAIN};
use crate::cc::{CcState, SenderState};

/// The window gain of Startup stays.
pub(super) const GAINS: Gains = Gains { pacing: DRAIN_PACING, window: HIGH_GAIN };

impl Bbr {
    /// Enters Drain when the pipe is full; leaves it when in-flight data is down to the BDP.
    pub(super) fn check_drain(&mut self, tp: &SenderState, cc: &mut CcState) {
        if self.mode == Mode::Startup && self.full_pipe.is_reached() {
            self.mode = Mode::Drain;
            cc.ssthresh = self.target_in_flight(tp, cc, UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_network_at_departure(tp, cc, tp.in_flight()) <= self.target_in_flight(tp, cc, UNIT)
        {
            self.enter_probe_bw(tp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{FOUR_PACKETS, bbr_with};
    use super::*;

    /// 10 Mbit/s and 40 ms hold 34 packets; the budget for hosts adds 6.
    #[test]
    fn drain_ends_when_in_flight_is_the_bdp() {
        let (mut bbr, mut tp, mut cc) = bbr_with(Mode::Drain);
        tp.packets_out = 41;
        bbr.check_drain(&tp, &mut cc);
        assert_eq!(bbr.mode, Mode::Drain);
        tp.packets_out = 40;
        bbr.check_drain(&tp, &mut cc);
        assert_eq!(bbr.mode, Mode::ProbeBw);
    }

    #[test]
    fn packets_that_arrive_before_the_next_departure_do_not_count() {
        let (mut bbr, mut tp, mut cc) = bbr_with(Mode::Drain);
        tp.packets_out = 45;
        tp.next_send_at = tp.now + FOUR_PACKETS; // the time of four packets
        bbr.check_drain(&tp, &mut cc);
        assert_eq!(bbr.mode, Mode::Drain);
        tp.packets_out = 44;
        bbr.check_drain(&tp, &mut cc);
        assert_eq!(bbr.mode, Mode::ProbeBw);
    }

    #[test]
    fn startup_ends_with_the_bdp_as_threshold() {
        let (mut bbr, mut tp, mut cc) = bbr_with(Mode::Startup);
        tp.packets_out = 100;
        bbr.check_drain(&tp, &mut cc);
        assert_eq!((bbr.mode, cc.ssthresh), (Mode::Drain, 40));
    }
}
