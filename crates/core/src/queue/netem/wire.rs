//! The emulated wire: packets in the order in which they leave.
//!
//! Most packets leave after all that came before them and go to the end of a line. Only one that overtakes, because its
//! jitter was smaller, goes into a heap. The earlier of line and heap leaves first; at the same time, the line
//! (`tfifo_enqueue`, `netem_peek`).

use crate::packet::Packet;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Ordering;

/// What a wire knows of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// When it leaves, in nanoseconds; that may lie before the experiment's start.
    pub due_ns: i64,
    /// Did a netem make it?
    pub is_copy: bool,
    /// Was it spoilt?
    pub is_spoilt: bool,
}

/// Packets by time. Tags stand apart from packets, so that only packets that leave are touched.
#[derive(Debug, Default)]
pub(super) struct Wire {
    tags: VecDeque<Tag>,
    line: VecDeque<Packet>,
    heap: BinaryHeap<Overtaker>,
    overtakers: Vec<Packet>,
    /// Places in `overtakers` that are free.
    free: Vec<usize>,
    /// Packets that have overtaken so far.
    came: u64,
}

/// A packet that leaves before one that came earlier; the greatest is the first to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Overtaker {
    tag: Tag,
    came: u64,
    place: usize,
}

impl Wire {
    /// A packet enters.
    #[inline]
    pub fn insert(&mut self, tag: Tag, packet: &Packet) {
        if self.tags.back().is_none_or(|last| tag.due_ns >= last.due_ns) {
            self.tags.push_back(tag);
            self.line.push_back(*packet);
        } else {
            self.overtake(tag, *packet);
        }
    }

    /// The packet that leaves first.
    #[inline]
    pub fn first(&self) -> Option<Tag> {
        let first = self.tags.front().copied();
        match self.heap.peek() {
            Some(overtaker) if first.is_none_or(|first| overtaker.tag.due_ns < first.due_ns) => Some(overtaker.tag),
            _ => first,
        }
    }

    /// Takes the packet that leaves first.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[inline]
    pub fn pop(&mut self) -> Packet {
        if !self.heap.is_empty() && self.tags.front().copied() != self.first() {
            return self.pop_overtaker();
        }
        self.tags.pop_front();
        self.line.pop_front().expect("there is a first packet")
    }

    /// When the last packet leaves: it stands at the end of the line, for nobody in the heap leaves after it.
    pub fn last_due(&self) -> Option<i64> {
        self.tags.back().map(|last| last.due_ns)
    }

    fn overtake(&mut self, tag: Tag, packet: Packet) {
        let place = self.free.pop().unwrap_or(self.overtakers.len());
        if place == self.overtakers.len() {
            self.overtakers.push(packet);
        } else {
            self.overtakers[place] = packet;
        }
        self.came += 1;
        self.heap.push(Overtaker { tag, came: self.came, place });
    }

    fn pop_overtaker(&mut self) -> Packet {
        let Overtaker { place, .. } = self.heap.pop().expect("somebody overtook");
        self.free.push(place);
        self.overtakers[place]
    }
}

impl Ord for Overtaker {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.tag.due_ns, other.came).cmp(&(self.tag.due_ns, self.came))
    }
}

impl PartialOrd for Overtaker {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
