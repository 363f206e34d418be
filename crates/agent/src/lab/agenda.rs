//! What happens when: a heap ordered by time, then kind, then number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What may be due; at one time they come in this order, so that a change is in force
/// before the flow that starts with it, and a sample sees what has just stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A command of the plan.
    Change,
    /// A flow starts.
    Start,
    /// A program starts.
    Launch,
    /// A UDP flow sends.
    Packet,
    /// A probe is sent.
    Probe,
    /// An on/off flow turns, a request/response flow goes on.
    Wake,
    /// Everything is sampled.
    Sample,
    /// What lies inside is looked at.
    Look,
    /// A typed command is looked after.
    Care,
    /// A flow stops.
    Stop,
    /// A program is asked to end.
    Halt,
    /// The experiment is over.
    End,
}

/// The list of all that is to come.
#[derive(Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<(u64, Kind, usize)>>,
}

impl Agenda {
    /// Adds an entry.
    pub fn add(&mut self, at_ns: u64, kind: Kind, number: usize) {
        self.heap.push(Reverse((at_ns, kind, number)));
    }

    /// Takes the first entry that is due.
    pub fn due(&mut self, now_ns: u64) -> Option<(Kind, usize)> {
        if self.next()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((_, kind, number))| (kind, number))
    }

    /// Time of the first entry.
    pub fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, ..))| *at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_by_time_then_kind_then_number() {
        let mut agenda = Agenda::default();
        agenda.add(20, Kind::Start, 0);
        agenda.add(10, Kind::End, 0);
        agenda.add(10, Kind::Start, 1);
        agenda.add(10, Kind::Start, 0);
        let order: Vec<_> = std::iter::from_fn(|| agenda.due(15)).collect();
        assert_eq!(order, [(Kind::Start, 0), (Kind::Start, 1), (Kind::End, 0)]);
        assert_eq!(agenda.next(), Some(20));
    }
}
