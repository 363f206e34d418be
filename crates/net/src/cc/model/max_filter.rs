//! The maximum sample of the last n rounds in three samples (Linux's `lib/win_minmax.c`).
//!
//! Kathleen Nichols' algorithm keeps the best sample, the best since then, and the best since that one, spread over the
//! window so that a good second choice is ready when the first expires. It is approximate, and BBR's behaviour after a
//! drop in bandwidth depends on the approximation.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Choice<V> {
    round: u32,
    value: V,
}

/// Three samples, each no older and no larger than the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cc) struct MaxFilter<V>([Choice<V>; 3]);

impl<V: Copy + Ord> MaxFilter<V> {
    /// The maximum.
    pub(in crate::cc) fn best(&self) -> V {
        self.0[0].value
    }

    /// Takes a sample of this round; forgets samples older than `window` rounds.
    pub(in crate::cc) fn update(&mut self, round: u32, value: V, window: u32) {
        let new = Choice { round, value };
        let [first, second, third] = &mut self.0;
        if value >= first.value || round - third.round > window {
            self.0 = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        self.expire(new, window);
    }

    /// Drops expired samples, and takes later ones from later quarters of the window.
    fn expire(&mut self, new: Choice<V>, window: u32) {
        let [first, second, third] = &mut self.0;
        let age = new.round - first.round;
        if age > window {
            (*first, *second, *third) = (*second, *third, new);
            if new.round - first.round > window {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.round == first.round && age > window / 4 {
            (*second, *third) = (new, new);
        } else if third.round == second.round && age > window / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const WINDOW: u32 = 10;

    #[test]
    fn a_maximum_lasts_for_ten_rounds() {
        let mut filter = MaxFilter::default();
        filter.update(1, 100, WINDOW);
        let best: Vec<u32> = (2..=14)
            .map(|round| {
                filter.update(round, 60, WINDOW);
                filter.best()
            })
            .collect();
        assert_eq!(best, [100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 60, 60, 60]);
    }

    #[test]
    fn a_new_maximum_counts_at_once() {
        let mut filter = MaxFilter::default();
        filter.update(1, 100, WINDOW);
        filter.update(2, 101, WINDOW);
        assert_eq!(filter.best(), 101);
    }

    #[test]
    fn second_and_third_choices_come_from_later_quarters() {
        let mut filter = MaxFilter::default();
        filter.update(0, 100, WINDOW);
        for (round, bandwidth) in [(1, 90), (3, 80), (6, 70), (11, 60), (12, 50)] {
            filter.update(round, bandwidth, WINDOW);
        }
        assert_eq!(filter.0.map(|choice| (choice.round, choice.value)), [(3, 80), (6, 70), (11, 60)]);
    }

    #[test]
    fn the_third_choice_waits_for_the_last_half() {
        let mut filter = MaxFilter::default();
        for (round, bandwidth) in [(0, 100), (3, 90), (5, 80)] {
            filter.update(round, bandwidth, WINDOW);
        }
        assert_eq!(filter.0.map(|choice| choice.round), [0, 3, 3]);
        filter.update(6, 70, WINDOW);
        assert_eq!(filter.0.map(|choice| choice.round), [0, 3, 6]);
    }

    proptest! {
        /// The maximum is a sample of the window and at least the newest one.
        #[test]
        fn the_maximum_is_recent_and_large_enough(samples in prop::collection::vec((0..4_u32, 1..1_000_u32), 1..200)) {
            let mut filter = MaxFilter::default();
            let mut round = 0;
            let mut history = Vec::new();
            for (later, bandwidth) in samples {
                round += later;
                history.push((round, bandwidth));
                filter.update(round, bandwidth, WINDOW);
                let best = filter.best();
                prop_assert!(best >= bandwidth);
                prop_assert!(history.iter().any(|&(at, seen)| seen == best && round - at <= WINDOW));
                prop_assert!(filter.0.windows(2).all(|pair| pair[0].round <= pair[1].round && pair[0].value >= pair[1].value));
            }
        }
    }
}
