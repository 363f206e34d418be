//! The emulated link: packets by departure time.
//!
//! Most packets leave after all earlier ones and are appended to a FIFO. A packet that overtakes, because its jitter
//! was smaller, goes into a heap. The earlier head of FIFO and heap leaves first; on a tie, the FIFO's
//! (`tfifo_enqueue`, `netem_peek`).

use crate::packet::Packet;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Ordering;

/// What the link stores about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// Departure time in nanoseconds; may be before the start of the experiment.
    pub due_ns: i64,
    /// Whether netem made this copy.
    pub is_copy: bool,
}

/// Packets by time. Tags are stored separately, so that only departing packets are touched.
#[derive(Debug, Default)]
pub(super) struct LinkQueue {
    tags: VecDeque<Tag>,
    line: VecDeque<Packet>,
    heap: BinaryHeap<Overtaker>,
    overtakers: Vec<Packet>,
    /// Free indices of `overtakers`.
    free: Vec<usize>,
    /// Number of packets that have overtaken so far.
    arrived: u64,
}

/// A packet that leaves before an earlier one; the greatest leaves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Overtaker {
    tag: Tag,
    arrived: u64,
    index: usize,
}

impl LinkQueue {
    /// Adds a packet.
    #[inline]
    pub fn insert(&mut self, tag: Tag, packet: &Packet) {
        if self.tags.back().is_none_or(|last| tag.due_ns >= last.due_ns) {
            self.tags.push_back(tag);
            self.line.push_back(*packet);
        } else {
            self.overtake(tag, *packet);
        }
    }

    /// The first packet to leave.
    #[inline]
    pub fn first(&self) -> Option<Tag> {
        let first = self.tags.front().copied();
        match self.heap.peek() {
            Some(overtaker) if first.is_none_or(|first| overtaker.tag.due_ns < first.due_ns) => Some(overtaker.tag),
            _ => first,
        }
    }

    /// Removes the first packet to leave.
    ///
    /// # Panics
    ///
    /// If the link is empty.
    #[inline]
    pub fn pop(&mut self) -> Packet {
        if !self.heap.is_empty() && self.tags.front().copied() != self.first() {
            return self.pop_overtaker();
        }
        self.tags.pop_front();
        self.line.pop_front().expect("there is a first packet")
    }

    /// Departure time of the last packet, which is the tail of the FIFO: no packet in the heap leaves later.
    pub fn last_departure(&self) -> Option<i64> {
        self.tags.back().map(|last| last.due_ns)
    }

    fn overtake(&mut self, tag: Tag, packet: Packet) {
        let index = self.free.pop().unwrap_or(self.overtakers.len());
        if index == self.overtakers.len() {
            self.overtakers.push(packet);
        } else {
            self.overtakers[index] = packet;
        }
        self.arrived += 1;
        self.heap.push(Overtaker { tag, arrived: self.arrived, index });
    }

    fn pop_overtaker(&mut self) -> Packet {
        let Overtaker { index, .. } = self.heap.pop().expect("the heap is not empty");
        self.free.push(index);
        self.overtakers[index]
    }
}

impl Ord for Overtaker {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.tag.due_ns, other.arrived).cmp(&(self.tag.due_ns, self.arrived))
    }
}

impl PartialOrd for Overtaker {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
