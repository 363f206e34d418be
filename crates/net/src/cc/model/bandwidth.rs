//! Bandwidth in Linux's unit, packets per microsecond times 2²⁴, and the sample of each ACK.
//!
//! The unit is kept because its rounding affects window and pacing rate. It covers 0.06 packets to 256 million packets
//! per second; higher values are capped here, where Linux wraps.

use crate::cc::RateSample;
use crate::number::narrow;
use crate::rate::Rate;

/// One as a gain (`BBR_UNIT`).
pub(in crate::cc) const UNIT: u32 = 1 << GAIN_SHIFT;
/// Gains are in 1/256 (`BBR_SCALE`).
pub(in crate::cc) const GAIN_SHIFT: u32 = 8;

/// Packets per microsecond times 2²⁴.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bandwidth(pub(in crate::cc) u32);

impl Bandwidth {
    pub(in crate::cc) const ZERO: Self = Self(0);

    /// `packets` per `micros`, which must be at least 1.
    pub(in crate::cc) fn of(packets: u64, micros: u64) -> Self {
        Self(narrow((packets << SHIFT) / micros))
    }

    /// The same, rounded up: at low rates an estimate must be able to grow (versions 2 and 3).
    pub(in crate::cc) fn of_at_least(packets: u64, micros: u64) -> Self {
        Self(narrow((packets << SHIFT).div_ceil(micros)))
    }

    /// Full packets in this time.
    pub(in crate::cc) fn packets_in(self, micros: u64) -> u32 {
        narrow(u64::from(self.0).saturating_mul(micros) >> SHIFT)
    }

    /// Packets in this time at this gain, rounded up so that a small error does not grow (`bbr_bdp`).
    pub(in crate::cc) fn packets_in_at(self, micros: u32, gain: u32) -> u32 {
        let scaled = (u64::from(self.0) * u64::from(micros)).saturating_mul(u64::from(gain)) >> GAIN_SHIFT;
        narrow(scaled.saturating_add(ONE - 1) >> SHIFT)
    }

    /// Payload bytes per second.
    pub(in crate::cc) fn rate(self, mss: u32) -> Rate {
        Rate::from_bytes((u64::from(self.0) * u64::from(mss)).saturating_mul(MICROS_PER_SECOND) >> SHIFT)
    }

    /// The pacing rate for this gain: 1 % less, so that the queue can drain (`bbr_rate_bytes_per_sec`).
    pub(in crate::cc) fn paced(self, mss: u32, gain: u32) -> Rate {
        let scaled = (u64::from(self.0) * u64::from(mss)).saturating_mul(u64::from(gain)) >> GAIN_SHIFT;
        Rate::from_bytes(scaled.saturating_mul(MICROS_PER_SECOND / 100 * (100 - MARGIN_PERCENT)) >> SHIFT)
    }

    pub(in crate::cc) fn scaled(self, gain: u32) -> Self {
        Self(narrow((u64::from(self.0) * u64::from(gain)) >> GAIN_SHIFT))
    }
}

/// Packets and microseconds of a valid sample.
pub(in crate::cc) fn measured(sample: &RateSample) -> Option<(u32, u64)> {
    let micros = sample.interval.as_micros();
    sample.delivered.filter(|_| micros > 0).map(|delivered| (delivered, micros))
}

/// `BW_SCALE`.
const SHIFT: u32 = 24;
const ONE: u64 = 1 << SHIFT;
const MICROS_PER_SECOND: u64 = 1_000_000;
/// `bbr_pacing_margin_percent`.
const MARGIN_PERCENT: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    /// 10 Mbit/s of packets with 1514 bytes on the link, as ACKs show it: 826 packets per second.
    const TEN_MBIT: Bandwidth = Bandwidth(13_851);

    #[test]
    fn ten_mbit_is_826_packets_per_second() {
        assert_eq!(Bandwidth::of(826, 1_000_000), Bandwidth(13_857));
        assert_eq!(Bandwidth::of(34, 41_182), TEN_MBIT);
        assert_eq!(TEN_MBIT.rate(1_448), Rate::from_bytes(1_195_445));
    }

    /// On a path of 10 Mbit/s, Linux 6.12 paces at 9467928 bit/s while it cruises and at 11834904 bit/s while it
    /// probes.
    #[test]
    fn pacing_is_one_percent_below_the_bandwidth() {
        assert_eq!(TEN_MBIT.paced(1_448, UNIT), Rate::from_bytes(1_183_491));
        assert_eq!(TEN_MBIT.paced(1_448, UNIT * 5 / 4), Rate::from_bytes(1_479_363));
    }

    #[test]
    fn packets_are_rounded_down_in_general_and_up_in_the_bdp() {
        assert_eq!(TEN_MBIT.packets_in(40_000), 33);
        assert_eq!(TEN_MBIT.packets_in_at(40_000, UNIT), 34);
        assert_eq!(TEN_MBIT.packets_in_at(40_000, 2 * UNIT), 67);
        assert_eq!(Bandwidth::ZERO.packets_in_at(40_000, UNIT), 0);
    }

    #[test]
    fn the_unit_holds_a_terabit_and_caps_higher_rates() {
        let terabit = Bandwidth::of(82_563_000, 1_000_000);
        assert_eq!(terabit.rate(1_448).as_bits() / 1_000_000_000, 956);
        assert_eq!(Bandwidth::of(u64::from(u32::MAX), 1), Bandwidth(u32::MAX));
    }

    #[test]
    fn a_sample_without_an_interval_is_none() {
        let sample = RateSample { delivered: Some(3), ..RateSample::default() };
        assert_eq!(measured(&sample), None);
        let sample = RateSample { interval: Span::from_millis(1), ..RateSample::default() };
        assert_eq!(measured(&sample), None);
        let sample = RateSample { delivered: Some(3), interval: Span::from_millis(1), ..RateSample::default() };
        assert_eq!(measured(&sample), Some((3, 1_000)));
    }
}
