//! The largest bandwidth of the last ten rounds, in the space of three samples (Linux's `lib/win_minmax.c`).
//!
//! Kathleen Nichols' algorithm: the best sample, the best since then, and the best since that one, kept apart in
//! time so that a good second choice stands ready when the first expires. It is approximate, and BBR's behaviour after a drop
//! in bandwidth depends on how.

use super::bandwidth::Bandwidth;

/// Rounds that a maximum counts (`bbr_bw_rtts`): a gain cycle and two more.
const WINDOW: u32 = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Choice {
    round: u32,
    bandwidth: Bandwidth,
}

/// Three choices: each is as new as the one before or newer, and no larger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MaxFilter([Choice; 3]);

impl MaxFilter {
    /// The maximum.
    pub(super) fn best(&self) -> Bandwidth {
        self.0[0].bandwidth
    }

    /// Takes a sample of this round.
    pub(super) fn update(&mut self, round: u32, bandwidth: Bandwidth) {
        let new = Choice { round, bandwidth };
        let [first, second, third] = &mut self.0;
        if bandwidth >= first.bandwidth || round - third.round > WINDOW {
            self.0 = [new; 3];
            return;
        }
        if bandwidth >= second.bandwidth {
            (*second, *third) = (new, new);
        } else if bandwidth >= third.bandwidth {
            *third = new;
        }
        self.expire(new);
    }

    /// Drops what is too old, and takes later choices from later quarters of the window.
    fn expire(&mut self, new: Choice) {
        let [first, second, third] = &mut self.0;
        let age = new.round - first.round;
        if age > WINDOW {
            (*first, *second, *third) = (*second, *third, new);
            if new.round - first.round > WINDOW {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.round == first.round && age > WINDOW / 4 {
            (*second, *third) = (new, new);
        } else if third.round == second.round && age > WINDOW / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn a_maximum_lasts_for_ten_rounds() {
        let mut filter = MaxFilter::default();
        filter.update(1, Bandwidth(100));
        let best: Vec<u32> = (2..=14)
            .map(|round| {
                filter.update(round, Bandwidth(60));
                filter.best().0
            })
            .collect();
        assert_eq!(best, [100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 60, 60, 60]);
    }

    #[test]
    fn a_new_maximum_counts_at_once() {
        let mut filter = MaxFilter::default();
        filter.update(1, Bandwidth(100));
        filter.update(2, Bandwidth(101));
        assert_eq!(filter.best(), Bandwidth(101));
    }

    #[test]
    fn second_and_third_choices_come_from_later_quarters() {
        let mut filter = MaxFilter::default();
        filter.update(0, Bandwidth(100));
        for (round, bandwidth) in [(1, 90), (3, 80), (6, 70), (11, 60), (12, 50)] {
            filter.update(round, Bandwidth(bandwidth));
        }
        assert_eq!(filter.0.map(|choice| (choice.round, choice.bandwidth.0)), [(3, 80), (6, 70), (11, 60)]);
    }

    #[test]
    fn a_third_choice_waits_for_the_last_half() {
        let mut filter = MaxFilter::default();
        for (round, bandwidth) in [(0, 100), (3, 90), (5, 80)] {
            filter.update(round, Bandwidth(bandwidth));
        }
        assert_eq!(filter.0.map(|choice| choice.round), [0, 3, 3]);
        filter.update(6, Bandwidth(70));
        assert_eq!(filter.0.map(|choice| choice.round), [0, 3, 6]);
    }

    proptest! {
        /// The maximum is a sample of the window, never less than the newest one.
        #[test]
        fn the_maximum_is_recent_and_large_enough(samples in prop::collection::vec((0..4_u32, 1..1_000_u32), 1..200)) {
            let mut filter = MaxFilter::default();
            let mut round = 0;
            let mut history = Vec::new();
            for (later, bandwidth) in samples {
                round += later;
                history.push((round, bandwidth));
                filter.update(round, Bandwidth(bandwidth));
                let best = filter.best().0;
                prop_assert!(best >= bandwidth);
                prop_assert!(history.iter().any(|&(at, seen)| seen == best && round - at <= WINDOW));
                prop_assert!(filter.0.windows(2).all(|pair| pair[0].round <= pair[1].round && pair[0].bandwidth >= pair[1].bandwidth));
            }
        }
    }
}
