//! The event queue: a heap ordered by time, then kind, then number.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Kinds of events. Simultaneous events run in this order: a change takes effect before the flow
/// that starts with it, and a sample includes the effect of a stop at the same time.
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
    /// An on/off flow toggles, or a request/response flow continues.
    Wake,
    /// Sample all flows and queues.
    Sample,
    /// Count the UDP packets of programs.
    CountDatagrams,
    /// Measures how late timers are, in real time, between samples that are far apart.
    Heartbeat,
    /// Take the optional recordings.
    Record,
    /// Check on a command typed in the shell.
    CheckCommand,
    /// A flow stops.
    Stop,
    /// Send SIGTERM to a program.
    Halt,
    /// The experiment is over.
    End,
}

/// All pending events.
#[derive(Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<(u64, Kind, usize)>>,
}

impl EventQueue {
    /// Adds an event.
    pub fn add(&mut self, at_ns: u64, kind: Kind, number: usize) {
        self.heap.push(Reverse((at_ns, kind, number)));
    }

    /// Removes and returns the first event that is due.
    pub fn pop_due(&mut self, now_ns: u64) -> Option<(Kind, usize)> {
        if self.next()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((_, kind, number))| (kind, number))
    }

    /// Time of the first event.
    pub fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, ..))| *at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_ordered_by_time_kind_and_number() {
        let mut event_queue = EventQueue::default();
        event_queue.add(20, Kind::Start, 0);
        event_queue.add(10, Kind::End, 0);
        event_queue.add(10, Kind::Start, 1);
        event_queue.add(10, Kind::Start, 0);
        let order: Vec<_> = std::iter::from_fn(|| event_queue.pop_due(15)).collect();
        assert_eq!(order, [(Kind::Start, 0), (Kind::Start, 1), (Kind::End, 0)]);
        assert_eq!(event_queue.next(), Some(20));
    }
}
