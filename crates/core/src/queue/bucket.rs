//! Token buckets in nanoseconds: a packet costs its transmission time at the bucket's rate.
//!
//! tbf and htb both compute this way (Linux `psched_l2t_ns`). The kernel multiplies by a reciprocal, which may be a
//! nanosecond short; here the division is exact. The owner decides when the bucket is filled and whether it may go
//! negative.

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

    /// Current tokens.
    pub const fn tokens_ns(&self) -> i64 {
        self.tokens_ns
    }

    /// Tokens after this much time and a packet of this size; below zero the tokens do not suffice.
    pub fn after(&mut self, elapsed_ns: i64, bytes: u32) -> i64 {
        (self.tokens_ns.saturating_add(elapsed_ns)).min(self.depth_ns) - self.price.of(bytes)
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

/// Packet cost at a rate. The last result is cached because most packets have one size.
#[derive(Clone, Copy, Debug)]
struct Price {
    rate: Rate,
    bytes: u32,
    nanos: i64,
}

impl Price {
    fn at(rate: Rate) -> Self {
        assert!(rate > Rate::ZERO, "a bucket's rate must be above zero");
        Self { rate, bytes: 0, nanos: 0 }
    }

    fn of(&mut self, bytes: u32) -> i64 {
        if bytes != self.bytes {
            self.bytes = bytes;
            self.nanos = span_nanos(self.rate.time_for(u64::from(bytes)));
        }
        self.nanos
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
