//! How the smallest and the largest delay of a round changed since the round before, summed over eight rounds.
//!
//! What is made of it is [`super::Cdg`]'s.

/// The delays of a round in microseconds; 0 before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Range {
    pub least_us: i32,
    pub most_us: i32,
}

impl Range {
    pub(super) const fn is_empty(self) -> bool {
        self.least_us == 0 && self.most_us == 0
    }

    pub(super) fn take(&mut self, rtt_us: i32) {
        self.least_us = if self.least_us == 0 { rtt_us } else { self.least_us.min(rtt_us) };
        self.most_us = self.most_us.max(rtt_us);
    }

    const fn since(self, before: Self) -> Self {
        Self {
            least_us: self.least_us.wrapping_sub(before.least_us),
            most_us: self.most_us.wrapping_sub(before.most_us),
        }
    }

    const fn plus(self, other: Self) -> Self {
        Self { least_us: self.least_us.wrapping_add(other.least_us), most_us: self.most_us.wrapping_add(other.most_us) }
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

/// The sums' signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trend(Range);

impl Gradients {
    /// Everything is forgotten.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Takes a round in: its gradient in microseconds over eight rounds, the smallest delay's where it rises, else the
    /// largest's. Missing rounds count as the mean of the others.
    pub(super) fn take(&mut self, before: Range, now: Range) -> (i32, Trend) {
        let change = now.since(before);
        let oldest = core::mem::replace(&mut self.changes[usize::from(self.next)], change);
        self.sum = self.sum.plus(change.since(oldest));
        self.next = (self.next + 1) % ROUNDS_8;
        let steeper = if self.sum.least_us > 0 { self.sum.least_us } else { self.sum.most_us };
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
    /// The smallest delay rises, the largest does not: the queue is full.
    pub(super) const FULL: i8 = 1;
    /// Both rise, or the largest falls: it is not.
    pub(super) const FILLING: i8 = -1;

    /// Did either delay fall by more than noise?
    pub(super) const fn fell(self) -> bool {
        self.0.least_us <= -NOISE_US || self.0.most_us <= -NOISE_US
    }

    /// [`Trend::FULL`], [`Trend::FILLING`], or 0 where neither is clear.
    pub(super) const fn queue(self) -> i8 {
        let (least, most) = (rounded(self.0.least_us), rounded(self.0.most_us));
        if least > 0 && most <= 0 {
            Self::FULL
        } else if (least > 0 && most > 0) || most < 0 {
            Self::FILLING
        } else {
            0
        }
    }
}

/// In 64 µs, to the nearest.
const fn rounded(gradient_us: i32) -> i32 {
    let half = if gradient_us < 0 { -32 } else { 32 };
    gradient_us.saturating_add(half) / 64
}

/// The window of the sums (the module's parameter `window`, which is set when it is loaded only).
const ROUNDS: usize = 8;
const ROUNDS_8: u8 = 8;
const NOISE_US: i32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    const fn range(least_us: i32, most_us: i32) -> Range {
        Range { least_us, most_us }
    }

    #[test]
    fn a_round_has_its_smallest_and_largest_delay() {
        let mut round = Range::default();
        assert!(round.is_empty());
        for rtt_us in [500, 300, 900] {
            round.take(rtt_us);
        }
        assert_eq!(round, range(300, 900));
    }

    /// 100 µs a round: at first extrapolated to eight rounds, later summed over eight, and never more.
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
    fn the_largest_delay_counts_where_the_smallest_does_not_rise() {
        let (gradient, trend) = Gradients::default().take(range(1_000, 2_000), range(900, 2_050));
        assert_eq!((gradient, trend.fell()), (400, true));
    }

    #[test]
    fn a_queue_is_full_when_only_the_smallest_delay_rises() {
        let queues = [(100, 10), (100, 100), (0, -100), (10, 10), (-100, 10)]
            .map(|(least, most)| Trend(range(least, most)).queue());
        assert_eq!(queues, [Trend::FULL, Trend::FILLING, Trend::FILLING, 0, 0]);
    }
}
