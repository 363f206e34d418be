//! Integer time: an instant of an experiment and a duration, both in nanoseconds.
//!
//! Linux's TCP counts in microseconds, and some of its controllers in jiffies. Both conversions are here, so that
//! rounding follows Linux and happens in one place.

use core::ops::{Add, AddAssign, Div, Mul, Sub};
use serde::{Deserialize, Serialize};

/// Jiffies per second: the value of Debian's kernels and of the kernel that the `kernel` engine builds.
pub const HZ: u64 = 250;
/// The packet scheduler counts in ticks of 2⁶ ns (`PSCHED_SHIFT`).
pub const PSCHED_SHIFT: u32 = 6;
/// A tick of the packet scheduler.
pub const PSCHED_TICK_NS: u64 = 1 << PSCHED_SHIFT;

/// An instant: nanoseconds since the start of the experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Time(u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Span(u64);

impl Time {
    /// The start of the experiment.
    pub const ZERO: Self = Self(0);
    /// Later than every instant: a timer that is off.
    pub const NEVER: Self = Self(u64::MAX);

    /// From nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the start, as Linux's `tcp_mstamp`.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole jiffies since the start (`tcp_jiffies32`).
    #[must_use]
    pub const fn jiffies(self) -> u64 {
        self.0 / (1_000_000_000 / HZ)
    }

    /// Time since `earlier`; zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Is this a real instant, not [`Time::NEVER`]?
    #[must_use]
    pub const fn is_set(self) -> bool {
        self.0 != u64::MAX
    }
}

impl Span {
    /// Zero duration.
    pub const ZERO: Self = Self(0);

    /// From nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// From microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// From milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// From seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// From jiffies.
    #[must_use]
    pub const fn from_jiffies(jiffies: u64) -> Self {
        Self(jiffies * (1_000_000_000 / HZ))
    }

    /// In nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// In whole microseconds.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// In jiffies, whole microseconds rounded up (`usecs_to_jiffies`).
    #[must_use]
    pub const fn jiffies_up(self) -> u64 {
        self.as_micros().div_ceil(1_000_000 / HZ)
    }

    /// The difference; zero when `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Span> for Time {
    type Output = Self;

    /// Saturates at [`Time::NEVER`].
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Time {
    type Output = Self;

    /// Saturates at [`Time::ZERO`].
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Span {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Span {
    type Output = Self;

    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jiffy_is_four_milliseconds() {
        assert_eq!(Time::from_nanos(3_999_999).jiffies(), 0);
        assert_eq!(Time::from_nanos(4_000_000).jiffies(), 1);
        assert_eq!(Span::from_jiffies(50), Span::from_millis(200));
        assert_eq!([4_000_999, 4_001_000].map(|nanos| Span::from_nanos(nanos).jiffies_up()), [1, 2]);
    }

    #[test]
    fn time_saturates_at_both_ends() {
        assert_eq!(Time::ZERO - Span::from_secs(1), Time::ZERO);
        assert_eq!(Time::NEVER + Span::from_secs(1), Time::NEVER);
        assert_eq!(Time::from_nanos(5).since(Time::from_nanos(9)), Span::ZERO);
    }
}
