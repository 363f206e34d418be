//! Velocity: a window that has moved in one direction for three round trips moves twice as fast with each further one
//! (section 2.1).

/// How fast the window moves, and where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Velocity {
    value: u64,
    direction: Option<Direction>,
    /// Round trips in this direction.
    rounds: u32,
    /// The window when the last round trip began, in the controller's unit.
    before: u64,
}

/// Where a window moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Velocity {
    /// At rest.
    pub(super) const fn new(window: u64) -> Self {
        Self { value: 1, direction: None, rounds: 0, before: window }
    }

    /// How many packets per δ the window moves by in a round trip.
    pub(super) const fn value(&self) -> u64 {
        self.value
    }

    /// An ACK asks for this direction: a velocity that was gained in the other one does not count.
    pub(super) fn head(&mut self, up: bool, window: u64) {
        let direction = if up { Direction::Up } else { Direction::Down };
        if self.value > 1 && self.direction != Some(direction) {
            *self = Self { direction: Some(direction), ..Self::new(window) };
        }
    }

    /// A round trip is over; `most`: a velocity that no round trip may exceed, so that none more than doubles the window.
    pub(super) fn end_round(&mut self, window: u64, most: u64) {
        let direction = if window > self.before { Direction::Up } else { Direction::Down };
        self.before = window;
        if self.direction == Some(direction) {
            self.rounds += 1;
            if self.rounds >= ROUNDS_BEFORE_DOUBLING {
                self.value *= 2;
            }
        } else {
            (self.direction, self.rounds, self.value) = (Some(direction), 1, 1);
        }
        self.value = self.value.min(most).max(1);
    }
}

/// Round trips in one direction before the velocity doubles.
const ROUNDS_BEFORE_DOUBLING: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_after_three_rounds_and_falls_back_when_it_turns() {
        let mut velocity = Velocity::new(100);
        let values = [110, 120, 130, 140, 150, 140, 130, 120, 130].map(|window| {
            velocity.end_round(window, u64::MAX);
            velocity.value()
        });
        assert_eq!(values, [1, 1, 2, 4, 8, 1, 1, 2, 1]);
    }

    #[test]
    fn an_ack_of_the_other_direction_ends_it_at_once() {
        let mut velocity = Velocity::new(100);
        for window in [110, 120, 130, 140] {
            velocity.end_round(window, u64::MAX);
        }
        velocity.head(true, 145);
        assert_eq!(velocity.value(), 4);
        velocity.head(false, 145);
        assert_eq!(velocity.value(), 1);
    }

    #[test]
    fn it_never_more_than_doubles_a_window() {
        let mut velocity = Velocity::new(0);
        for window in 1..100 {
            velocity.end_round(window, 50);
        }
        assert_eq!(velocity.value(), 50);
    }
}
