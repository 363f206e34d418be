//! Pacing rate and super-packet size.

use super::Bbr;
use super::bandwidth::Bandwidth;
use crate::cc::model::pacing::{HIGH_GAIN, SLOW_BYTES, initial_rate};
use crate::cc::{CcState, GSO_MAX_BYTES, PACING_SHIFT, SenderState};
use crate::number::narrow;

impl Bbr {
    /// The initial pacing rate: the initial window per round trip at Startup's gain; per millisecond before the first
    /// round-trip time sample.
    pub(super) fn set_initial_pacing_rate(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.has_seen_rtt |= tp.srtt_us8 > 0;
        cc.pacing_rate = initial_rate(tp, cc, HIGH_GAIN);
    }

    /// Sets the pacing rate for this gain; until the pipe is full the rate only grows.
    pub(super) fn set_pacing_rate(&mut self, tp: &SenderState, cc: &mut CcState, bandwidth: Bandwidth, gain: u32) {
        let rate = bandwidth.paced(tp.mss, gain).min(tp.max_pacing_rate);
        if !self.has_seen_rtt && tp.srtt_us8 > 0 {
            self.set_initial_pacing_rate(tp, cc);
        }
        if self.full_pipe.is_reached() || rate > cc.pacing_rate {
            cc.pacing_rate = rate;
        }
    }
}

/// Minimum segments in a super-packet: 1 below 1.2 Mbit/s.
pub(super) fn min_tso_segments(cc: &CcState) -> u32 {
    if cc.pacing_rate.as_bytes() < SLOW_BYTES { 1 } else { 2 }
}

/// Segments in a super-packet at this pacing rate: about a millisecond's worth (`bbr_tso_segs_goal`).
pub(super) fn tso_segments(tp: &SenderState, cc: &CcState) -> u32 {
    let bytes = narrow(cc.pacing_rate.as_bytes() >> PACING_SHIFT).min(GSO_MAX_BYTES);
    let segments = bytes / tp.mss;
    segments.max(min_tso_segments(cc)).min(MAX_SEGMENTS)
}

/// Linux's limit of seven bits.
const MAX_SEGMENTS: u32 = 0x7f;

#[cfg(test)]
mod tests {
    use super::super::Mode;
    use super::super::tests::{TEN_MBIT, bbr_with};
    use super::*;
    use crate::cc::CongestionControl;
    use crate::cc::testing::{cc, tp};
    use crate::rate::Rate;
    use crate::rng::Rng;

    #[test]
    fn the_initial_rate_uses_a_millisecond_until_a_round_trip_is_measured() {
        let (mut tp, mut cc) = (tp(), cc());
        let mut bbr = Bbr::new(Rng::from_name(1, "bbr"));
        bbr.init(&tp, &mut cc);
        assert_eq!(cc.pacing_rate.as_bytes(), 41_381_651, "2.887 times 10 packets per millisecond, less 1 %");
        assert!(!bbr.has_seen_rtt && cc.paced);

        tp.srtt_us8 = 40_000 * 8;
        bbr.set_pacing_rate(&tp, &mut cc, Bandwidth::ZERO, HIGH_GAIN);
        assert_eq!(cc.pacing_rate.as_bytes(), 1_034_467);
        assert!(bbr.has_seen_rtt);
    }

    #[test]
    fn the_rate_only_grows_until_the_pipe_is_full() {
        let (mut bbr, tp, mut cc) = bbr_with(Mode::Startup);
        cc.pacing_rate = Rate::from_bytes(2_000_000);
        bbr.full_pipe = super::super::FullPipe::default();
        bbr.set_pacing_rate(&tp, &mut cc, TEN_MBIT, 256);
        assert_eq!(cc.pacing_rate, Rate::from_bytes(2_000_000));
        let (mut bbr, ..) = bbr_with(Mode::Drain);
        bbr.set_pacing_rate(&tp, &mut cc, TEN_MBIT, 256);
        assert_eq!(cc.pacing_rate, TEN_MBIT.paced(1_448, 256));
    }

    #[test]
    fn the_application_limits_the_rate() {
        let (mut bbr, mut tp, mut cc) = bbr_with(Mode::ProbeBw);
        tp.max_pacing_rate = Rate::from_bytes(500_000);
        bbr.set_pacing_rate(&tp, &mut cc, TEN_MBIT, 320);
        assert_eq!(cc.pacing_rate, Rate::from_bytes(500_000));
    }

    #[test]
    fn super_packets_last_a_millisecond() {
        let (tp, mut cc) = (tp(), cc());
        let table = [(149_999, 1, 1), (150_000, 2, 2), (1_183_488, 2, 2), (12_000_000, 2, 8), (1_250_000_000, 2, 45)];
        for (bytes, fewest, usual) in table {
            cc.pacing_rate = Rate::from_bytes(bytes);
            assert_eq!((min_tso_segments(&cc), tso_segments(&tp, &cc)), (fewest, usual), "{bytes} B/s");
        }
    }
}
