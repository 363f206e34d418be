//! A timer on the agenda that may be moved. What is due when, and in which order, is the agenda's affair.

use super::{Agenda, Kind};
use dumbbell_core::time::Time;

/// A timer with at most one live entry on the agenda.
///
/// ```text
///   set(later)    the entry stays where it is          comes up too early: put in again
///   set(earlier)  a second entry                       the first comes up stale: nothing happens
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Alarm {
    /// Time of the live entry.
    entry: Time,
    /// When it is to go off.
    wanted: Time,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { entry: Time::NEVER, wanted: Time::NEVER }
    }
}

impl Alarm {
    /// Goes off at `at`, or at once when that is past; [`Time::NEVER`] turns it off.
    #[inline]
    pub fn set(&mut self, at: Time, now: Time, agenda: &mut Agenda, kind: Kind, owner: u32) {
        self.wanted = at;
        if at < self.entry {
            self.entry = at.max(now);
            agenda.add(self.entry, kind, owner);
        }
    }

    /// An entry came up: is it time? Puts in another when the alarm was moved later.
    #[inline]
    pub fn rings(&mut self, now: Time, agenda: &mut Agenda, kind: Kind, owner: u32) -> bool {
        if self.entry != now {
            return false;
        }
        self.entry = Time::NEVER;
        if self.wanted <= now {
            self.wanted = Time::NEVER;
            return true;
        }
        if self.wanted.is_set() {
            self.set(self.wanted, now, agenda, kind, owner);
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
    fn a_timer_that_moves_later_costs_one_entry_and_rings_once() {
        let (mut agenda, mut alarm) = (Agenda::default(), Alarm::default());
        alarm.set(at(100), at(0), &mut agenda, Kind::Timer, 7);
        alarm.set(at(300), at(50), &mut agenda, Kind::Timer, 7);
        assert_eq!(agenda.len(), 1);
        let mut rung = Vec::new();
        while let Some(due) = agenda.take() {
            if alarm.rings(due.at, &mut agenda, Kind::Timer, 7) {
                rung.push(due.at);
            }
        }
        assert_eq!(rung, [at(300)]);
    }

    #[test]
    fn a_timer_that_moves_earlier_rings_at_the_earlier_time_only() {
        let (mut agenda, mut alarm) = (Agenda::default(), Alarm::default());
        alarm.set(at(300), at(0), &mut agenda, Kind::Timer, 7);
        alarm.set(at(100), at(50), &mut agenda, Kind::Timer, 7);
        let rings = |alarm: &mut Alarm, agenda: &mut Agenda| {
            let due = agenda.take().expect("an entry");
            alarm.rings(due.at, agenda, Kind::Timer, 7)
        };
        assert!(rings(&mut alarm, &mut agenda));
        assert!(!rings(&mut alarm, &mut agenda), "the first entry is stale");
        assert!(agenda.is_empty());
    }

    proptest! {
        /// Whatever an alarm is set to, it rings at the last time it was set to, and never before.
        #[test]
        fn an_alarm_rings_when_it_was_last_set_to(moves in prop::collection::vec((0u64..40, 1u64..60), 1..30)) {
            let (mut agenda, mut alarm) = (Agenda::default(), Alarm::default());
            let (mut now, mut wanted) = (0, u64::MAX);
            for (pause, ahead) in moves {
                let next = now + pause;
                while let Some(due) = agenda.take_by(at(next)) {
                    if alarm.rings(due.at, &mut agenda, Kind::Timer, 0) {
                        prop_assert_eq!(due.at.as_nanos(), wanted);
                        wanted = u64::MAX;
                    }
                }
                prop_assert!(wanted > next, "it should have rung at {}", wanted);
                now = next;
                wanted = now + ahead;
                alarm.set(at(wanted), at(now), &mut agenda, Kind::Timer, 0);
            }
        }
    }
}
