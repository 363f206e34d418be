//! Round-trip time: smoothed estimate, deviation, retransmission timeout, and the windowed minimum.
//!
//! The arithmetic is bit-exact with Linux (`tcp_rtt_estimator`, `__tcp_set_rto`, `lib/win_minmax.c`), because RTO, TLP
//! and the reordering window depend on its rounding. [`super::timer`] has the timers.

use super::number::{JIFFY_US, jiffies_from_us, unsigned};
use crate::number::narrow;
use crate::time::HZ;

/// Minimum retransmission timeout (`TCP_RTO_MIN`).
pub(super) const RTO_MIN_US: u64 = 200_000;
/// Maximum in jiffies (`TCP_RTO_MAX`).
pub(super) const RTO_MAX_JIFFIES: u64 = 120 * HZ;
/// Initial value in jiffies (`TCP_TIMEOUT_INIT`, RFC 6298 section 2.1).
pub(super) const RTO_INIT_JIFFIES: u64 = HZ;

/// The estimator.
#[derive(Clone, Debug)]
pub(super) struct Rtt {
    /// Smoothed, in eighths of a microsecond; 0 before the first sample.
    srtt_us8: u32,
    /// Retransmission timeout in jiffies, backoff included.
    rto: u64,
    /// Doublings of the timeout so far.
    backoff: u8,
    mdev_us: i64,
    mdev_max_us: i64,
    rttvar_us: i64,
    /// The deviation shrinks once per round trip: when this is acknowledged.
    round_ends: u64,
    min: MinFilter,
}

impl Rtt {
    /// No sample yet.
    pub fn new() -> Self {
        Self {
            srtt_us8: 0,
            rto: RTO_INIT_JIFFIES,
            backoff: 0,
            mdev_us: 0,
            mdev_max_us: 0,
            rttvar_us: 0,
            round_ends: 0,
            min: MinFilter::empty(),
        }
    }

    /// Takes a sample; `snd_una` and `snd_nxt` delimit rounds.
    #[inline]
    pub fn sample(&mut self, rtt_us: u64, snd_una: u64, snd_nxt: u64) {
        if self.srtt_us8 == 0 {
            self.first_sample(rtt_us.cast_signed(), snd_nxt);
        } else {
            self.next_sample(rtt_us.cast_signed(), snd_una, snd_nxt);
        }
        self.set_rto();
        // RFC 6298 section 5.7: a valid sample ends the backoff.
        self.backoff = 0;
    }

    /// Updates the windowed minimum (`tcp_update_rtt_min`).
    pub fn sample_min(&mut self, rtt_us: u64, now_jiffies: u64) {
        let rtt_us = if rtt_us == 0 { JIFFY_US } else { rtt_us };
        self.min.take(narrow(rtt_us), now_jiffies);
    }

    /// The windowed minimum in microseconds; `u32::MAX` before the first sample.
    pub const fn min_us(&self) -> u32 {
        self.min.best[0].0
    }

    /// Mean deviation as in `tcp_info`; stored in quarters of a microsecond.
    pub const fn deviation_us(&self) -> u64 {
        unsigned(self.mdev_us >> 2)
    }

    /// Computes the timeout from the estimate, without backoff (`tcp_set_rto`).
    pub fn set_rto(&mut self) {
        let timeout_us = u64::from(self.srtt_us8 >> 3) + unsigned(self.rttvar_us);
        self.rto = jiffies_from_us(timeout_us).min(RTO_MAX_JIFFIES);
    }

    /// Smoothed, in eighths of a microsecond; 0 before the first sample.
    pub const fn srtt_us8(&self) -> u32 {
        self.srtt_us8
    }

    /// Retransmission timeout in jiffies, backoff included.
    #[inline]
    pub const fn rto(&self) -> u64 {
        self.rto
    }

    /// Doublings of the timeout, or of a window probe's, so far.
    pub const fn backoff(&self) -> u8 {
        self.backoff
    }

    /// The peer answered: the next timeout is not doubled.
    pub const fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    /// A window probe was sent: the next wait is twice as long.
    pub fn back_off_probe(&mut self, maximum: u8) {
        self.backoff = self.backoff.saturating_add(1).min(maximum);
    }

