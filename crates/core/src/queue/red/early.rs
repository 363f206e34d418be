//! Which packet red hits while its average is between the thresholds: one random number chooses the next one, which
//! makes the gaps even (Linux `include/net/red.h`, `red_mark_probability`).

use super::slope::Slope;
use crate::dice::Dice;

/// The count towards the next hit.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::queue) struct Early {
    /// Packets since the last hit (`qcount`); None when there was none since the average was below `min`.
    since_hit: Option<u64>,
    /// The random number that chooses the next hit (`qR`).
    chosen: u64,
}

impl Early {
    /// The average is outside: the count begins anew.
    pub const fn forget(&mut self) {
        self.since_hit = None;
    }

    /// Is this packet hit?
    pub fn hits(&mut self, slope: &Slope, average: u64, dice: &mut Dice) -> bool {
        let hit = match self.since_hit.map(|count| count + 1) {
            Some(count) if slope.excess(average) * count < self.chosen => {
                self.since_hit = Some(count);
                return false;
            }
            found => found.is_some(),
        };
        self.since_hit = Some(0);
        self.chosen = slope.throw(dice);
        hit
    }
}
