//! The delivery rates that ACKs bring, and the largest of them.

use super::Bbr;
pub(super) use crate::cc::model::bandwidth::{Bandwidth, UNIT, measured};
use crate::cc::{RateSample, Vitals};

impl Bbr {
    /// Counts rounds and takes the delivery rate of this ACK into the maximum.
    pub(super) fn update_bandwidth(&mut self, vitals: &Vitals, sample: &RateSample) {
        self.rounds.started = false;
        let Some((delivered, micros)) = measured(sample) else { return };
        if self.rounds.advance(vitals, sample.prior_delivered) {
            self.recovery.end_conservation();
        }
        self.sample_long_term(vitals, sample);
        let bandwidth = Bandwidth::of(u64::from(delivered), micros);
        // An application that sends little tells nothing of the path, unless it sent more than was known.
        if !sample.is_app_limited || bandwidth >= self.max_bandwidth.best() {
            self.max_bandwidth.update(self.rounds.count, bandwidth, WINDOW);
        }
    }
}

/// Rounds that a maximum counts (`bbr_bw_rtts`): a gain cycle and two more.
pub(super) const WINDOW: u32 = 10;

#[cfg(test)]
mod tests {
    use super::super::Mode;
    use super::super::tests::{TEN_MBIT, bbr_with};
    use super::*;
    use crate::time::Span;

    #[test]
    fn an_idle_application_can_raise_the_estimate_but_not_let_it_expire() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        let mut round = |delivered| {
            vitals.delivered += 1;
            let sample = RateSample {
                prior_delivered: vitals.delivered,
                delivered: Some(delivered),
                interval: Span::from_millis(40),
                is_app_limited: true,
                ..RateSample::default()
            };
            bbr.update_bandwidth(&vitals, &sample);
            bbr.max_bandwidth.best()
        };
        assert!((0..20).all(|_| round(5) == TEN_MBIT));
        assert_eq!(round(40), Bandwidth::of(40, 40_000));
    }
}
