//! A flow's minimum round-trip times, overall and recent, from which Vegas and related controllers estimate the queue.
//!
//! A microsecond is added to each sample, so that none is zero.

use super::AckSample;

/// In microseconds; [`UNKNOWN_US`] before the first sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delay {
    /// Minimum overall: the propagation delay.
    pub base_us: u32,
    /// Minimum since the last [`Delay::forget_recent`]: propagation and queueing delay. The minimum discounts delayed
    /// ACKs.
    pub recent_us: u32,
    /// Number of samples; the owner resets it.
    pub samples: u16,
}

impl Delay {
    /// No samples yet.
    pub(super) const fn new() -> Self {
        Self { base_us: UNKNOWN_US, recent_us: UNKNOWN_US, samples: 0 }
    }

    /// Takes the ACK's sample, if it has one.
    pub(super) fn take(&mut self, sample: &AckSample) {
        let Some(rtt_us) = sample.rtt_us() else { return };
        let rtt_us = rtt_us.saturating_add(1);
        self.base_us = self.base_us.min(rtt_us);
        self.recent_us = self.recent_us.min(rtt_us);
        self.samples = self.samples.wrapping_add(1);
    }

    /// Resets the recent minimum.
    pub(super) const fn forget_recent(&mut self) {
        self.recent_us = UNKNOWN_US;
    }
}

/// Greater than any round-trip time.
pub(super) const UNKNOWN_US: u32 = 0x7fff_ffff;
/// Up to two samples per round may both be from delayed ACKs; more than two are reliable.
pub(super) const FEW_SAMPLES: u16 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    #[test]
    fn the_overall_minimum_outlives_the_recent_one() {
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
