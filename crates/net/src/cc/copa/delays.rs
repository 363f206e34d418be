//! Copa's delay estimates: the minimum and the standing round-trip time, and whether the queue has been nearly empty.
//!
//! The standing round-trip time is the minimum over half a smoothed round-trip time: compressed ACKs don't count
//! (section 2.1).

use super::extremes::Extreme;
use crate::time::{Span, Time};

/// Round-trip times over several periods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Delays {
    minimum: Extreme,
    standing: Extreme,
    recent_min: Extreme,
    recent_max: Extreme,
}

impl Delays {
    pub(super) fn new() -> Self {
        Self {
            minimum: Extreme::minimum(),
            standing: Extreme::minimum(),
            recent_min: Extreme::minimum(),
            recent_max: Extreme::maximum(),
        }
    }

    /// Takes a sample; `smoothed` is the transport's SRTT.
    pub(super) fn update(&mut self, now: Time, rtt: Span, smoothed: Span) {
        self.minimum.update(now, rtt, MIN_WINDOW);
        self.standing.update(now, rtt, smoothed / 2);
        self.recent_min.update(now, rtt, smoothed * NEARLY_EMPTY_RTTS);
        self.recent_max.update(now, rtt, smoothed * MAX_RTTS);
    }

    /// The standing round-trip time; None before the first sample.
    pub(super) fn standing(&self) -> Option<Span> {
        self.standing.value()
    }

    /// The standing queueing delay.
    pub(super) fn queueing(&self) -> Span {
        let [standing, minimum] = [&self.standing, &self.minimum].map(|rtt| rtt.value().unwrap_or_default());
        standing.saturating_sub(minimum)
    }

    /// Was the queue nearly empty (below a tenth of its maximum) in the last five round trips? Copa alone empties it, a
    /// buffer-filling flow does not (section 2.2).
    pub(super) fn was_nearly_empty(&self) -> bool {
        let values = [&self.minimum, &self.recent_min, &self.recent_max].map(Extreme::value);
        let [Some(minimum), Some(low), Some(high)] = values else { return true };
        low.saturating_sub(minimum) * 10 <= high.saturating_sub(minimum)
    }
}

/// Length of the minimum filter.
const MIN_WINDOW: Span = Span::from_secs(10);
/// Round trips within which a queue that only Copa fills has been empty once.
const NEARLY_EMPTY_RTTS: u64 = 5;
/// Round trips over which the maximum is taken.
const MAX_RTTS: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::ms;

    /// Feeds a sample every millisecond.
    fn after(rtts_ms: impl IntoIterator<Item = u64>) -> Delays {
        let mut delays = Delays::new();
        for (at, rtt) in (0..).zip(rtts_ms) {
            delays.update(ms(at), Span::from_millis(rtt), Span::from_millis(20));
        }
        delays
    }

    #[test]
    fn a_queue_that_empties_regularly_is_copas_own() {
        assert!(after((0..200).map(|at| 20 + at % 40 / 8)).was_nearly_empty());
    }

    #[test]
    fn a_standing_queue_belongs_to_other_flows() {
        assert!(!after((0..300).map(|at| if at < 50 { 20 } else { 30 + at % 40 / 8 })).was_nearly_empty());
    }

    #[test]
    fn the_standing_round_trip_time_ignores_a_spike() {
        let delays = after((0..100).map(|at| if at > 95 { 60 } else { 22 }));
        assert_eq!((delays.standing(), delays.queueing()), (Some(Span::from_millis(22)), Span::ZERO));
    }
}