    /// Doubles the timeout after it expired (RFC 6298 section 5.5).
    pub fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
        self.rto = (self.rto * 2).min(RTO_MAX_JIFFIES);
    }

    #[cold]
    fn first_sample(&mut self, rtt_us: i64, snd_nxt: u64) {
        self.srtt_us8 = narrow(unsigned(rtt_us * 8)).max(1);
        self.mdev_us = rtt_us * 2;
        self.rttvar_us = self.mdev_us.max(RTO_MIN_US.cast_signed());
        self.mdev_max_us = self.rttvar_us;
        self.round_ends = snd_nxt;
    }

    /// Jacobson's estimator; a shorter round-trip time moves the deviation only an eighth as much, so that the timeout
    /// does not grow when the path gets faster (Eifel).
    fn next_sample(&mut self, rtt_us: i64, snd_una: u64, snd_nxt: u64) {
        let error = rtt_us - i64::from(self.srtt_us8 >> 3);
        self.srtt_us8 = narrow(unsigned(i64::from(self.srtt_us8) + error)).max(1);
        let mut change = error.abs() - (self.mdev_us >> 2);
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.mdev_us += change;
        if self.mdev_us > self.mdev_max_us {
            self.mdev_max_us = self.mdev_us;
            self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
        }
        if snd_una > self.round_ends {
            if self.mdev_max_us < self.rttvar_us {
                self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
            }
            self.round_ends = snd_nxt;
            self.mdev_max_us = RTO_MIN_US.cast_signed();
        }
    }
}

/// Minimum of the last 300 s, by Kathleen Nichols' three candidates (`minmax_running_min`).
#[derive(Clone, Debug)]
struct MinFilter {
    /// Value and jiffy of the best, second and third candidate, in order of age.
    best: [(u32, u64); 3],
}

impl MinFilter {
    const fn empty() -> Self {
        Self { best: [(u32::MAX, 0); 3] }
    }

