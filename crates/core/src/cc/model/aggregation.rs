//! How bunched do ACKs come? What arrives beyond bandwidth times time is added to the window, so that sending goes
//! on while nothing is acknowledged.

use super::bandwidth::{Bandwidth, measured};
use crate::cc::{RateSample, Vitals};

/// A stretch of time in which ACKs keep ahead of the bandwidth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cc) struct Epoch {
    /// Its start; it ends when ACKs fall behind the bandwidth.
    since_us: u64,
    /// Packets acknowledged in it.
    acked: u32,
}

impl Epoch {
    pub(in crate::cc) fn new(vitals: &Vitals) -> Self {
        Self { since_us: vitals.now.as_micros(), acked: 0 }
    }

    /// Packets that this ACK's epoch brought beyond the expected ones, the window at most; None if the ACK measures nothing.
    pub(in crate::cc) fn excess(&mut self, vitals: &Vitals, sample: &RateSample, bandwidth: Bandwidth) -> Option<u32> {
        if sample.acked_sacked == 0 || measured(sample).is_none() {
            return None;
        }
        let now_us = vitals.delivered_at.as_micros();
        let mut expected = bandwidth.packets_in(now_us.saturating_sub(self.since_us));
        let acked = self.acked.saturating_add(sample.acked_sacked);
        if self.acked <= expected || acked >= MOST_ACKED {
            self.acked = 0;
            self.since_us = now_us;
            expected = 0;
        }
        self.acked = self.acked.saturating_add(sample.acked_sacked).min(MOST_ACKED - 1);
        Some(self.acked.saturating_sub(expected).min(vitals.cwnd))
    }
}

/// The largest excess of the last so many to twice as many rounds, as Linux keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cc) struct Aggregation {
    epoch: Epoch,
    /// Two windows of rounds: the present one and the one before.
    excess: [u16; 2],
    present: usize,
    rounds: u8,
}

impl Aggregation {
    pub(in crate::cc) fn new(vitals: &Vitals) -> Self {
        Self { epoch: Epoch::new(vitals), ..Self::default() }
    }

    /// Sending begins again after an idle time, which must not count.
    pub(in crate::cc) fn restart(&mut self, vitals: &Vitals) {
        self.epoch = Epoch::new(vitals);
    }

    /// An ACK came; each of the two windows lasts for so many rounds.
    pub(in crate::cc) fn update(
        &mut self,
        vitals: &Vitals,
        sample: &RateSample,
        bandwidth: Bandwidth,
        round_started: bool,
        rounds: u8,
    ) {
        let Some(excess) = self.epoch.excess(vitals, sample, bandwidth) else { return };
        if round_started {
            self.age(rounds);
        }
        let present = &mut self.excess[self.present];
        if excess > u32::from(*present) {
            *present = low_half(excess);
        }
    }

    fn age(&mut self, rounds: u8) {
        self.rounds = self.rounds.saturating_add(1).min(MOST_ROUNDS);
        if self.rounds >= rounds {
            self.rounds = 0;
            self.present = 1 - self.present;
            self.excess[self.present] = 0;
        }
    }

    pub(in crate::cc) fn most_excess(&self) -> u32 {
        u32::from(self.excess[0].max(self.excess[1]))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "Linux keeps it in 16 bits")]
const fn low_half(number: u32) -> u16 {
    number as u16
}

/// Rounds of each of the two windows (`bbr_extra_acked_win_rtts`).
pub(in crate::cc) const ROUNDS: u8 = 5;
/// At most the packets of so long a time are added (`bbr_extra_acked_max_us`).
pub(in crate::cc) const LONGEST_US: u64 = 100_000;
/// An epoch of so many packets is too old (`bbr_ack_epoch_acked_reset_thresh`).
const MOST_ACKED: u32 = 1 << 20;
/// Rounds are counted in five bits.
const MOST_ROUNDS: u8 = 31;

#[cfg(test)]
mod tests {
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
            aggregation.update(&vitals, &acked(1), BANDWIDTH, false, ROUNDS);
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
            aggregation.update(&vitals, &acked(8), BANDWIDTH, false, ROUNDS);
        }
        assert_eq!(aggregation.most_excess(), 8);
    }

    #[test]
    fn an_excess_is_forgotten_after_five_to_ten_rounds_and_never_exceeds_the_window() {
        let mut vitals = vitals();
        vitals.delivered_at = vitals.now;
        let mut aggregation = Aggregation::new(&vitals);
        aggregation.update(&vitals, &acked(30), BANDWIDTH, true, ROUNDS);
        assert_eq!(aggregation.most_excess(), 10, "the window");
        let excess: [u32; 10] = core::array::from_fn(|_| {
            vitals.delivered_at += Span::from_millis(40);
            aggregation.update(&vitals, &acked(1), BANDWIDTH, true, ROUNDS);
            aggregation.most_excess()
        });
        assert_eq!(excess, [10, 10, 10, 10, 10, 10, 10, 10, 1, 1]);
    }
}
