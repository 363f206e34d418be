//! cake's shaper: a clock that each packet moves on by its time at the rate (`cake_advance_shaper`, `cake_set_rate`).
//!
//! It runs without a bucket: while packets stand it is never set right, so that a packet that is sent late is made up
//! for at once. Where dropped packets count too (`ingress`), a second clock that only sent ones move on, at two thirds
//! of the rate, keeps drops from stopping the link.

use crate::rate::Rate;

/// When the next packet may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    price: Price,
    next_ns: i64,
    failsafe_ns: i64,
}

/// Nanoseconds a byte, as a number of 34 bits and a shift; zero without a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Price {
    nanos: u64,
    shift: u32,
}

impl Shaper {
    /// Open now.
    pub fn new(rate: Option<Rate>) -> Self {
        Self { price: Price::at(rate), next_ns: 0, failsafe_ns: 0 }
    }

    /// A new rate; the clocks stay.
    pub fn reshape(&mut self, rate: Option<Rate>) {
        self.price = Price::at(rate);
    }

    /// Until when nothing may leave; None when something may.
    pub fn closed_until(&self, now_ns: i64) -> Option<i64> {
        let opens_ns = self.next_ns.min(self.failsafe_ns);
        (opens_ns > now_ns).then_some(opens_ns)
    }

    /// A packet comes to an empty queue: time that has passed without packets is no credit. Says whether it has to wait.
    pub fn begin(&mut self, now_ns: i64) -> bool {
        if self.next_ns < now_ns {
            self.next_ns = now_ns;
            self.failsafe_ns = now_ns;
        }
        self.closed_until(now_ns).is_some()
    }

    /// A packet of so many bytes on the link is sent, or dropped as if it had been.
    pub fn advance(&mut self, bytes: u32, is_dropped: bool) {
        let nanos = self.price.of(bytes).cast_signed();
        self.next_ns += nanos;
        if !is_dropped {
            self.failsafe_ns += nanos + (nanos >> 1);
        }
    }
}

impl Price {
    /// The price at a rate.
    pub fn at(rate: Option<Rate>) -> Self {
        let Some(rate) = rate else { return Self { nanos: 0, shift: 0 } };
        let (mut nanos, mut shift) = ((NANOS << WIDTH) / rate.as_bytes().max(SLOWEST), WIDTH);
        while nanos >> WIDTH != 0 {
            nanos >>= 1;
            shift -= 1;
        }
        Self { nanos, shift }
    }

    /// What so many bytes cost.
    pub const fn of(self, bytes: u32) -> u64 {
        (bytes as u64 * self.nanos) >> self.shift
    }
}

const NANOS: u64 = 1_000_000_000;
const WIDTH: u32 = 34;
/// Bytes a second.
const SLOWEST: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_costs_its_time_within_a_billionth() {
        for rate in [64, 1_000, 125_000, 12_500_000, 1_250_000_000_u64] {
            let cost = Price::at(Some(Rate::from_bytes(rate))).of(1_514);
            let exact = 1_514 * NANOS / rate;
            assert!(exact - cost <= 1 + exact / NANOS, "{rate}: {cost} for {exact}");
        }
        assert_eq!(Price::at(None).of(1_514), 0);
    }

    #[test]
    fn drops_stop_the_link_for_no_longer_than_the_failsafe_says() {
        let mut shaper = Shaper::new(Some(Rate::from_bytes(1_000_000)));
        shaper.begin(0);
        shaper.advance(1_000, false);
        (0..10).for_each(|_| shaper.advance(1_000, true));
        assert_eq!(shaper.closed_until(0), Some(1_500_000), "eleven packets' time by the first clock");
    }

    #[test]
    fn idle_time_is_no_credit_and_lateness_is() {
        let mut shaper = Shaper::new(Some(Rate::from_bytes(1_000_000)));
        shaper.begin(0);
        shaper.advance(1_000, false);
        assert!(!shaper.begin(5_000_000));
        shaper.advance(1_000, false);
        assert_eq!(shaper.closed_until(5_000_000), Some(6_000_000));
        shaper.advance(1_000, false); // Sent at 6.3 ms, say: the next one is due at 7 ms all the same.
        assert_eq!(shaper.closed_until(6_300_000), Some(7_000_000));
    }
}
