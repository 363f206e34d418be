//! Exact minimum and maximum over a sliding window of time.
//!
//! A monotonic queue keeps only samples that may become the extreme: each is worse than the one before it. A sample
//! costs O(1) on average, and memory is bounded by the number of different values in the window.

use crate::time::{Span, Time};
use alloc::collections::VecDeque;

/// The samples that may become the extreme.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extreme {
    /// Oldest and best first.
    samples: VecDeque<(Time, Span)>,
    is_maximum: bool,
}

impl Extreme {
    /// A minimum filter.
    pub(super) fn minimum() -> Self {
        Self::default()
    }

    /// A maximum filter.
    pub(super) fn maximum() -> Self {
        Self { is_maximum: true, ..Self::default() }
    }

    /// Takes a sample; forgets those older than `window`.
    pub(super) fn update(&mut self, now: Time, value: Span, window: Span) {
        let is_maximum = self.is_maximum;
        let is_no_better = |kept: Span| if is_maximum { kept <= value } else { kept >= value };
        while self.samples.back().is_some_and(|(_, kept)| is_no_better(*kept)) {
            self.samples.pop_back();
        }
        self.samples.push_back((now, value));
        while self.samples.front().is_some_and(|(at, _)| now.since(*at) > window) {
            self.samples.pop_front();
        }
    }

    /// The extreme; None before the first sample.
    pub(super) fn value(&self) -> Option<Span> {
        self.samples.front().map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::ms;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_extreme_of_what_is_in_the_window(
            steps in prop::collection::vec((0..50_u64, 0..100_u64), 1..200), window in 0..200_u64,
        ) {
            let (mut minimum, mut maximum) = (Extreme::minimum(), Extreme::maximum());
            let (mut now, mut seen) = (0, Vec::new());
            for (pause, value) in steps {
                now += pause;
                seen.push((now, value));
                minimum.update(ms(now), Span::from_millis(value), Span::from_millis(window));
                maximum.update(ms(now), Span::from_millis(value), Span::from_millis(window));
                let inside = || seen.iter().filter(|(at, _)| now - at <= window).map(|(_, value)| *value);
                prop_assert_eq!(minimum.value(), inside().min().map(Span::from_millis));
                prop_assert_eq!(maximum.value(), inside().max().map(Span::from_millis));
            }
        }
    }
}
