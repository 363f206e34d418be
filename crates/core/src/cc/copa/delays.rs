//! What Copa knows of the path: the least round trip, the standing one, and whether the queue has been nearly empty.
//!
//! The standing round trip is the smallest of the last half smoothed one: compressed ACKs don't count (section 2.1).

use super::extremes::Extreme;
use crate::time::{Span, Time};

/// Round trips of several stretches of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Delays {
    least: Extreme,
    standing: Extreme,
    recent_least: Extreme,
    recent_most: Extreme,
}

impl Delays {
    pub(super) fn new() -> Self {
        Self {
            least: Extreme::minimum(),
            standing: Extreme::minimum(),
            recent_least: Extreme::minimum(),
            recent_most: Extreme::maximum(),
        }
    }

    /// Takes a sample; `smoothed` is the transport's.
    pub(super) fn update(&mut self, now: Time, rtt: Span, smoothed: Span) {
        self.least.update(now, rtt, LEAST_WINDOW);
        self.standing.update(now, rtt, smoothed / 2);
        self.recent_least.update(now, rtt, smoothed * NEARLY_EMPTY_RTTS);
        self.recent_most.update(now, rtt, smoothed * LARGEST_RTTS);
    }

    /// The standing round trip; None before the first sample.
    pub(super) fn standing(&self) -> Option<Span> {
        self.standing.value()
    }

    /// The standing queue's delay.
    pub(super) fn queueing(&self) -> Span {
        let [standing, least] = [&self.standing, &self.least].map(|rtt| rtt.value().unwrap_or_default());
        standing.saturating_sub(least)
    }

    /// Was the queue nearly empty in the last five round trips: below a tenth of what it was at most? Copa alone
    /// empties it, a flow that fills the buffer doesn't (section 2.2).
    pub(super) fn was_nearly_empty(&self) -> bool {
        let values = [&self.least, &self.recent_least, &self.recent_most].map(Extreme::value);
        let [Some(least), Some(low), Some(high)] = values else { return true };
        low.saturating_sub(least) * 10 <= high.saturating_sub(least)
    }
}

/// How long the least round trip counts.
const LEAST_WINDOW: Span = Span::from_secs(10);
/// Round trips in which a queue that only Copa fills has been empty once.
const NEARLY_EMPTY_RTTS: u64 = 5;
/// Round trips whose largest is the measure.
const LARGEST_RTTS: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::ms;

    /// Samples every millisecond.
    fn after(rtts_ms: impl IntoIterator<Item = u64>) -> Delays {
        let mut delays = Delays::new();
        for (at, rtt) in (0..).zip(rtts_ms) {
            delays.update(ms(at), Span::from_millis(rtt), Span::from_millis(20));
        }
        delays
    }

    #[test]
    fn a_queue_that_empties_now_and_then_is_copas_own() {
        assert!(after((0..200).map(|at| 20 + at % 40 / 8)).was_nearly_empty());
    }

    #[test]
    fn a_queue_that_stands_is_somebody_elses() {
        assert!(!after((0..300).map(|at| if at < 50 { 20 } else { 30 + at % 40 / 8 })).was_nearly_empty());
    }

    #[test]
    fn the_standing_round_trip_overlooks_a_spike() {
        let delays = after((0..100).map(|at| if at > 95 { 60 } else { 22 }));
        assert_eq!((delays.standing(), delays.queueing()), (Some(Span::from_millis(22)), Span::ZERO));
    }
}
