//! Change of a round's minimum and maximum delay since the previous round, summed over eight rounds.
//!
//! [`super::Cdg`] decides by it.

/// A round's delays in microseconds; 0 before the first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Range {
    pub min_us: i32,
    pub max_us: i32,
}

impl Range {
    pub(super) const fn is_empty(self) -> bool {
        self.min_us == 0 && self.max_us == 0
    }

    pub(super) fn take(&mut self, rtt_us: i32) {
        self.min_us = if self.min_us == 0 { rtt_us } else { self.min_us.min(rtt_us) };
        self.max_us = self.max_us.max(rtt_us);
    }

    const fn since(self, before: Self) -> Self {
        Self { min_us: self.min_us.wrapping_sub(before.min_us), max_us: self.max_us.wrapping_sub(before.max_us) }
    }

    const fn plus(self, other: Self) -> Self {
        Self { min_us: self.min_us.wrapping_add(other.min_us), max_us: self.max_us.wrapping_add(other.max_us) }
    }
}

/// The last eight changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gradients {
    changes: [Range; ROUNDS],
    sum: Range,
    next: u8,
    is_filled: bool,
}

/// The signs of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trend(Range);

impl Gradients {
    /// Resets all state.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Adds a round; returns its gradient in microseconds over eight rounds: that of the minimum delay if it rises,
    /// else that of the maximum. Missing rounds count as the mean of the others.
    pub(super) fn take(&mut self, before: Range, now: Range) -> (i32, Trend) {
        let change = now.since(before);
        let oldest = core::mem::replace(&mut self.changes[usize::from(self.next)], change);
        self.sum = self.sum.plus(change.since(oldest));
        self.next = (self.next + 1) % ROUNDS_8;
        let steeper = if self.sum.min_us > 0 { self.sum.min_us } else { self.sum.max_us };
        let gradient = if self.is_filled {
            steeper
        } else if self.next == 0 {
            self.is_filled = true;
            steeper
        } else {
            steeper.wrapping_mul(i32::from(ROUNDS_8)) / i32::from(self.next)
        };
        (gradient, Trend(self.sum))
    }
}

impl Trend {
    /// The minimum delay rises, the maximum does not: the queue is full.
    pub(super) const FULL: i8 = 1;
    /// Both rise, or the maximum falls: the queue is not full.
    pub(super) const FILLING: i8 = -1;

    /// Did either delay fall by more than noise?
    pub(super) const fn fell(self) -> bool {
        self.0.min_us <= -NOISE_US || self.0.max_us <= -NOISE_US
    }

    /// [`Trend::FULL`], [`Trend::FILLING`], or 0 if neither is clear.
    pub(super) const fn queue(self) -> i8 {
        let (minimum, maximum) = (rounded(self.0.min_us), rounded(self.0.max_us));
        if minimum > 0 && maximum <= 0 {
            Self::FULL
        } else if (minimum > 0 && maximum > 0) || maximum < 0 {
            Self::FILLING
        } else {
            0
        }
    }
}

/// In units of 64 µs, to the nearest.
const fn rounded(gradient_us: i32) -> i32 {
    let half = if gradient_us < 0 { -32 } else { 32 };
    gradient_us.saturating_add(half) / 64
}

/// Length of the sums in rounds (the module's parameter `window`, which can only be set when it is loaded).
const ROUNDS: usize = 8;
const ROUNDS_8: u8 = 8;
const NOISE_US: i32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const fn range(min_us: i32, max_us: i32) -> Range {
        Range { min_us, max_us }
    }

    #[test]
    fn a_round_has_its_minimum_and_maximum_delay() {
        let mut round = Range::default();
        assert!(round.is_empty());
        for rtt_us in [500, 300, 900] {
            round.take(rtt_us);
        }
        assert_eq!(round, range(300, 900));
    }

    /// 100 µs per round: first extrapolated to eight rounds, later summed over eight, and never more.
    #[test]
    fn gradients_are_sums_over_eight_rounds() {
        let mut gradients = Gradients::default();
        let mut seen = alloc::vec::Vec::new();
        for round in 0..12 {
            seen.push(gradients.take(range(1_000 + round * 100, 0), range(1_100 + round * 100, 0)).0);
        }
        assert!(seen.iter().all(|gradient| *gradient == 800), "{seen:?}");
        assert_eq!(gradients.take(range(2_200, 0), range(2_200, 0)).0, 700);
    }

    #[test]
    fn the_maximum_delay_counts_if_the_minimum_does_not_rise() {
        let (gradient, trend) = Gradients::default().take(range(1_000, 2_000), range(900, 2_050));
        assert_eq!((gradient, trend.fell()), (400, true));
    }

    #[test]
    fn a_queue_is_full_when_only_the_minimum_delay_rises() {
        let queues = [(100, 10), (100, 100), (0, -100), (10, 10), (-100, 10)]
            .map(|(minimum, maximum)| Trend(range(minimum, maximum)).queue());
        assert_eq!(queues, [Trend::FULL, Trend::FILLING, Trend::FILLING, 0, 0]);
    }
}
