//! NV's path estimates: the minimum round-trip time of the last seconds, and the recent maximum rate.
//!
//! A rate is in hundreds of bits per second, as in Linux: bytes in flight · 80 000 / round-trip time in microseconds.
//! [`super::Nv`] decides by it.

use crate::number::low;
use crate::rng::Rng;
use crate::time::HZ;

/// The path's estimates.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Seconds for which a minimum is valid.
    period_s: u32,
    rng: Rng,
    /// Mean of the last samples; 0 before the first.
    rtt_us: u32,
    /// The minimum, and its replacement.
    min_us: u32,
    next_min_us: u32,
    /// The jiffy of the replacement.
    changes_at: u64,
    /// The maximum rate since the last decision.
    max_rate: u32,
}

impl Path {
    pub(super) const fn new(period_s: u32, rng: Rng) -> Self {
        Self { period_s, rng, rtt_us: 0, min_us: u32::MAX, next_min_us: u32::MAX, changes_at: 0, max_rate: 0 }
    }

    /// The first minimum is valid for two seconds.
    pub(super) const fn init(&mut self, jiffy: u64) {
        self.changes_at = jiffy + 2 * HZ;
    }

    /// The next sample starts a new mean.
    pub(super) const fn restart(&mut self) {
        (self.rtt_us, self.max_rate) = (0, 0);
    }

    pub(super) const fn forget_rate(&mut self) {
        self.max_rate = 0;
    }

    /// Takes a round-trip time, and the bytes that were in flight.
    pub(super) fn take(&mut self, rtt_us: u32, bytes: u32) {
        if self.rtt_us > 0 {
            self.rtt_us = rtt_us.midpoint(self.rtt_us);
        } else {
            self.rtt_us = rtt_us;
            self.min_us = rtt_us.wrapping_mul(2);
        }
        let rate = u64::from(bytes) * SCALE / u64::from(self.rtt_us.max(1));
        self.max_rate = self.max_rate.max(low(rate));
        self.min_us = self.min_us.min(self.rtt_us);
        self.next_min_us = self.next_min_us.min(self.rtt_us);
    }

    /// Every few seconds the recent minimum replaces the old one. The period is random, so that flows do not
    /// synchronize. Returns whether it did.
    pub(super) fn age(&mut self, jiffy: u64) -> bool {
        if jiffy < self.changes_at {
            return false;
        }
        self.min_us = self.next_min_us;
        self.next_min_us = u32::MAX;
        let share = 384 + u64::from(self.rng.next_u32() & 0xff);
        self.changes_at = jiffy + ((u64::from(self.period_s) * share * HZ) >> 9);
        true
    }

    /// The window in packets that gives this rate without a queue.
    pub(super) fn window(&self, mss: u32) -> u32 {
        low(u64::from(self.max_rate) * u64::from(self.min_us) / (SCALE * u64::from(mss)))
    }
}

/// Hundreds of bits per second from bytes per microsecond.
const SCALE: u64 = 80_000;
/// Minimum packets of a window that can decide (`NV_MIN_CWND`).
pub(super) const WINDOW_FLOOR: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> Path {
        let mut path = Path::new(5, Rng::from_name(1, "nv"));
        path.init(250);
        path
    }

    /// 20 packets at 0.9 ms, the mean of the first two samples, of which 0.8 ms were propagation: 17.8 fit.
    #[test]
    fn the_window_is_the_rate_times_the_minimum_round_trip_time() {
        let mut path = path();
        path.take(800, 1_000);
        for _ in 0..20 {
            path.take(1_000, 20_000);
        }
        assert_eq!((path.rtt_us, path.min_us, path.window(1_000)), (999, 800, 17));
    }

    /// 5 s · (384 … 639)/512 are 3.75 to 6.24 s.
    #[test]
    fn a_minimum_is_valid_for_two_and_then_four_to_six_seconds() {
        let mut path = path();
        path.take(800, 1_000);
        path.take(2_000, 1_000);
        assert!(!path.age(749) && path.age(750));
        assert_eq!(path.min_us, 800);
        assert!((937..=1_560).contains(&(path.changes_at - 750)), "{}", path.changes_at);
        path.take(2_000, 1_000);
        let at = path.changes_at;
        assert!(path.age(at));
        assert_eq!(path.min_us, 1_700);
    }

    #[test]
    fn the_first_sample_sets_the_minimum_and_its_replacement() {
        let mut path = path();
        path.take(1_000, 1_000);
        assert_eq!((path.min_us, path.next_min_us), (1_000, 1_000));
    }
}
