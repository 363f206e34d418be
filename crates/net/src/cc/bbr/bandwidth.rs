//! Bandwidth estimate: the maximum of the delivery rate samples.

use super::Bbr;
pub(super) use crate::cc::model::bandwidth::{Bandwidth, UNIT, measured};
use crate::cc::{RateSample, SenderState};

impl Bbr {
    /// Counts rounds and adds this ACK's delivery rate to the maximum filter.
    pub(super) fn update_bandwidth(&mut self, tp: &SenderState, sample: &RateSample) {
        self.rounds.started = false;
        let Some((delivered, micros)) = measured(sample) else { return };
        if self.rounds.advance(tp, sample.prior_delivered) {
            self.recovery.end_conservation();
        }
        self.sample_long_term(tp, sample);
        let bandwidth = Bandwidth::of(u64::from(delivered), micros);
        // An application-limited sample is ignored unless it exceeds the estimate.
        if !sample.is_app_limited || bandwidth >= self.max_bandwidth.best() {
            self.max_bandwidth.update(self.rounds.count, bandwidth, WINDOW);
        }
    }
}

/// Length of the maximum filter in rounds (`bbr_bw_rtts`): a gain cycle and two more.
pub(super) const WINDOW: u32 = 10;

#[cfg(test)]
mod tests {
    use super::super::Mode;
    use super::super::tests::{TEN_MBIT, bbr_with};
    use super::*;
    use crate::time::Span;

    #[test]
    fn an_app_limited_sample_can_raise_the_estimate_but_not_expire_it() {
        let (mut bbr, mut tp, _cc) = bbr_with(Mode::ProbeBw);
        let mut round = |delivered| {
            tp.delivered += 1;
            let sample = RateSample {
                prior_delivered: tp.delivered,
                delivered: Some(delivered),
                interval: Span::from_millis(40),
                is_app_limited: true,
                ..RateSample::default()
            };
            bbr.update_bandwidth(&tp, &sample);
            bbr.max_bandwidth.best()
        };
        assert!((0..20).all(|_| round(5) == TEN_MBIT));
        assert_eq!(round(40), Bandwidth::of(40, 40_000));
    }
}
