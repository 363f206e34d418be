//! The event queue: events ordered by time, then by kind, then by owner.
//!
//! Events that agree in all three are identical, so insertion order never affects results. Timers are lazy: a timer
//! moved to a later time keeps its old event and is re-added when that event comes up; see [`Timer`].
//!
//! The structure is a short sorted array in front of a 4-ary heap, one word per event; `bench/event-queue.md` has the
//! measurements behind that choice.

mod timer;

pub use timer::Timer;

use dumbbell_net::time::Time;

/// Kinds of events, in order of execution at equal times.
///
/// Application events come first, in the agent's order: a change applies before a flow that starts at the same time,
/// and a sample still includes flows that stop then. Devices and timers follow: an event that coincides with an
/// application event stems from an earlier application event plus round delays, and on a real host it comes slightly
/// later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A qdisc changes.
    Change,
    /// A flow starts.
    Start,
    /// A UDP flow sends a datagram.
    Packet,
    /// A probe is sent.
    Probe,
    /// An on/off flow switches, or a request/response flow continues.
    Wake,
    /// A program uses a connection that was established while it opened others.
    Connected,
    /// All flows and queues are sampled.
    Sample,
    /// A flow stops.
    Stop,
    /// The experiment ends.
    End,
    /// Programs that an interrupt has woken run.
    Program,
    /// A qdisc of a device has a packet to send.
    Device,
    /// A qdisc that delays packets has one to send. A rate limiter's times follow from its last departure, a delayed
    /// packet's from a host's, which on Linux comes some nanoseconds late.
    Delay,
    /// A timer of an endpoint fires.
    Timer,
}

impl Kind {
    /// Does the kernel act without a program?
    #[must_use]
    #[inline]
    pub fn is_interrupt(self) -> bool {
        self >= Self::Device
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time.
    pub at: Time,
    /// Kind.
    pub kind: Kind,
    /// Owner: an index among the owners of this kind.
    pub owner: u32,
}

/// The event queue.
///
/// ```text
///   far: a heap of four children a node        near: sorted, the first entry last
///   later than all that is near     --fill-->  | 31 | 28 | 27 | 9 | --take-->
///                                   <--spill--
/// ```
///
/// Events in the near future are added near the end of the short array and taken from there. In experiments with few
/// flows most events never reach the heap.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// The first events, latest first; `count` are valid.
    near: [Word; NEAR],
    /// Number of valid entries in `near`.
    count: usize,
    /// All later events as a heap, followed by [`LATEST`] padding so that every node has four children.
    far: Vec<Word>,
    /// Events in the heap.
    far_count: usize,
}

/// Time, kind and owner in one comparable word: 64 bits of time, 8 of kind, 32 of owner.
type Word = u128;

/// Capacity of the sorted array (`bench/event-queue.md`).
const NEAR: usize = 32;
/// Events moved from the heap when the array is empty.
const REFILL: usize = 24;
/// Children per node: four words fill one cache line.
const CHILDREN: usize = 4;
/// Greater than any event.
const LATEST: Word = Word::MAX;

impl Default for EventQueue {
    fn default() -> Self {
        Self { near: [LATEST; NEAR], count: 0, far: vec![LATEST; CHILDREN], far_count: 0 }
    }
}

impl EventQueue {
    /// Adds an event.
    #[inline]
    pub fn add(&mut self, at: Time, kind: Kind, owner: u32) {
        let word = pack(Event { at, kind, owner });
        if self.count == NEAR {
            self.spill();
        }
        if word > self.far[0] {
            self.push_far(word);
        } else {
            self.insert(word);
        }
    }

    /// Takes the first event if it is due by `until`.
    #[must_use]
    #[inline]
    pub fn take_by(&mut self, until: Time) -> Option<Event> {
        if self.count == 0 {
            self.fill();
        }
        let last = self.count.checked_sub(1)?;
        let event = unpack(self.near[last]);
        if event.at > until {
            return None;
        }
        self.count = last;
        Some(event)
    }

    /// Are all events later than this?
    #[must_use]
    #[inline]
    pub fn is_quiet_until(&mut self, at: Time) -> bool {
        if self.count == 0 {
            self.fill();
        }
        self.count.checked_sub(1).is_none_or(|last| unpack(self.near[last]).at > at)
    }

    /// Takes the first event if it is an interrupt of this time: a device's or an endpoint's timer.
    #[must_use]
    #[inline]
    pub fn take_interrupt(&mut self, at: Time) -> Option<Event> {
        if self.count == 0 {
            self.fill();
        }
        let last = self.count.checked_sub(1)?;
        let event = unpack(self.near[last]);
        if event.at > at || !event.kind.is_interrupt() {
            return None;
        }
        self.count = last;
        Some(event)
    }

    /// Takes the first event.
    #[must_use]
    #[inline]
    pub fn take(&mut self) -> Option<Event> {
        self.take_by(Time::NEVER)
    }

