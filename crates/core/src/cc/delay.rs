//! The smallest round-trip times of a flow, ever and of late: what Vegas and its kin reckon the queue from.
//!
//! Every sample counts a microsecond more, so that none is zero. What follows from them is each controller's own.

use super::AckSample;

/// In microseconds; [`UNKNOWN_US`] before the first sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delay {
    /// The smallest ever: propagation.
    pub base_us: u32,
    /// The smallest since the last [`Delay::forget_recent`]: propagation and queue. The smallest, because of delayed ACKs.
    pub recent_us: u32,
    /// How many samples; its owner sets it back.
    pub samples: u16,
}

impl Delay {
    /// Nothing is known.
    pub(super) const fn new() -> Self {
        Self { base_us: UNKNOWN_US, recent_us: UNKNOWN_US, samples: 0 }
    }

    /// Takes a sample, if the ACK has one.
    pub(super) fn take(&mut self, sample: &AckSample) {
        let Some(rtt_us) = sample.rtt_us() else { return };
        let rtt_us = rtt_us.saturating_add(1);
        self.base_us = self.base_us.min(rtt_us);
        self.recent_us = self.recent_us.min(rtt_us);
        self.samples = self.samples.wrapping_add(1);
    }

    /// From here on only new samples count as recent.
    pub(super) const fn forget_recent(&mut self) {
        self.recent_us = UNKNOWN_US;
    }
}

/// Longer than any.
pub(super) const UNKNOWN_US: u32 = 0x7fff_ffff;
/// Two samples a round may both be of delayed ACKs; more can be trusted.
pub(super) const FEW_SAMPLES: u16 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    #[test]
    fn the_smallest_ever_outlives_the_smallest_of_late() {
        let mut delay = Delay::new();
        for rtt in [Some(40_000), None, Some(50_000)] {
            delay.take(&AckSample { acked: 1, rtt: rtt.map(Span::from_micros), in_flight: 1 });
        }
        assert_eq!((delay.base_us, delay.recent_us, delay.samples), (40_001, 40_001, 2));
        delay.forget_recent();
        delay.take(&AckSample { acked: 1, rtt: Some(Span::from_micros(60_000)), in_flight: 1 });
        assert_eq!((delay.base_us, delay.recent_us, delay.samples), (40_001, 60_001, 3));
    }
}
