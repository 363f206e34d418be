//! Which packet red selects while its average is between the thresholds: one random number selects the next packet,
//! which evens out the gaps (Linux `include/net/red.h`, `red_mark_probability`).

use super::slope::Slope;
use crate::rng::Rng;

/// The count towards the next hit.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::queue) struct Early {
    /// Packets since the last hit (`qcount`); None if there was none since the average was below `min`.
    since_hit: Option<u64>,
    /// Random number that selects the next hit (`qR`).
    chosen: u64,
}

impl Early {
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
