//! Which packet red selects while its average is between the thresholds: one random number selects the next packet,
//! which evens out the gaps (Linux `include/net/red.h`, `red_mark_probability`).

use super::slope::Slope;
use crate::rng::Rng;

/// Decision for an arriving packet (`red_action`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::queue) enum Action {
    Pass,
    /// Selected at random.
    Hit,
    /// Selected because the average exceeds `max`.
    HitHard,
}

/// The count towards the next hit.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::queue) struct Early {
    /// Packets since the last hit (`qcount`); None if there was none since the average was below `min`.
    since_hit: Option<u64>,
    /// Random number that selects the next hit (`qR`).
    chosen: u64,
}

impl Early {
    /// Decides about a packet that arrives at this average.
    pub fn action(&mut self, slope: &Slope, average: u64, rng: &mut Rng) -> Action {
        let outside = match (slope.is_below(average), slope.is_above(average)) {
            (true, _) => Action::Pass,
            (_, true) => Action::HitHard,
            _ if self.hits(slope, average, rng) => return Action::Hit,
            _ => return Action::Pass,
        };
        self.forget();
        outside
    }

    /// The average is outside the thresholds: the count restarts.
    pub const fn forget(&mut self) {
        self.since_hit = None;
    }

    /// Whether this packet is selected.
    pub fn hits(&mut self, slope: &Slope, average: u64, rng: &mut Rng) -> bool {
        let hit = match self.since_hit.map(|count| count + 1) {
            Some(count) if slope.excess(average) * count < self.chosen => {
                self.since_hit = Some(count);
                return false;
            }
            found => found.is_some(),
        };
        self.since_hit = Some(0);
        self.chosen = slope.throw(rng);
        hit
    }
}
