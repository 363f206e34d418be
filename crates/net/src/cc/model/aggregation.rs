//! ACK aggregation: packets acknowledged beyond bandwidth × time are added to the window, so that sending continues
//! while no ACK arrives.

use super::bandwidth::{Bandwidth, measured};
use crate::cc::{CcState, RateSample, SenderState};

/// A period in which ACKs arrive at least as fast as the bandwidth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cc) struct Epoch {
    /// Its start; it ends when ACKs fall behind the bandwidth.
    since_us: u64,
    /// Packets acknowledged in it.
    acked: u32,
}

impl Epoch {
    pub(in crate::cc) fn new(tp: &SenderState) -> Self {
        Self { since_us: tp.now.as_micros(), acked: 0 }
    }

    /// Packets acknowledged in this ACK's epoch beyond the expected number, at most the window; None if the ACK
    /// measures nothing.
    pub(in crate::cc) fn excess(
        &mut self,
        tp: &SenderState,
        cc: &CcState,
        sample: &RateSample,
        bandwidth: Bandwidth,
    ) -> Option<u32> {
        if sample.acked_sacked == 0 || measured(sample).is_none() {
            return None;
        }
        let now_us = tp.delivered_at.as_micros();
        let mut expected = bandwidth.packets_in(now_us.saturating_sub(self.since_us));
        let acked = self.acked.saturating_add(sample.acked_sacked);
        if self.acked <= expected || acked >= MAX_ACKED {
            self.acked = 0;
            self.since_us = now_us;
            expected = 0;
        }
        self.acked = self.acked.saturating_add(sample.acked_sacked).min(MAX_ACKED - 1);
        Some(self.acked.saturating_sub(expected).min(cc.cwnd))
    }
}

/// The maximum excess over the last one to two windows of rounds, as in Linux.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aggregation {
    epoch: Epoch,
    /// Two windows of rounds: the current one and the previous one.
    excess: [u16; 2],
    present: usize,
    rounds: u8,
}

impl Aggregation {
    pub(in crate::cc) fn new(tp: &SenderState) -> Self {
        Self { epoch: Epoch::new(tp), ..Self::default() }
    }

    /// Sending restarts after idle time, which must not count.
    pub(in crate::cc) fn restart(&mut self, tp: &SenderState) {
        self.epoch = Epoch::new(tp);
    }

    /// Updates on an ACK; each of the two windows lasts `rounds` rounds.
    pub(in crate::cc) fn update(
        &mut self,
        tp: &SenderState,
        cc: &CcState,
        sample: &RateSample,
        bandwidth: Bandwidth,
        round_started: bool,
        rounds: u8,
    ) {
        let Some(excess) = self.epoch.excess(tp, cc, sample, bandwidth) else { return };
        if round_started {
            self.age(rounds);
        }
        let present = &mut self.excess[self.present];
        if excess > u32::from(*present) {
            *present = low_half(excess);
        }
    }

    fn age(&mut self, rounds: u8) {
        self.rounds = self.rounds.saturating_add(1).min(MAX_ROUNDS);
        if self.rounds >= rounds {
            self.rounds = 0;
            self.present = 1 - self.present;
            self.excess[self.present] = 0;
        }
    }

    pub(in crate::cc) fn max_excess(&self) -> u32 {
        u32::from(self.excess[0].max(self.excess[1]))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "16 bits as in Linux")]
const fn low_half(number: u32) -> u16 {
    number as u16
}

/// Rounds in each of the two windows (`bbr_extra_acked_win_rtts`).
pub(in crate::cc) const ROUNDS: u8 = 5;
/// Adds at most the packets of this duration (`bbr_extra_acked_max_us`).
pub(in crate::cc) const MAX_US: u64 = 100_000;
/// An epoch with this many packets is too old (`bbr_ack_epoch_acked_reset_thresh`).
const MAX_ACKED: u32 = 1 << 20;
/// Rounds are counted in five bits.
const MAX_ROUNDS: u8 = 31;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, tp};
    use crate::time::Span;

    /// A packet per millisecond.
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
    fn acks_at_the_bandwidth_have_one_packet_of_excess() {
        let (mut tp, cc) = (tp(), cc());
        tp.delivered_at = tp.now;
        let mut aggregation = Aggregation::new(&tp);
        for _ in 0..100 {
            tp.delivered_at += Span::from_millis(1);
            aggregation.update(&tp, &cc, &acked(1), BANDWIDTH, false, ROUNDS);
        }
        assert_eq!(aggregation.max_excess(), 1);
    }

    #[test]
    fn bursts_of_eight_acks_have_an_excess_of_eight() {
        let (mut tp, cc) = (tp(), cc());
        tp.delivered_at = tp.now;
        let mut aggregation = Aggregation::new(&tp);
        for _ in 0..10 {
            tp.delivered_at += Span::from_millis(8);
            aggregation.update(&tp, &cc, &acked(8), BANDWIDTH, false, ROUNDS);
        }
        assert_eq!(aggregation.max_excess(), 8);
    }

    #[test]
    fn an_excess_expires_after_five_to_ten_rounds_and_never_exceeds_the_window() {
        let (mut tp, cc) = (tp(), cc());
        tp.delivered_at = tp.now;
        let mut aggregation = Aggregation::new(&tp);
        aggregation.update(&tp, &cc, &acked(30), BANDWIDTH, true, ROUNDS);
        assert_eq!(aggregation.max_excess(), 10, "the window");
        let excess: [u32; 10] = core::array::from_fn(|_| {
            tp.delivered_at += Span::from_millis(40);
            aggregation.update(&tp, &cc, &acked(1), BANDWIDTH, true, ROUNDS);
            aggregation.max_excess()
        });
        assert_eq!(excess, [10, 10, 10, 10, 10, 10, 10, 10, 1, 1]);
    }
}
