//! A timer that can be rescheduled.

use super::{EventQueue, Kind};
use dumbbell_net::time::Time;

/// A timer with at most one valid event in the queue.
///
/// ```text
///   set(later)    the old event stays                  comes up too early: added again
///   set(earlier)  a second event                       the old one comes up stale: ignored
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// Time of the valid event.
    entry: Time,
    /// Time at which the timer is to fire.
    fires_at: Time,
}

impl Default for Timer {
    fn default() -> Self {
        Self { entry: Time::NEVER, fires_at: Time::NEVER }
    }
}

impl Timer {
    /// Sets the timer to `at`, or to now if that is past; [`Time::NEVER`] stops it.
    #[inline]
    pub fn set(&mut self, at: Time, now: Time, event_queue: &mut EventQueue, kind: Kind, owner: u32) {
        self.fires_at = at;
        if at < self.entry {
            self.entry = at.max(now);
            event_queue.add(self.entry, kind, owner);
        }
    }

    /// Handles an event of this timer; returns whether it fires. If the timer was moved to a later time, adds a new
    /// event.
    #[inline]
    pub fn fires(&mut self, now: Time, event_queue: &mut EventQueue, kind: Kind, owner: u32) -> bool {
        if self.entry != now {
            return false;
        }
        self.entry = Time::NEVER;
        if self.fires_at <= now {
            self.fires_at = Time::NEVER;
            return true;
        }
        if self.fires_at.is_set() {
            self.set(self.fires_at, now, event_queue, kind, owner);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn a_timer_moved_later_has_one_event_and_fires_once() {
        let (mut event_queue, mut timer) = (EventQueue::default(), Timer::default());
        timer.set(at(100), at(0), &mut event_queue, Kind::Timer, 7);
        timer.set(at(300), at(50), &mut event_queue, Kind::Timer, 7);
        assert_eq!(event_queue.len(), 1);
        let mut fired = Vec::new();
        while let Some(event) = event_queue.take() {
            if timer.fires(event.at, &mut event_queue, Kind::Timer, 7) {
                fired.push(event.at);
            }
        }
        assert_eq!(fired, [at(300)]);
    }

    #[test]
    fn a_timer_moved_earlier_fires_at_the_earlier_time_only() {
        let (mut event_queue, mut timer) = (EventQueue::default(), Timer::default());
        timer.set(at(300), at(0), &mut event_queue, Kind::Timer, 7);
        timer.set(at(100), at(50), &mut event_queue, Kind::Timer, 7);
        let fires = |timer: &mut Timer, event_queue: &mut EventQueue| {
            let event = event_queue.take().expect("an entry");
            timer.fires(event.at, event_queue, Kind::Timer, 7)
        };
        assert!(fires(&mut timer, &mut event_queue));
        assert!(!fires(&mut timer, &mut event_queue), "the first entry is stale");
        assert!(event_queue.is_empty());
    }

    proptest! {
        /// A timer fires at the last time it was set to, and never earlier.
        #[test]
        fn a_timer_fires_at_the_last_time_set(moves in prop::collection::vec((0u64..40, 1u64..60), 1..30)) {
            let (mut event_queue, mut timer) = (EventQueue::default(), Timer::default());
            let (mut now, mut fires_at) = (0, u64::MAX);
            for (pause, ahead) in moves {
                let next = now + pause;
                while let Some(event) = event_queue.take_by(at(next)) {
                    if timer.fires(event.at, &mut event_queue, Kind::Timer, 0) {
                        prop_assert_eq!(event.at.as_nanos(), fires_at);
                        fires_at = u64::MAX;
                    }
                }
                prop_assert!(fires_at > next, "it should have fired at {}", fires_at);
                now = next;
                fires_at = now + ahead;
                timer.set(at(fires_at), at(now), &mut event_queue, Kind::Timer, 0);
            }
        }
    }
}
