//! Token buckets in nanoseconds: a packet costs its transmission time at the bucket's rate.
//!
//! tbf, htb and police compute this way (Linux `psched_l2t_ns`). The owner decides when the bucket is filled and
//! whether it may go negative.

use crate::rate::Rate;
use crate::time::{Span, Time};

/// A bucket: tokens, depth and rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    price: Price,
    depth_ns: i64,
    tokens_ns: i64,
}

impl Bucket {
    /// A full bucket.
    pub fn full(rate: Rate, depth: Span) -> Self {
        let depth_ns = span_nanos(depth);
        Self { price: Price::at(rate), depth_ns, tokens_ns: depth_ns }
    }

    /// A full bucket for this many bytes.
    pub fn for_bytes(rate: Rate, bytes: u64) -> Self {
        let price = Price::at(rate);
        let depth_ns = price.of(bytes);
        Self { price, depth_ns, tokens_ns: depth_ns }
    }

    /// Current tokens.
    pub const fn tokens_ns(&self) -> i64 {
        self.tokens_ns
    }

    /// Tokens after this much time and a packet of this size; below zero the tokens do not suffice.
    pub fn after(&self, elapsed_ns: i64, bytes: u32) -> i64 {
        (self.tokens_ns.saturating_add(elapsed_ns)).min(self.depth_ns) - self.price.of(bytes.into())
    }

    /// Sets the tokens.
    pub const fn set(&mut self, tokens_ns: i64) {
        self.tokens_ns = tokens_ns;
    }

    /// Adds time without a bound and without a charge (`htb_charge_class` for a class that borrows).
    pub const fn gain(&mut self, elapsed_ns: i64) {
        self.tokens_ns = self.tokens_ns.saturating_add(elapsed_ns);
    }

    /// Sets rate and depth; the tokens stay.
    pub fn reshape(&mut self, rate: Rate, depth: Span) {
        self.price = Price::at(rate);
        self.depth_ns = span_nanos(depth);
    }
}

/// Packet cost at a rate: its reciprocal as the kernel keeps it, `mult / 2^shift` nanoseconds a byte, which may be a
/// nanosecond short (`psched_ratecfg_precompute`).
#[derive(Clone, Copy, Debug)]
struct Price {
    mult: u64,
    shift: u32,
}

impl Price {
    fn at(rate: Rate) -> Self {
        assert!(rate > Rate::ZERO, "a bucket's rate must be above zero");
        let factor = 1_000_000_000_u64;
        let mult = |shift: u32| (factor << shift) / rate.as_bytes();
        // The multiplier has 32 bits, and the dividend 64.
        let shift = (0..factor.leading_zeros()).find(|&shift| mult(shift) >> 31 != 0);
        let shift = shift.unwrap_or(factor.leading_zeros());
        Self { mult: mult(shift), shift }
    }

    const fn of(self, bytes: u64) -> i64 {
        (bytes.wrapping_mul(self.mult) >> self.shift).cast_signed()
    }
}

/// Nanoseconds since the start, signed for arithmetic below zero.
pub(super) const fn nanos(time: Time) -> i64 {
    time.as_nanos().cast_signed()
}

/// The time that many nanoseconds after the start.
pub(super) const fn instant(nanos: i64) -> Time {
    Time::from_nanos(nanos.cast_unsigned())
}

/// A duration as a signed number; durations of 290 years and more saturate.
pub(super) fn span_nanos(span: Span) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured on Linux 6.12: departures of three packets of 1,514 bytes from an htb at 30 Mbit/s.
    #[test]
    fn a_price_is_rounded_down_like_the_kernels() {
        assert_eq!(Price::at(Rate::from_bits(30_000_000)).of(3 * 1_514), 1_211_199);
        assert_eq!(Price::at(Rate::from_bits(80_000_000)).of(1_514), 151_400);
    }

    #[test]
    fn a_price_is_at_most_a_nanosecond_short() {
        for bits in [8, 1_000, 12_345_678, 30_000_000, 1_000_000_000, 400_000_000_000] {
            let rate = Rate::from_bits(bits);
            let exact = span_nanos(rate.time_for(64_000));
            assert!((exact - 1..=exact).contains(&Price::at(rate).of(64_000)), "at {bits} bit/s");
        }
    }
}
