//! One-way delay from timestamps, computed as in TCP-LP's module: in 32 bits that wrap.
//!
//! ```text
//!   rate   ← rate + (1000 Δtsval / Δtsecr − rate) / 64        ticks per second of the receiver's clock
//!   delay  = tsval · ⌊1000 / rate⌋ − tsecr                      milliseconds, plus the clocks' difference
//!   smooth ← smooth + delay − smooth / 8                       eighths
//! ```
//!
//! The clocks' difference is random, so `smooth` overflows unless it is below 2²⁹. Because delays are integers of
//! milliseconds, the rate is 1000 only on average: above 1000 the factor is 0, from 500 downwards it is 2.

/// The estimate of the forward path's delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OneWay {
    /// Ticks per second; 0 before the first estimate.
    rate: u32,
    /// Receiver's and sender's time of the previous ACK.
    reference: (u32, u32),
    /// Smoothed, in eighths.
    smoothed8: u32,
    minimum: u32,
    maximum: u32,
    /// The overall maximum; the one below it is used.
    max_ever: u32,
}

impl OneWay {
    pub(super) const fn new() -> Self {
        Self { rate: 0, reference: (0, 0), smoothed8: 0, minimum: u32::MAX, maximum: 0, max_ever: 0 }
    }

    /// Takes an ACK's times.
    pub(super) fn measure(&mut self, receivers: u32, senders: u32) {
        self.estimate_rate(receivers, senders);
        if self.rate == 0 {
            return;
        }
        let delay = receivers.wrapping_mul(TICKS / self.rate).wrapping_sub(senders);
        if delay > 0 {
            self.take(delay);
        }
    }

    /// Is the smoothed delay below the minimum plus 15 % of the range?
    pub(super) const fn is_short(&self) -> bool {
        let range = self.maximum.wrapping_sub(self.minimum);
        self.smoothed8 >> 3 < self.minimum.wrapping_add(range.wrapping_mul(15) / 100)
    }

    /// Resets the minimum to the current delay and the maximum to twice that.
    pub(super) const fn restart(&mut self) {
        self.minimum = self.smoothed8 >> 3;
        self.maximum = self.smoothed8 >> 2;
        self.max_ever = self.maximum;
    }

    fn estimate_rate(&mut self, receivers: u32, senders: u32) {
        let (receivers_before, senders_before) = core::mem::replace(&mut self.reference, (receivers, senders));
        let is_known = receivers_before != 0 && senders_before != 0;
        if !is_known || receivers == receivers_before || senders == senders_before {
            return;
        }
        let ticks = receivers.wrapping_sub(receivers_before).wrapping_mul(TICKS);
        let measured = i64::from(ticks / senders.wrapping_sub(senders_before));
        let rate64 = i64::from(self.rate << 6);
        let rate64 = if rate64 > 0 { rate64 + measured - (rate64 >> 6) } else { measured << 6 };
        self.rate = u32::try_from(rate64 >> 6).unwrap_or(u32::MAX);
    }

    fn take(&mut self, delay: u32) {
        self.minimum = self.minimum.min(delay);
        if delay > self.maximum {
            self.raise(delay);
        }
        self.smoothed8 = if self.smoothed8 == 0 {
            delay << 3
        } else {
            self.smoothed8.wrapping_add(delay.wrapping_sub(self.smoothed8 >> 3))
        };
    }

    /// A single long delay does not count until a second one is as long.
    const fn raise(&mut self, delay: u32) {
        if delay <= self.max_ever {
            self.maximum = delay;
            return;
        }
        self.maximum = if self.max_ever == 0 { delay } else { self.max_ever };
        self.max_ever = delay;
    }
}

/// Ticks per second of Linux's timestamps.
const TICKS: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds delays, an ACK each 10 ms, with the rate known.
    fn acks(one_way: &mut OneWay, delays: &[u32]) {
        for (delay, number) in delays.iter().zip(1..) {
            let sent = 1_000 + number * 10;
            one_way.reference = (0, 0);
            one_way.measure(sent + delay, sent);
        }
    }

    #[test]
    fn delays_are_smoothed_by_an_eighth() {
        let mut one_way = OneWay { rate: 1_000, ..OneWay::new() };
        acks(&mut one_way, &[20, 28]);
        assert_eq!((one_way.smoothed8, one_way.minimum), (168, 20));
    }

    #[test]
    fn the_longest_delay_does_not_count_until_it_repeats() {
        let mut one_way = OneWay { rate: 1_000, ..OneWay::new() };
        acks(&mut one_way, &[20, 100]);
        assert_eq!((one_way.maximum, one_way.max_ever), (20, 100));
        acks(&mut one_way, &[90]);
        assert_eq!(one_way.maximum, 90);
    }

    /// 11 ticks in 10 ms: 1100; the estimate moves by 100/64, and the remainder is lost.
    #[test]
    fn the_rate_moves_by_a_64th() {
        let mut one_way = OneWay { rate: 1_000, reference: (5_000, 3_000), ..OneWay::new() };
        one_way.measure(5_011, 3_010);
        assert_eq!(one_way.rate, 1_001);
        one_way.measure(5_021, 3_021);
        assert_eq!(one_way.rate, 999);
    }

    #[test]
    fn without_two_times_there_is_no_estimate() {
        let mut one_way = OneWay::new();
        one_way.measure(5_000, 4_980);
        one_way.measure(5_000, 4_990);
        assert_eq!((one_way.rate, one_way.minimum, one_way.is_short()), (0, u32::MAX, true));
    }
}