    fn take(&mut self, value: u32, now: u64) {
        let sample = (value, now);
        if value <= self.best[0].0 || now - self.best[2].1 > MIN_RTT_WINDOW {
            self.best = [sample; 3];
            return;
        }
        if value <= self.best[1].0 {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if value <= self.best[2].0 {
            self.best[2] = sample;
        }
        self.age(sample);
    }

    /// Drops expired candidates, and takes one from each quarter of the window so that a successor is ready.
    fn age(&mut self, sample: (u32, u64)) {
        let elapsed = sample.1 - self.best[0].1;
        if elapsed > MIN_RTT_WINDOW {
            self.best = [self.best[1], self.best[2], sample];
            if sample.1 - self.best[0].1 > MIN_RTT_WINDOW {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].1 == self.best[0].1 && elapsed > MIN_RTT_WINDOW / 4 {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if self.best[2].1 == self.best[1].1 && elapsed > MIN_RTT_WINDOW / 2 {
            self.best[2] = sample;
        }
    }
}

/// `tcp_min_rtt_wlen`, 300 s, in jiffies.
const MIN_RTT_WINDOW: u64 = 300 * HZ;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// 40 ms: the deviation counts at least 200 ms, so 240 ms; a second equal sample only ends the round.
    #[test]
    fn first_samples_give_linuxs_timeouts() {
        let mut rtt = Rtt::new();
        assert_eq!(rtt.rto, 250);
        rtt.sample(40_000, 1, 1);
        assert_eq!((rtt.srtt_us8, rtt.rto * JIFFY_US), (320_000, 240_000));
        rtt.sample(40_050, 1_449, 14_481);
        assert_eq!((rtt.srtt_us8, rtt.rto * JIFFY_US), (320_050, 244_000), "rounded up to a jiffy");
    }

    /// Each quarter of the window has a candidate, so the second lowest value succeeds the lowest, and the third that one.
    #[test]
    fn a_successor_is_ready_when_a_minimum_expires() {
        let mut min = MinFilter::empty();
        for second in 0..=501 {
            let value = match second {
                0 => 10,
                1..=200 => 20,
                201..=240 => 27,
                241..=280 => 25,
                _ => 30,
            };
            min.take(value, second * HZ);
            let expected = match second {
                0..=300 => 10,
                301..=500 => 20,
                _ => 25,
            };
            assert_eq!(min.best[0].0, expected, "after {second} s");
        }
    }

    #[test]
    fn a_minimum_expires_after_300_seconds() {
        let mut min = MinFilter::empty();
        min.take(10_000, 1);
        for second in 1..=301 {
            min.take(20_000, second * HZ);
            assert_eq!(min.best[0].0, if second <= 300 { 10_000 } else { 20_000 }, "after {second} s");
        }
    }

    /// RFC 6298 section 2 without rounding, with Linux's changes: the deviation counts at least 200 ms, is the maximum of a
    /// round trip, sinks by a quarter of its excess for each round, and grows an eighth as fast when the path gets faster.
    #[derive(Default)]
    struct Exact {
        srtt: f64,
        mdev: f64,
        mdev_max: f64,
        rttvar: f64,
        round_ends: u64,
    }

    impl Exact {
        fn sample(&mut self, rtt: f64, snd_una: u64, snd_nxt: u64) {
            if self.srtt == 0.0 {
                let var = (4.0 * rtt / 2.0).max(200_000.0);
                *self = Self { srtt: rtt, mdev: rtt / 2.0, mdev_max: var, rttvar: var, round_ends: snd_nxt };
                return;
            }
            let error = rtt - self.srtt;
            let change = error.abs() - self.mdev;
            let gain = if error < 0.0 && change > 0.0 { 1.0 / 32.0 } else { 1.0 / 4.0 };
            self.srtt += error / 8.0;
            self.mdev += gain * change;
            self.mdev_max = self.mdev_max.max(4.0 * self.mdev);
            self.rttvar = self.rttvar.max(self.mdev_max);
            if snd_una > self.round_ends {
                self.rttvar -= (self.rttvar - self.mdev_max) / 4.0;
                self.round_ends = snd_nxt;
                self.mdev_max = 200_000.0;
            }
        }
    }

    fn micros(micros: u64) -> f64 {
        f64::from(narrow(micros))
    }

    proptest! {
        #[test]
        fn the_estimate_follows_rfc_6298(
            samples in prop::collection::vec((0_u64..900_000, any::<bool>()), 1..80),
            shortest_us in 1_u64..1_000_000,
            divisor in prop_oneof![Just(1), Just(100)],
        ) {
            let (mut rtt, mut exact) = (Rtt::new(), Exact::default());
            let (mut una, mut next) = (1, 1);
            let (mut shortest, mut longest) = (u64::MAX, 0);
            for (sample, advances) in samples {
                let sample = shortest_us + sample / divisor;
                (shortest, longest) = (shortest.min(sample), longest.max(sample));
                if advances {
                    (una, next) = (next + 1, next + 10);
                }
                rtt.sample(sample, una, next);
                exact.sample(micros(sample), una, next);
                let srtt_us = f64::from(rtt.srtt_us8()) / 8.0;
                prop_assert!((srtt_us - exact.srtt).abs() <= 1.0, "{srtt_us} {}", exact.srtt);
                prop_assert!((shortest..=longest).contains(&u64::from(rtt.srtt_us8().div_ceil(8))));
                // Rounding to a quarter, and a wrong sign of the change near zero, sum up to some microseconds.
                prop_assert!((micros(rtt.deviation_us()) - exact.mdev).abs() < 10.0, "{} {}", rtt.deviation_us(), exact.mdev);
                let timeout_us = micros(rtt.rto() * JIFFY_US);
                let exact_us = exact.srtt + exact.rttvar;
                let slack_us = micros(JIFFY_US) + 50.0;
                prop_assert!(timeout_us > exact_us - 50.0 && timeout_us < exact_us + slack_us, "{timeout_us} {exact_us}");
                prop_assert!(timeout_us >= srtt_us.floor() + 200_000.0, "at least 200 ms of deviation");
            }
        }

        /// The timeout doubles for each expiry, and neither exceeds two minutes nor survives a sample.
        #[test]
        fn a_timeout_never_exceeds_two_minutes(sample_us in 1_u64..300_000_000, expiries in 0_u32..300) {
            let mut rtt = Rtt::new();
            rtt.sample(sample_us, 1, 1);
            let first = rtt.rto();
            for _ in 0..expiries {
                rtt.back_off();
            }
            prop_assert_eq!(rtt.rto(), first.saturating_mul(1 << expiries.min(40)).min(RTO_MAX_JIFFIES));
            prop_assert_eq!(u32::from(rtt.backoff()), expiries.min(255));
            rtt.sample(sample_us, 1, 1);
            prop_assert!(rtt.backoff() == 0 && rtt.rto() <= first);
        }

        /// The minimum was sampled in the last 300 s, and is exact while no lower one has expired.
        #[test]
        fn the_minimum_is_of_the_last_300_seconds(
            samples in prop::collection::vec((1_u32..40, prop_oneof![9 => 1_u64..8, 1 => 50_u64..400]), 1..300),
        ) {
            let mut filter = MinFilter::empty();
            let mut taken: Vec<(u32, u64)> = Vec::new();
            let mut now = 1;
            for (value, seconds) in samples {
                now += seconds * HZ;
                taken.push((value, now));
                filter.take(value, now);
                let since = |window: u64| taken.iter().filter(move |sample| now - sample.1 <= window);
                let shown = filter.best[0];
                prop_assert!(since(MIN_RTT_WINDOW).any(|sample| *sample == shown), "{shown:?} at {now}");
                prop_assert!(shown.0 <= value);
                let lowest = taken.iter().map(|sample| sample.0).min().unwrap();
                if since(MIN_RTT_WINDOW).any(|sample| sample.0 == lowest) {
                    prop_assert_eq!(shown.0, lowest);
                }
            }
        }
    }
}
