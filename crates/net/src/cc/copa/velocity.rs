//! Velocity: after three round trips in one direction the window's velocity doubles with each further one (section
//! 2.1).

/// The window's velocity and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Velocity {
    value: u64,
    direction: Option<Direction>,
    /// Round trips in this direction.
    rounds: u32,
    /// The window at the start of the last round trip, in the controller's unit.
    before: u64,
}

/// The direction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Velocity {
    /// Initial velocity at this window.
    pub(super) const fn new(window: u64) -> Self {
        Self { value: 1, direction: None, rounds: 0, before: window }
    }

    /// Packets per δ by which the window moves in a round trip.
    pub(super) const fn value(&self) -> u64 {
        self.value
    }

    /// An ACK requires this direction; resets a velocity gained in the other one.
    pub(super) fn set_direction(&mut self, up: bool, window: u64) {
        let direction = if up { Direction::Up } else { Direction::Down };
        if self.value > 1 && self.direction != Some(direction) {
            *self = Self { direction: Some(direction), ..Self::new(window) };
        }
    }

    /// Ends a round trip. `maximum` limits the velocity, so that no round trip more than doubles the window.
    pub(super) fn end_round(&mut self, window: u64, maximum: u64) {
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
        self.value = self.value.min(maximum).max(1);
    }
}

/// Round trips in one direction before the velocity doubles.
const ROUNDS_BEFORE_DOUBLING: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_after_three_rounds_and_resets_on_a_reversal() {
        let mut velocity = Velocity::new(100);
        let values = [110, 120, 130, 140, 150, 140, 130, 120, 130].map(|window| {
            velocity.end_round(window, u64::MAX);
            velocity.value()
        });
        assert_eq!(values, [1, 1, 2, 4, 8, 1, 1, 2, 1]);
    }

    #[test]
    fn an_ack_in_the_other_direction_resets_it_at_once() {
        let mut velocity = Velocity::new(100);
        for window in [110, 120, 130, 140] {
            velocity.end_round(window, u64::MAX);
        }
        velocity.set_direction(true, 145);
        assert_eq!(velocity.value(), 4);
        velocity.set_direction(false, 145);
        assert_eq!(velocity.value(), 1);
    }

    #[test]
    fn it_at_most_doubles_a_window() {
        let mut velocity = Velocity::new(0);
        for window in 1..100 {
            velocity.end_round(window, 50);
        }
        assert_eq!(velocity.value(), 50);
    }
}
