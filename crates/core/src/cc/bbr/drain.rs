//! Drain: send slowly until the queue that Startup made is gone.

use super::bandwidth::UNIT;
use super::startup::HIGH_GAIN;
use super::{Bbr, Gains, Mode};
use crate::cc::Vitals;

/// The inverse of Startup's gain empties its queue in about a round trip; the window stays (`bbr_drain_gain`).
pub(super) const GAINS: Gains = Gains { pacing: UNIT * 1_000 / 2_885, window: HIGH_GAIN };

impl Bbr {
    /// Enters Drain when the pipe is full, leaves it when no more than its content is in flight.
    pub(super) fn check_drain(&mut self, vitals: &mut Vitals) {
        if self.mode == Mode::Startup && self.full_pipe.is_reached() {
            self.mode = Mode::Drain;
            vitals.ssthresh = self.target_in_flight(vitals, UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_network_at_departure(vitals, vitals.in_flight()) <= self.target_in_flight(vitals, UNIT)
        {
            self.enter_probe_bw(vitals);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{DUE, bbr_with};
    use super::*;

    #[test]
    fn the_gain_is_0_344() {
        assert_eq!(GAINS.pacing, 88);
    }

    /// 10 Mbit/s and 40 ms hold 34 packets; 6 more are budget for hosts.
    #[test]
    fn the_queue_is_gone_when_the_product_is_in_flight() {
        let (mut bbr, mut vitals) = bbr_with(Mode::Drain);
        vitals.packets_out = 41;
        bbr.check_drain(&mut vitals);
        assert_eq!(bbr.mode, Mode::Drain);
        vitals.packets_out = 40;
        bbr.check_drain(&mut vitals);
        assert_eq!(bbr.mode, Mode::ProbeBw);
    }

    #[test]
    fn packets_that_arrive_before_the_next_departure_do_not_count() {
        let (mut bbr, mut vitals) = bbr_with(Mode::Drain);
        vitals.packets_out = 45;
        vitals.next_send_at = vitals.now + DUE; // four packets' time
        bbr.check_drain(&mut vitals);
        assert_eq!(bbr.mode, Mode::Drain);
        vitals.packets_out = 44;
        bbr.check_drain(&mut vitals);
        assert_eq!(bbr.mode, Mode::ProbeBw);
    }

    #[test]
    fn startup_ends_with_a_threshold_of_the_product() {
        let (mut bbr, mut vitals) = bbr_with(Mode::Startup);
        vitals.packets_out = 100;
        bbr.check_drain(&mut vitals);
        assert_eq!((bbr.mode, vitals.ssthresh), (Mode::Drain, 40));
    }
}
