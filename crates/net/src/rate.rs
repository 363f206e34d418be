//! Rates in bytes per second, as Linux keeps them, and the arithmetic that turns bytes into time.

use crate::time::Span;
use serde::{Deserialize, Serialize};

/// Bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Rate(u64);

impl Rate {
    /// Sends nothing.
    pub const ZERO: Self = Self(0);
    /// No limit (Linux's `~0UL`).
    pub const UNLIMITED: Self = Self(u64::MAX);

    /// From bytes per second.
    #[must_use]
    pub const fn from_bytes(bytes_per_second: u64) -> Self {
        Self(bytes_per_second)
    }

    /// From bits per second, rounded down to whole bytes as tc does.
    #[must_use]
    pub const fn from_bits(bits_per_second: u64) -> Self {
        Self(bits_per_second / 8)
    }

    /// `bytes` in `time`: at least one byte per second, and never unlimited. Zero time counts as a nanosecond.
    #[must_use]
    pub fn of(bytes: u128, time: Span) -> Self {
        let rate = bytes * 1_000_000_000 / u128::from(time.as_nanos().max(1));
        Self(u64::try_from(rate).unwrap_or(u64::MAX - 1).max(1))
    }

    /// In bytes per second.
    #[must_use]
    pub const fn as_bytes(self) -> u64 {
        self.0
    }

    /// In bits per second; saturates.
    #[must_use]
    pub const fn as_bits(self) -> u64 {
        self.0.saturating_mul(8)
    }

    /// Is there a limit?
    #[must_use]
    pub const fn is_limited(self) -> bool {
        self.0 != u64::MAX
    }

    /// How long `bytes` take at this rate, rounded down to a nanosecond.
    ///
    /// # Panics
    ///
    /// If the rate is zero. A link without a rate has to hold its packets back instead.
    #[must_use]
    pub fn time_for(self, bytes: u64) -> Span {
        assert!(self.0 > 0, "no transmission time: the rate is zero");
        if let Some(scaled) = bytes.checked_mul(1_000_000_000) {
            return Span::from_nanos(scaled / self.0);
        }
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.0);
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How many whole bytes pass in `span`; saturates.
    #[must_use]
    pub fn bytes_in(self, span: Span) -> u64 {
        if let Some(scaled) = self.0.checked_mul(span.as_nanos()) {
            return scaled / 1_000_000_000;
        }
        let bytes = u128::from(self.0) * u128::from(span.as_nanos()) / 1_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_at_80_mbit_takes_151_microseconds() {
        assert_eq!(Rate::from_bits(80_000_000).time_for(1_514), Span::from_nanos(151_400));
    }

    #[test]
    fn a_rate_of_bytes_in_time_is_never_zero_and_always_limited() {
        assert_eq!(Rate::of(1_514, Span::from_nanos(151_400)), Rate::from_bits(80_000_000));
        assert_eq!(Rate::of(0, Span::from_secs(1)), Rate::from_bytes(1));
        assert!(Rate::of(u128::from(u64::MAX), Span::ZERO).is_limited());
    }

    #[test]
    fn arithmetic_holds_from_1_kbit_to_400_gbit() {
        assert_eq!(Rate::from_bits(1_000).time_for(1_514), Span::from_nanos(12_112_000_000));
        assert_eq!(Rate::from_bits(400_000_000_000).time_for(1_514), Span::from_nanos(30));
        assert_eq!(Rate::from_bits(400_000_000_000).bytes_in(Span::from_secs(86_400)), 4_320_000_000_000_000);
    }
}
