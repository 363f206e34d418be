//! The largest delivery rate of this cycle of probes and the one before (`max_bw`).

use super::Bbr3;
use crate::cc::RateSample;
use crate::cc::model::bandwidth::Bandwidth;

/// Two slots of time, as many as `MaxBwFilterLen`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MaxBw {
    previous: Bandwidth,
    current: Bandwidth,
}

impl MaxBw {
    pub(super) fn best(&self) -> Bandwidth {
        self.previous.max(self.current)
    }

    pub(super) fn take(&mut self, rate: Bandwidth) {
        self.current = self.current.max(rate);
    }

    /// A cycle is over. One without a sample leaves what is known (`bbr_advance_max_bw_filter`).
    pub(super) fn advance(&mut self) {
        if self.current > Bandwidth::ZERO {
            self.previous = core::mem::take(&mut self.current);
        }
    }
}

impl Bbr3 {
    /// An application that sends little tells nothing of the path, unless it sent more than was known (`UpdateMaxBw`).
    pub(super) fn update_max_bw(&mut self, sample: &RateSample) {
        if !sample.is_app_limited || self.delivery_rate >= self.max_bw.best() {
            self.max_bw.take(self.delivery_rate);
        }
    }

    /// The bandwidth to send at (`BBR.bw`).
    pub(super) fn bw(&self) -> Bandwidth {
        self.max_bw.best().min(self.short_term.bw_shortterm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_lasts_for_two_cycles() {
        let mut filter = MaxBw::default();
        filter.take(Bandwidth(100));
        filter.advance();
        filter.take(Bandwidth(60));
        assert_eq!(filter.best(), Bandwidth(100));
        filter.advance();
        assert_eq!(filter.best(), Bandwidth(60));
        filter.advance();
        assert_eq!(filter.best(), Bandwidth(60), "an empty cycle forgets nothing");
    }
}
