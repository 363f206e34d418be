//! Token buckets, in nanoseconds: a packet costs the time that it takes at the bucket's rate.
//!
//! tbf and htb both reckon so (Linux `psched_l2t_ns`). The kernel divides by a reciprocal, which may be a nanosecond
//! short; here the division is exact. When a bucket may run dry, and when it is filled, is for its owner to say.

use crate::rate::Rate;
use crate::time::{Span, Time};

/// A bucket: how full it is, how full it may be, and what it costs to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    price: Price,
    depth_ns: i64,
    tokens_ns: i64,
}

impl Bucket {
    /// A full bucket.
    pub fn full(rate: Rate, depth: Span) -> Self {
        let depth_ns = signed(depth);
        Self { price: Price::at(rate), depth_ns, tokens_ns: depth_ns }
    }

    /// What is in it.
    pub const fn tokens_ns(&self) -> i64 {
        self.tokens_ns
    }

    /// What would be in it after so much more time and a packet of this size; below zero it can't be paid for.
    pub fn after(&mut self, elapsed_ns: i64, bytes: u32) -> i64 {
        (self.tokens_ns.saturating_add(elapsed_ns)).min(self.depth_ns) - self.price.of(bytes)
    }

    /// So much is in it now.
    pub const fn set(&mut self, tokens_ns: i64) {
        self.tokens_ns = tokens_ns;
    }

    /// Time passes that costs nothing and fills without bound (`htb_charge_class` for a class that borrows).
    pub const fn gain(&mut self, elapsed_ns: i64) {
        self.tokens_ns = self.tokens_ns.saturating_add(elapsed_ns);
    }

    /// A new rate and depth; what is in it stays.
    pub fn reshape(&mut self, rate: Rate, depth: Span) {
        self.price = Price::at(rate);
        self.depth_ns = signed(depth);
    }
}

/// What packets cost at a rate; the last answer is kept, because most packets are of one size.
#[derive(Clone, Copy, Debug)]
struct Price {
    rate: Rate,
    bytes: u32,
    nanos: i64,
}

impl Price {
    fn at(rate: Rate) -> Self {
        assert!(rate > Rate::ZERO, "a bucket without a rate never fills");
        Self { rate, bytes: 0, nanos: 0 }
    }

    fn of(&mut self, bytes: u32) -> i64 {
        if bytes != self.bytes {
            self.bytes = bytes;
            self.nanos = signed(self.rate.time_for(u64::from(bytes)));
        }
        self.nanos
    }
}

/// Nanoseconds since the start, for arithmetic that may go below zero.
pub(super) const fn nanos(time: Time) -> i64 {
    time.as_nanos().cast_signed()
}

/// The instant of so many nanoseconds since the start.
pub(super) const fn instant(nanos: i64) -> Time {
    Time::from_nanos(nanos.cast_unsigned())
}

/// A length of time as a number that may go below zero; one of 290 years and more is cut.
pub(super) fn signed(span: Span) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}
