//! What follows for the pacing rate, and for the size of super-packets.

use super::Bbr;
use super::bandwidth::Bandwidth;
use super::startup::HIGH_GAIN;
use crate::cc::model::pacing::initial_rate;
use crate::cc::{GSO_MAX_BYTES, Vitals};

impl Bbr {
    /// The initial window in a round trip, at Startup's gain; in a millisecond while none was measured.
    pub(super) fn set_initial_pacing_rate(&mut self, vitals: &mut Vitals) {
        self.has_seen_rtt |= vitals.srtt_us8 > 0;
        vitals.pacing_rate = initial_rate(vitals, HIGH_GAIN);
    }

    /// Paces at this gain; until the pipe is full the rate only grows.
    pub(super) fn set_pacing_rate(&mut self, vitals: &mut Vitals, bandwidth: Bandwidth, gain: u32) {
        let rate = bandwidth.paced(vitals.mss, gain).min(vitals.max_pacing_rate);
        if !self.has_seen_rtt && vitals.srtt_us8 > 0 {
            self.set_initial_pacing_rate(vitals);
        }
        if self.full_pipe.is_reached() || rate > vitals.pacing_rate {
            vitals.pacing_rate = rate;
        }
    }
}

/// Fewest segments in a super-packet: below 1.2 Mbit/s each packet goes alone.
pub(super) fn min_tso_segments(vitals: &Vitals) -> u32 {
    if vitals.pacing_rate.as_bytes() < SLOW_BYTES { 1 } else { 2 }
}

/// Segments of the super-packets that this pacing rate makes: about a millisecond's worth (`bbr_tso_segs_goal`).
pub(super) fn tso_segments(vitals: &Vitals) -> u32 {
    let bytes = u32::try_from(vitals.pacing_rate.as_bytes() >> PACING_SHIFT).unwrap_or(u32::MAX).min(GSO_MAX_BYTES);
    let segments = bytes / vitals.mss;
    segments.max(min_tso_segments(vitals)).min(MOST_SEGMENTS)
}

/// `bbr_min_tso_rate`, in bytes.
const SLOW_BYTES: u64 = 1_200_000 / 8;
/// `sk_pacing_shift`.
const PACING_SHIFT: u32 = 10;
/// Linux's bound of seven bits.
const MOST_SEGMENTS: u32 = 0x7f;

#[cfg(test)]
mod tests {
    use super::super::Mode;
    use super::super::tests::{TEN_MBIT, bbr_with};
    use super::*;
    use crate::cc::Control;
    use crate::cc::testing::vitals;
    use crate::dice::Dice;
    use crate::rate::Rate;

    #[test]
    fn it_begins_with_the_initial_window_a_millisecond_then_a_round_trip() {
        let mut vitals = vitals();
        let mut bbr = Bbr::new(Dice::named(1, "bbr"));
        bbr.start(&mut vitals);
        assert_eq!(vitals.pacing_rate.as_bytes(), 41_381_651, "2.887 times 10 packets a millisecond, less 1 %");
        assert!(!bbr.has_seen_rtt && vitals.paced);

        vitals.srtt_us8 = 40_000 * 8;
        bbr.set_pacing_rate(&mut vitals, Bandwidth::ZERO, HIGH_GAIN);
        assert_eq!(vitals.pacing_rate.as_bytes(), 1_034_467);
        assert!(bbr.has_seen_rtt);
    }

    #[test]
    fn the_rate_only_grows_until_the_pipe_is_full() {
        let (mut bbr, mut vitals) = bbr_with(Mode::Startup);
        vitals.pacing_rate = Rate::from_bytes(2_000_000);
        bbr.full_pipe = super::super::FullPipe::default();
        bbr.set_pacing_rate(&mut vitals, TEN_MBIT, 256);
        assert_eq!(vitals.pacing_rate, Rate::from_bytes(2_000_000));
        let (mut bbr, _) = bbr_with(Mode::Drain);
        bbr.set_pacing_rate(&mut vitals, TEN_MBIT, 256);
        assert_eq!(vitals.pacing_rate, TEN_MBIT.paced(1_448, 256));
    }

    #[test]
    fn the_application_sets_the_limit() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        vitals.max_pacing_rate = Rate::from_bytes(500_000);
        bbr.set_pacing_rate(&mut vitals, TEN_MBIT, 320);
        assert_eq!(vitals.pacing_rate, Rate::from_bytes(500_000));
    }

    #[test]
    fn super_packets_are_a_millisecond_long() {
        let mut vitals = vitals();
        let table = [(149_999, 1, 1), (150_000, 2, 2), (1_183_488, 2, 2), (12_000_000, 2, 8), (1_250_000_000, 2, 45)];
        for (bytes, fewest, usual) in table {
            vitals.pacing_rate = Rate::from_bytes(bytes);
            assert_eq!((min_tso_segments(&vitals), tso_segments(&vitals)), (fewest, usual), "{bytes} B/s");
        }
    }
}
