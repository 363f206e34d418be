//! How bunched do ACKs come? What arrives beyond bandwidth times time is added to the window, so that sending goes
//! on while nothing is acknowledged.

use super::Bbr;
use super::bandwidth::{Bandwidth, measured};
use crate::cc::{RateSample, Vitals};

/// The largest excess of the last five to ten rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Aggregation {
    /// This epoch's start; it ends when ACKs fall behind the bandwidth.
    epoch_us: u64,
    /// Packets acknowledged in it.
    epoch_acked: u32,
    /// Two windows of five rounds: the present one and the one before.
    excess: [u16; 2],
    present: usize,
    rounds: u8,
}

impl Aggregation {
    pub(super) fn new(vitals: &Vitals) -> Self {
        Self { epoch_us: vitals.now.as_micros(), ..Self::default() }
    }

    /// Sending begins again after an idle time, which must not count.
    pub(super) fn restart(&mut self, vitals: &Vitals) {
        self.epoch_us = vitals.now.as_micros();
        self.epoch_acked = 0;
    }

    /// An ACK came.
    pub(super) fn update(&mut self, vitals: &Vitals, sample: &RateSample, bandwidth: Bandwidth, round_started: bool) {
        if sample.acked_sacked == 0 || measured(sample).is_none() {
            return;
        }
        if round_started {
            self.age();
        }
        let now_us = vitals.delivered_at.as_micros();
        let mut expected = bandwidth.packets_in(now_us.saturating_sub(self.epoch_us));
        let acked = self.epoch_acked.saturating_add(sample.acked_sacked);
        if self.epoch_acked <= expected || acked >= MOST_ACKED {
            self.epoch_acked = 0;
            self.epoch_us = now_us;
            expected = 0;
        }
        self.epoch_acked = self.epoch_acked.saturating_add(sample.acked_sacked).min(MOST_ACKED - 1);
        let excess = self.epoch_acked.saturating_sub(expected).min(vitals.cwnd);
        let present = &mut self.excess[self.present];
        if excess > u32::from(*present) {
            *present = low_half(excess);
        }
    }

    fn age(&mut self) {
        self.rounds += 1;
        if self.rounds >= ROUNDS {
            self.rounds = 0;
            self.present = 1 - self.present;
            self.excess[self.present] = 0;
        }
    }

    fn most_excess(&self) -> u32 {
        u32::from(self.excess[0].max(self.excess[1]))
    }
}

impl Bbr {
    /// Packets to add to the window for bunched ACKs, once the pipe is full.
    pub(super) fn aggregation_bonus(&self) -> u32 {
        if !self.full_pipe.is_reached() {
            return 0;
        }
        self.aggregation.most_excess().min(self.bandwidth().packets_in(LONGEST_US))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "Linux keeps it in 16 bits")]
const fn low_half(number: u32) -> u16 {
    number as u16
}

/// Rounds of each of the two windows (`bbr_extra_acked_win_rtts`).
const ROUNDS: u8 = 5;
/// An epoch of so many packets is too old (`bbr_ack_epoch_acked_reset_thresh`).
const MOST_ACKED: u32 = 1 << 20;
/// At most the packets of so long a time are added (`bbr_extra_acked_max_us`).
const LONGEST_US: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::super::tests::bbr_with;
    use super::super::{FullPipe, Mode};
    use super::*;
    use crate::cc::testing::vitals;
    use crate::time::Span;

    /// A packet a millisecond.
    const BANDWIDTH: Bandwidth = Bandwidth(16_778);

    fn acked(packets: u32) -> RateSample {
        RateSample {
            acked_sacked: packets,
            delivered: Some(packets),
            interval: Span::from_millis(40),
            ..RateSample::default()
        }
    }

    #[test]
    fn acks_at_the_bandwidth_leave_one_packet_of_excess() {
        let mut vitals = vitals();
        vitals.delivered_at = vitals.now;
        let mut aggregation = Aggregation::new(&vitals);
        for _ in 0..100 {
            vitals.delivered_at += Span::from_millis(1);
            aggregation.update(&vitals, &acked(1), BANDWIDTH, false);
        }
        assert_eq!(aggregation.most_excess(), 1);
    }

    #[test]
    fn bunches_of_eight_leave_eight() {
        let mut vitals = vitals();
        vitals.delivered_at = vitals.now;
        let mut aggregation = Aggregation::new(&vitals);
        for _ in 0..10 {
            vitals.delivered_at += Span::from_millis(8);
            aggregation.update(&vitals, &acked(8), BANDWIDTH, false);
        }
        assert_eq!(aggregation.most_excess(), 8);
    }

    #[test]
    fn an_excess_is_forgotten_after_five_to_ten_rounds_and_never_exceeds_the_window() {
        let mut vitals = vitals();
        vitals.delivered_at = vitals.now;
        let mut aggregation = Aggregation::new(&vitals);
        aggregation.update(&vitals, &acked(30), BANDWIDTH, true);
        assert_eq!(aggregation.most_excess(), 10, "the window");
        let excess: [u32; 10] = core::array::from_fn(|_| {
            vitals.delivered_at += Span::from_millis(40);
            aggregation.update(&vitals, &acked(1), BANDWIDTH, true);
            aggregation.most_excess()
        });
        assert_eq!(excess, [10, 10, 10, 10, 10, 10, 10, 10, 1, 1]);
    }

    #[test]
    fn the_bonus_waits_for_a_full_pipe_and_is_limited_to_100_ms() {
        let (mut bbr, _) = bbr_with(Mode::ProbeBw);
        bbr.aggregation.excess = [20, 1_000];
        assert_eq!(bbr.aggregation_bonus(), 82, "of 826 packets a second");
        bbr.aggregation.excess = [20, 0];
        assert_eq!(bbr.aggregation_bonus(), 20);
        bbr.full_pipe = FullPipe::default();
        assert_eq!(bbr.aggregation_bonus(), 0);
    }
}
