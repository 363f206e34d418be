//! CDG's own `HyStart`: at any window, with its filtered delays, and anew when the window is not the limit.

use crate::cc::Vitals;

/// Both detectors; see CUBIC's for what they are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SlowStart {
    /// 1 trains of ACKs, 2 a growing delay, 3 both.
    detects: u8,
    /// The smallest delay ever; 0 before the first.
    least_us: i32,
    /// When a train began, and its last ACK; None before it.
    train: Option<(u64, u64)>,
    /// Samples of the round, up to [`SAMPLES`].
    samples: u8,
}

impl SlowStart {
    pub(super) const fn new(detects: u8) -> Self {
        Self { detects, least_us: 0, train: None, samples: 0 }
    }

    /// A round begins.
    pub(super) const fn begin_round(&mut self) {
        self.train = None;
        self.samples = 0;
    }

    /// Everything is forgotten.
    pub(super) const fn restart(&mut self) {
        *self = Self::new(self.detects);
    }

    /// An ACK in slow start; the smallest delay of its round is this one.
    pub(super) fn on_ack(&mut self, vitals: &mut Vitals, round_least_us: i32) {
        if self.detects == 0 {
            return;
        }
        self.least_us = if self.least_us == 0 || round_least_us == 0 {
            self.least_us.max(round_least_us)
        } else {
            self.least_us.min(round_least_us)
        };
        if self.least_us == 0 {
            return;
        }
        let is_over = (self.detects & TRAINS != 0 && self.is_train_long(vitals))
            || (self.detects & DELAY != 0 && self.is_delayed(round_least_us));
        if is_over {
            vitals.ssthresh = vitals.cwnd;
        }
    }

    /// ACKs within 3 ms of each other, for half of the smallest delay.
    fn is_train_long(&mut self, vitals: &Vitals) -> bool {
        let now_us = vitals.now.as_micros();
        let Some((began_us, last_us)) = self.train.filter(|_| vitals.is_cwnd_limited()) else {
            self.train = Some((now_us, now_us));
            return false;
        };
        if now_us >= last_us + ACK_SPACING_US {
            return false;
        }
        self.train = Some((began_us, now_us));
        now_us > began_us + u64::from(self.least_us.unsigned_abs() / 2).max(LEAST_US)
    }

    fn is_delayed(&mut self, round_least_us: i32) -> bool {
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        round_least_us > (self.least_us + self.least_us / 8).max(125)
    }
}

const TRAINS: u8 = 1;
const DELAY: u8 = 2;
const ACK_SPACING_US: u64 = 3_000;
const LEAST_US: u64 = 125;
/// Samples of a round before its delay is judged.
const SAMPLES: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::INFINITE_SSTHRESH;
    use crate::cc::testing::vitals;
    use crate::time::Span;

    /// So many ACKs this far apart; the one at which slow start ended.
    fn ended_at(detects: u8, acks: u32, spacing_us: u64, delay_us: i32) -> Option<u32> {
        let (mut slow_start, mut vitals) = (SlowStart::new(detects), vitals());
        slow_start.on_ack(&mut vitals, 40_000);
        slow_start.begin_round();
        (1..=acks).find(|_| {
            vitals.now += Span::from_micros(spacing_us);
            slow_start.on_ack(&mut vitals, delay_us);
            vitals.ssthresh < INFINITE_SSTHRESH
        })
    }

    /// 40 ms: the train begins with the first ACK and lasts longer than 20 ms with the 22nd, a millisecond apart.
    #[test]
    fn a_train_of_half_the_delay_ends_it() {
        assert_eq!(ended_at(1, 100, 1_000, 40_000), Some(22));
        assert_eq!(ended_at(1, 100, 3_000, 40_000), None);
    }

    #[test]
    fn a_delay_an_eighth_longer_ends_it_with_the_ninth_sample() {
        assert_eq!(ended_at(2, 100, 3_000, 45_001), Some(9));
        assert_eq!(ended_at(2, 100, 3_000, 45_000), None);
        assert_eq!(ended_at(0, 100, 1_000, 90_000), None);
    }
}
