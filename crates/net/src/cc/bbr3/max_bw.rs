//! The maximum delivery rate of this probing cycle and the previous one (`max_bw`).

use super::Bbr3;
use super::version::Version;
use crate::cc::RateSample;
use crate::cc::model::bandwidth::Bandwidth;

/// Two slots (`MaxBwFilterLen`).
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

    /// Ends a cycle. A cycle without a sample keeps the maximum (`bbr_advance_max_bw_filter`).
    pub(super) fn advance(&mut self) {
        if self.current > Bandwidth::ZERO {
            self.previous = core::mem::take(&mut self.current);
        }
    }
}

impl<V: Version> Bbr3<V> {
    /// An application-limited sample is ignored unless it exceeds the estimate (`UpdateMaxBw`).
    pub(super) fn update_max_bw(&mut self, sample: &RateSample) {
        if !sample.is_app_limited || self.delivery_rate >= self.max_bw.best() {
            self.max_bw.take(self.delivery_rate);
        }
    }

    /// The bandwidth estimate (`BBR.bw`).
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
        assert_eq!(filter.best(), Bandwidth(60), "an empty cycle keeps the maximum");
    }
}
