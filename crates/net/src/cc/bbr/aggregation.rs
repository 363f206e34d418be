//! Window increase for aggregated ACKs.

use super::Bbr;
use crate::cc::model::aggregation::MAX_US;
pub(super) use crate::cc::model::aggregation::{Aggregation, ROUNDS};

impl Bbr {
    /// Packets to add to the window for aggregated ACKs, once the pipe is full.
    pub(super) fn aggregation_bonus(&self) -> u32 {
        if !self.full_pipe.is_reached() {
            return 0;
        }
        self.aggregation.max_excess().min(self.bandwidth().packets_in(MAX_US))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::bbr_with;
    use super::super::{FullPipe, Mode};
    use super::*;
    use crate::cc::RateSample;
    use crate::cc::model::bandwidth::Bandwidth;
    use crate::cc::testing::{cc, tp};
    use crate::time::Span;

    /// ACKs of `packets` packets beyond the estimate on a path with zero bandwidth.
    fn excess_of(packets: u32) -> Aggregation {
        let (tp, mut cc) = (tp(), cc());
        cc.cwnd = packets;
        let mut aggregation = Aggregation::new(&tp);
        let sample = RateSample {
            acked_sacked: packets,
            delivered: Some(packets),
            interval: Span::from_millis(40),
            ..RateSample::default()
        };
        aggregation.update(&tp, &cc, &sample, Bandwidth::ZERO, false, ROUNDS);
        aggregation
    }

    #[test]
    fn the_bonus_waits_for_a_full_pipe_and_is_limited_to_100_ms() {
        let (mut bbr, ..) = bbr_with(Mode::ProbeBw);
        bbr.aggregation = excess_of(1_000);
        assert_eq!(bbr.aggregation_bonus(), 82, "of 826 packets per second");
        bbr.aggregation = excess_of(20);
        assert_eq!(bbr.aggregation_bonus(), 20);
        bbr.full_pipe = FullPipe::default();
        assert_eq!(bbr.aggregation_bonus(), 0);
    }
}
