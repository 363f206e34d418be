//! What happens when: entries ordered by time, then by kind, then by the owner's rank.
//!
//! Two entries that agree in all three are the same entry, so the order in which they were added never shows.
//! Timers are lazy: whoever moves one later leaves the old entry and looks again when it comes up; see [`Alarm`].
//!
//! The structure is a short sorted line before a heap of four children a node, one word an entry; `bench/agenda.md` has the
//! figures that chose it.

mod alarm;

pub use alarm::Alarm;

use dumbbell_core::time::Time;

/// What may be due; at one time they come in this order.
///
/// First what programs do, as the agent orders it, so that a change is in force before the flow that starts with it,
/// and a sample still sees what stops then. Then devices and timers: where one falls together with a program's time, it
/// was set by an earlier act of a program plus round delays, and on a machine it comes a moment later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A discipline changes.
    Change,
    /// A flow starts.
    Start,
    /// A UDP flow sends.
    Packet,
    /// A probe is sent.
    Probe,
    /// An on/off flow turns, an exchange goes on.
    Wake,
    /// Everything is sampled.
    Sample,
    /// A flow stops.
    Stop,
    /// The experiment is over.
    End,
    /// A device's discipline has something to send.
    Device,
    /// A timer of an endpoint.
    Timer,
}

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// When.
    pub at: Time,
    /// What.
    pub kind: Kind,
    /// Whose: a rank among those that have this kind.
    pub owner: u32,
}

/// The list of all that is to come.
///
/// ```text
///   far: a heap of four children a node        near: sorted, the first entry last
///   later than all that is near     --fill-->  | 31 | 28 | 27 | 9 | --take-->
///                                   <--spill--
/// ```
///
/// What comes soon is added near the end of a short line and taken from there: most events of an experiment of few
/// flows never see the heap.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// The first entries, latest first; beyond `count` is nothing.
    near: [Word; NEAR],
    /// How many are near.
    count: usize,
    /// Everything later, as a heap, and after it as many [`LATEST`] as a node has children: none lacks one.
    far: Vec<Word>,
    /// Entries of the heap.
    far_count: usize,
}

/// Time, kind and owner in one comparable word: 64 bits of time, 8 of kind, 32 of owner.
type Word = u128;

/// Most entries in the sorted line (`bench/agenda.md`).
const NEAR: usize = 32;
/// Entries that come near together when none is left there.
const REFILL: usize = 24;
/// Children of a node: four words are one cache line.
const CHILDREN: usize = 4;
/// Later than any entry.
const LATEST: Word = Word::MAX;

impl Default for Agenda {
    fn default() -> Self {
        Self { near: [LATEST; NEAR], count: 0, far: vec![LATEST; CHILDREN], far_count: 0 }
    }
}

impl Agenda {
    /// Adds an entry.
    #[inline]
    pub fn add(&mut self, at: Time, kind: Kind, owner: u32) {
        let word = pack(Due { at, kind, owner });
        if self.count == NEAR {
            self.spill();
        }
        if word > self.far[0] {
            self.push_far(word);
        } else {
            self.insert(word);
        }
    }

    /// Takes the first entry if it is due by `until`.
    #[must_use]
    #[inline]
    pub fn take_by(&mut self, until: Time) -> Option<Due> {
        if self.count == 0 {
            self.fill();
        }
        let last = self.count.checked_sub(1)?;
        let due = unpack(self.near[last]);
        if due.at > until {
            return None;
        }
        self.count = last;
        Some(due)
    }

    /// Takes the first entry.
    #[must_use]
    #[inline]
    pub fn take(&mut self) -> Option<Due> {
        self.take_by(Time::NEVER)
    }

