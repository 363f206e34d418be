//! CDG's own `HyStart`: at any window, with filtered delays, and restarted when the window is not the limit.

use crate::cc::{CcState, SenderState};

/// Both detectors; CUBIC's `HyStart` explains them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SlowStart {
    /// Detectors: 1 ACK trains, 2 delay, 3 both.
    detects: u8,
    /// Minimum delay overall; 0 before the first sample.
    min_us: i32,
    /// Start of the ACK train and its last ACK; None before a train.
    train: Option<(u64, u64)>,
    /// Samples in the round, up to [`SAMPLES`].
    samples: u8,
}

impl SlowStart {
    pub(super) const fn new(detects: u8) -> Self {
        Self { detects, min_us: 0, train: None, samples: 0 }
    }

    /// Begins a round.
    pub(super) const fn begin_round(&mut self) {
        self.train = None;
        self.samples = 0;
    }

    /// Resets everything.
    pub(super) const fn restart(&mut self) {
        *self = Self::new(self.detects);
    }

    /// Processes an ACK in slow start; `round_min_us` is the minimum delay of its round.
    pub(super) fn on_ack(&mut self, tp: &SenderState, cc: &mut CcState, round_min_us: i32) {
        if self.detects == 0 {
            return;
        }
        self.min_us = if self.min_us == 0 || round_min_us == 0 {
            self.min_us.max(round_min_us)
        } else {
            self.min_us.min(round_min_us)
        };
        if self.min_us == 0 {
            return;
        }
        let is_over = (self.detects & TRAINS != 0 && self.is_train_long(tp, cc))
            || (self.detects & DELAY != 0 && self.is_delayed(round_min_us));
        if is_over {
            cc.ssthresh = cc.cwnd;
        }
    }

    /// ACKs within 3 ms of each other, for half of the minimum delay.
    fn is_train_long(&mut self, tp: &SenderState, cc: &CcState) -> bool {
        let now_us = tp.now.as_micros();
        let Some((began_us, last_us)) = self.train.filter(|_| tp.is_cwnd_limited(cc)) else {
            self.train = Some((now_us, now_us));
            return false;
        };
        if now_us >= last_us + ACK_SPACING_US {
            return false;
        }
        self.train = Some((began_us, now_us));
        now_us > began_us + u64::from(self.min_us.unsigned_abs() / 2).max(MIN_US)
    }

    fn is_delayed(&mut self, round_min_us: i32) -> bool {
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        round_min_us > (self.min_us + self.min_us / 8).max(125)
    }
}

const TRAINS: u8 = 1;
const DELAY: u8 = 2;
const ACK_SPACING_US: u64 = 3_000;
const MIN_US: u64 = 125;
/// Samples in a round before its delay is judged.
const SAMPLES: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::INFINITE_SSTHRESH;
    use crate::cc::testing::{cc, tp};
    use crate::time::Span;

    /// Sends `acks` ACKs spaced by `spacing_us`; returns the one at which slow start ended.
    fn ended_at(detects: u8, acks: u32, spacing_us: u64, delay_us: i32) -> Option<u32> {
        let (mut slow_start, mut tp, mut cc) = (SlowStart::new(detects), tp(), cc());
        slow_start.on_ack(&tp, &mut cc, 40_000);
        slow_start.begin_round();
        (1..=acks).find(|_| {
            tp.now += Span::from_micros(spacing_us);
            slow_start.on_ack(&tp, &mut cc, delay_us);
            cc.ssthresh < INFINITE_SSTHRESH
        })
    }

    /// 40 ms: with ACKs a millisecond apart, the train begins with the first and exceeds 20 ms with the 22nd.
    #[test]
    fn a_train_of_half_the_delay_ends_it() {
        assert_eq!(ended_at(1, 100, 1_000, 40_000), Some(22));
        assert_eq!(ended_at(1, 100, 3_000, 40_000), None);
    }

    #[test]
    fn a_delay_an_eighth_longer_ends_it_at_the_ninth_sample() {
        assert_eq!(ended_at(2, 100, 3_000, 45_001), Some(9));
        assert_eq!(ended_at(2, 100, 3_000, 45_000), None);
        assert_eq!(ended_at(0, 100, 1_000, 90_000), None);
    }
}
