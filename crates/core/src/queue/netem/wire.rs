//! The emulated wire: packets in the order in which they leave.
//!
//! Most packets leave after all that came before them and go to the end of a line. Only one that overtakes, because its
//! jitter was smaller, goes into a heap. The earlier of line and heap leaves first; at the same time, the line
//! (`tfifo_enqueue`, `netem_peek`).

use crate::packet::Packet;
use crate::queue::bucket::instant;
use crate::time::Time;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;

/// A packet on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wired {
    /// When it leaves, in nanoseconds; it may lie before the experiment's start.
    pub due_ns: i64,
    pub packet: Packet,
    /// Did a netem make it?
    pub is_copy: bool,
    /// Was it spoilt?
    pub is_spoilt: bool,
}

/// Packets by time.
#[derive(Debug, Default)]
pub(super) struct Wire {
    line: VecDeque<Wired>,
    /// Time, order of coming, and place in `overtakers`.
    heap: BinaryHeap<Reverse<(i64, u64, usize)>>,
    overtakers: Vec<Wired>,
    free: Vec<usize>,
    came: u64,
}

impl Wire {
    /// A packet enters.
    pub fn insert(&mut self, wired: Wired) {
        if self.line.back().is_none_or(|last| wired.due_ns >= last.due_ns) {
            self.line.push_back(wired);
        } else {
            self.overtake(wired);
        }
    }

    /// The first packet, when its time has come.
    pub fn pop_due(&mut self, now_ns: i64) -> Option<Wired> {
        let line_ns = self.line.front().map_or(i64::MAX, |first| first.due_ns);
        let heap_ns = self.heap_due();
        if line_ns.min(heap_ns) > now_ns {
            return None;
        }
        if heap_ns < line_ns { self.pop_overtaker() } else { self.line.pop_front() }
    }

    /// When the first packet leaves.
    pub fn next_due(&self) -> Option<Time> {
        let line_ns = self.line.front().map_or(i64::MAX, |first| first.due_ns);
        let due_ns = line_ns.min(self.heap_due());
        (due_ns != i64::MAX).then(|| instant(due_ns))
    }

    /// When the last packet leaves: it stands at the end of the line, for nobody in the heap leaves after it.
    pub fn last_due(&self) -> Option<i64> {
        self.line.back().map(|last| last.due_ns)
    }

    fn heap_due(&self) -> i64 {
        self.heap.peek().map_or(i64::MAX, |Reverse((due_ns, ..))| *due_ns)
    }

    fn overtake(&mut self, wired: Wired) {
        let place = self.free.pop().unwrap_or(self.overtakers.len());
        if place == self.overtakers.len() {
            self.overtakers.push(wired);
        } else {
            self.overtakers[place] = wired;
        }
        self.came += 1;
        self.heap.push(Reverse((wired.due_ns, self.came, place)));
    }

    fn pop_overtaker(&mut self) -> Option<Wired> {
        let Reverse((.., place)) = self.heap.pop()?;
        self.free.push(place);
        Some(self.overtakers[place])
    }
}
