//! cake's shaper: a clock that each packet advances by its transmission time (`cake_advance_shaper`, `cake_set_rate`).
//!
//! There is no bucket: the clock is not reset while packets are queued, so a late packet does not delay the next ones.
//! With `ingress`, dropped packets advance the clock too; a second clock, advanced only by sent packets at two thirds
//! of the rate, keeps drops from stalling the link.

use crate::rate::Rate;

/// Clocks and rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    price: Price,
    next_ns: i64,
    failsafe_ns: i64,
}

/// Nanoseconds per byte as a 34-bit number and a shift; zero without a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Price {
    nanos: u64,
    shift: u32,
}

impl Shaper {
    /// A shaper that is open now.
    pub fn new(rate: Option<Rate>) -> Self {
        Self { price: Price::at(rate), next_ns: 0, failsafe_ns: 0 }
    }

    /// Sets the rate; the clocks stay.
    pub fn reshape(&mut self, rate: Option<Rate>) {
        self.price = Price::at(rate);
    }

    /// The time until which nothing may leave; None if a packet may leave now.
    pub fn closed_until(&self, now_ns: i64) -> Option<i64> {
        let opens_ns = self.next_ns.min(self.failsafe_ns);
        (opens_ns > now_ns).then_some(opens_ns)
    }

    /// A packet arrives at an empty queue: idle time is no credit. Returns whether it must wait.
    pub fn begin(&mut self, now_ns: i64) -> bool {
        if self.next_ns < now_ns {
            self.next_ns = now_ns;
            self.failsafe_ns = now_ns;
        }
        self.closed_until(now_ns).is_some()
    }

    /// Advances the clocks for a packet of this size on the link, sent or dropped.
    pub fn advance(&mut self, bytes: u32, is_dropped: bool) {
        let nanos = self.price.of(bytes).cast_signed();
        self.next_ns += nanos;
        if !is_dropped {
            self.failsafe_ns += nanos + (nanos >> 1);
        }
    }
}

impl Price {
    /// Computes the cost at a rate.
    pub fn at(rate: Option<Rate>) -> Self {
        let Some(rate) = rate else { return Self { nanos: 0, shift: 0 } };
        let (mut nanos, mut shift) = ((NANOS << WIDTH) / rate.as_bytes().max(SLOWEST), WIDTH);
        while nanos >> WIDTH != 0 {
            nanos >>= 1;
            shift -= 1;
        }
        Self { nanos, shift }
    }

    /// Transmission time of this many bytes.
    pub const fn of(self, bytes: u32) -> u64 {
        (bytes as u64 * self.nanos) >> self.shift
    }
}

const NANOS: u64 = 1_000_000_000;
const WIDTH: u32 = 34;
/// Bytes per second.
const SLOWEST: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_a_byte_is_exact_within_a_billionth() {
        for rate in [64, 1_000, 125_000, 12_500_000, 1_250_000_000_u64] {
            let cost = Price::at(Some(Rate::from_bytes(rate))).of(1_514);
            let exact = 1_514 * NANOS / rate;
            assert!(exact - cost <= 1 + exact / NANOS, "{rate}: {cost} for {exact}");
        }
        assert_eq!(Price::at(None).of(1_514), 0);
    }

    #[test]
    fn the_failsafe_clock_bounds_the_delay_from_drops() {
        let mut shaper = Shaper::new(Some(Rate::from_bytes(1_000_000)));
        shaper.begin(0);
        shaper.advance(1_000, false);
        (0..10).for_each(|_| shaper.advance(1_000, true));
        assert_eq!(shaper.closed_until(0), Some(1_500_000), "eleven packets' time by the first clock");
    }

    #[test]
    fn idle_time_is_no_credit_but_late_sending_is() {
        let mut shaper = Shaper::new(Some(Rate::from_bytes(1_000_000)));
        shaper.begin(0);
        shaper.advance(1_000, false);
        assert!(!shaper.begin(5_000_000));
        shaper.advance(1_000, false);
        assert_eq!(shaper.closed_until(5_000_000), Some(6_000_000));
        shaper.advance(1_000, false); // Sent at 6.3 ms; the next one is still due at 7 ms.
        assert_eq!(shaper.closed_until(6_300_000), Some(7_000_000));
    }
}