    /// Number of events, stale ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count + self.far_count
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Allocated bytes.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.far.capacity() * size_of::<Word>()
    }

    /// Inserts into the sorted array, which has space. Comparison starts at the earliest event, because most new events
    /// are early.
    #[inline]
    fn insert(&mut self, word: Word) {
        let mut at = self.count;
        while at > 0 && self.near[at - 1] < word {
            self.near[at] = self.near[at - 1];
            at -= 1;
        }
        self.near[at] = word;
        self.count += 1;
    }

    /// Moves the later half of the array to the heap.
    #[cold]
    fn spill(&mut self) {
        for at in (0..NEAR / 2).rev() {
            self.push_far(self.near[at]);
        }
        self.near.copy_within(NEAR / 2.., 0);
        self.count -= NEAR / 2;
    }

    /// Refills the empty array from the heap.
    #[cold]
    fn fill(&mut self) {
        let count = self.far_count.min(REFILL);
        for at in (0..count).rev() {
            self.near[at] = self.pop_far();
        }
        self.count = count;
    }

    fn push_far(&mut self, word: Word) {
        self.far.push(LATEST);
        self.far_count += 1;
        self.rise(self.far_count - 1, word);
    }

    fn pop_far(&mut self) -> Word {
        let first = self.far[0];
        self.far_count -= 1;
        self.far.pop();
        let last = std::mem::replace(&mut self.far[self.far_count], LATEST);
        if self.far_count > 0 {
            self.sink(last);
        }
        first
    }

    fn rise(&mut self, mut at: usize, word: Word) {
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.far[parent] <= word {
                break;
            }
            self.far[at] = self.far[parent];
            at = parent;
        }
        self.far[at] = word;
    }

    /// Inserts `word` at the top and sifts it down.
    fn sink(&mut self, word: Word) {
        let mut at = 0;
        loop {
            let first = at * CHILDREN + 1;
            if first >= self.far_count {
                break;
            }
            let (position, least) = least(&self.far[first..first + CHILDREN]);
            if least >= word {
                break;
            }
            self.far[at] = least;
            at = first + position;
        }
        self.far[at] = word;
    }
}

/// The smallest of four words and its index, without branches.
#[inline]
fn least(four: &[Word]) -> (usize, Word) {
    let pick = |one: (usize, Word), other: (usize, Word)| if other.1 < one.1 { other } else { one };
    pick(pick((0, four[0]), (1, four[1])), pick((2, four[2]), (3, four[3])))
}

const KIND_BITS: u32 = 8;
const OWNER_BITS: u32 = 32;

const KINDS: [Kind; 13] = [
    Kind::Change,
    Kind::Start,
    Kind::Packet,
    Kind::Probe,
    Kind::Wake,
    Kind::Connected,
    Kind::Sample,
    Kind::Stop,
    Kind::End,
    Kind::Program,
    Kind::Device,
    Kind::Delay,
    Kind::Timer,
];

fn pack(event: Event) -> Word {
    let key = (u64::from(event.kind as u8) << OWNER_BITS) | u64::from(event.owner);
    (Word::from(event.at.as_nanos()) << (KIND_BITS + OWNER_BITS)) | Word::from(key)
}

#[expect(clippy::cast_possible_truncation, reason = "each field is extracted at its width")]
fn unpack(word: Word) -> Event {
    let kind = KINDS[(word >> OWNER_BITS) as usize & 0xff];
    Event { at: time_of(word), kind, owner: word as u32 }
}

#[expect(clippy::cast_possible_truncation, reason = "the upper 64 bits are the time")]
fn time_of(word: Word) -> Time {
    Time::from_nanos((word >> (KIND_BITS + OWNER_BITS)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn kinds_are_listed_in_their_order() {
        assert!(KINDS.iter().enumerate().all(|(number, &kind)| kind as usize == number));
    }

    #[test]
    fn events_are_ordered_by_time_then_kind_then_owner() {
        let mut event_queue = EventQueue::default();
        event_queue.add(at(20), Kind::Start, 0);
        event_queue.add(at(10), Kind::End, 0);
        event_queue.add(at(10), Kind::Start, 1);
        event_queue.add(at(10), Kind::Start, 0);
        let order: Vec<_> = std::iter::from_fn(|| event_queue.take()).map(|event| (event.kind, event.owner)).collect();
        assert_eq!(order, [(Kind::Start, 0), (Kind::Start, 1), (Kind::End, 0), (Kind::Start, 0)]);
    }

    fn take(event_queue: &mut EventQueue) -> Option<(u64, usize, u32)> {
        event_queue.take().map(|event| (event.at.as_nanos(), event.kind as usize, event.owner))
    }

    proptest! {
        /// Taken events are always the smallest present, with any interleaving of additions.
        #[test]
        fn the_smallest_event_is_taken_first(
            operations in prop::collection::vec(prop::option::weighted(0.6, (0u64..500, 0usize..KINDS.len(), 0u32..4)), 0..600)
        ) {
            let (mut event_queue, mut model) = (EventQueue::default(), BinaryHeap::new());
            for operation in operations {
                if let Some((nanos, kind, owner)) = operation {
                    event_queue.add(at(nanos), KINDS[kind], owner);
                    model.push(Reverse((nanos, kind, owner)));
                } else {
                    prop_assert_eq!(take(&mut event_queue), model.pop().map(|Reverse(first)| first));
                }
                prop_assert_eq!(event_queue.len(), model.len());
            }
            let rest: Vec<_> = std::iter::from_fn(|| take(&mut event_queue)).collect();
            let sorted: Vec<_> = std::iter::from_fn(|| model.pop()).map(|Reverse(first)| first).collect();
            prop_assert_eq!(rest, sorted);
        }
    }
}