    /// Entries, stale ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count + self.far_count
    }

    /// Is nothing to come?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.far.capacity() * size_of::<Word>()
    }

    /// Puts an entry into the line, where there is room. It is compared from the soonest on: most are soon.
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

    /// The latest of the line go far, half of them.
    #[cold]
    fn spill(&mut self) {
        for at in (0..NEAR / 2).rev() {
            self.push_far(self.near[at]);
        }
        self.near.copy_within(NEAR / 2.., 0);
        self.count -= NEAR / 2;
    }

    /// The first of the far entries come near; the line is empty.
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

    /// Puts `word` in at the top and lets it sink to its place.
    fn sink(&mut self, word: Word) {
        let mut at = 0;
        loop {
            let first = at * CHILDREN + 1;
            if first >= self.far_count {
                break;
            }
            let (place, least) = least(&self.far[first..first + CHILDREN]);
            if least >= word {
                break;
            }
            self.far[at] = least;
            at = first + place;
        }
        self.far[at] = word;
    }
}

/// The least of four and its place, without a branch to mispredict.
#[inline]
fn least(four: &[Word]) -> (usize, Word) {
    let pick = |one: (usize, Word), other: (usize, Word)| if other.1 < one.1 { other } else { one };
    pick(pick((0, four[0]), (1, four[1])), pick((2, four[2]), (3, four[3])))
}

const KIND_BITS: u32 = 8;
const OWNER_BITS: u32 = 32;

const KINDS: [Kind; 10] = [
    Kind::Change,
    Kind::Start,
    Kind::Packet,
    Kind::Probe,
    Kind::Wake,
    Kind::Sample,
    Kind::Stop,
    Kind::End,
    Kind::Device,
    Kind::Timer,
];

fn pack(due: Due) -> Word {
    let key = (u64::from(due.kind as u8) << OWNER_BITS) | u64::from(due.owner);
    (Word::from(due.at.as_nanos()) << (KIND_BITS + OWNER_BITS)) | Word::from(key)
}

#[expect(clippy::cast_possible_truncation, reason = "each part is cut out at its width")]
fn unpack(word: Word) -> Due {
    let kind = KINDS[(word >> OWNER_BITS) as usize & 0xff];
    Due { at: time_of(word), kind, owner: word as u32 }
}

#[expect(clippy::cast_possible_truncation, reason = "64 bits of time are above the rest")]
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
    fn entries_come_by_time_then_kind_then_owner() {
        let mut agenda = Agenda::default();
        agenda.add(at(20), Kind::Start, 0);
        agenda.add(at(10), Kind::End, 0);
        agenda.add(at(10), Kind::Start, 1);
        agenda.add(at(10), Kind::Start, 0);
        let order: Vec<_> = std::iter::from_fn(|| agenda.take()).map(|due| (due.kind, due.owner)).collect();
        assert_eq!(order, [(Kind::Start, 0), (Kind::Start, 1), (Kind::End, 0), (Kind::Start, 0)]);
    }

    fn take(agenda: &mut Agenda) -> Option<(u64, usize, u32)> {
        agenda.take().map(|due| (due.at.as_nanos(), due.kind as usize, due.owner))
    }

    proptest! {
        /// Whatever is added in between, the least of what is there comes out, from the line and from the heap.
        #[test]
        fn the_first_comes_out(
            turns in prop::collection::vec(prop::option::weighted(0.6, (0u64..500, 0usize..10, 0u32..4)), 0..600)
        ) {
            let (mut agenda, mut model) = (Agenda::default(), BinaryHeap::new());
            for turn in turns {
                if let Some((nanos, kind, owner)) = turn {
                    agenda.add(at(nanos), KINDS[kind], owner);
                    model.push(Reverse((nanos, kind, owner)));
                } else {
                    prop_assert_eq!(take(&mut agenda), model.pop().map(|Reverse(first)| first));
                }
                prop_assert_eq!(agenda.len(), model.len());
            }
            let rest: Vec<_> = std::iter::from_fn(|| take(&mut agenda)).collect();
            let sorted: Vec<_> = std::iter::from_fn(|| model.pop()).map(|Reverse(first)| first).collect();
            prop_assert_eq!(rest, sorted);
        }
    }
}
