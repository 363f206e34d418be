//! Records that wait for retransmission: a set of ring slots that finds its next member in constant time.
//!
//! Losses are marked in order of time but retransmitted in order of sequence. A bitmap with a summary supports both
//! without scanning the records between two holes.

use super::number::{bit_of, word_of};
use alloc::vec;
use alloc::vec::Vec;

/// A set of slots of a ring.
#[derive(Clone, Debug)]
pub(super) struct PendingSet {
    /// One bit per slot.
    words: Vec<u64>,
    /// One bit per word that has members.
    summary: Vec<u64>,
    members: u32,
}

impl PendingSet {
    /// An empty set for a ring of `slots`.
    pub fn new(slots: usize) -> Self {
        let words = slots.div_ceil(WORD);
        Self { words: vec![0; words], summary: vec![0; words.div_ceil(WORD)], members: 0 }
    }

    /// Number of members.
    pub const fn len(&self) -> u32 {
        self.members
    }

    /// Adds a slot.
    pub fn insert(&mut self, slot: usize) {
        let (word, bit) = (word_of(slot), bit_of(slot));
        self.members += u32::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
        self.summary[word_of(word)] |= bit_of(word);
    }

    /// Removes a slot, if present.
    pub fn remove(&mut self, slot: usize) {
        let (word, bit) = (word_of(slot), bit_of(slot));
        if self.words[word] & bit == 0 {
            return;
        }
        self.members -= 1;
        self.words[word] &= !bit;
        if self.words[word] == 0 {
            self.summary[word_of(word)] &= !bit_of(word);
        }
    }

    /// The lowest member at or above `slot`.
    pub fn next(&self, slot: usize) -> Option<usize> {
        let word = word_of(slot);
        let here = self.words.get(word)? & (u64::MAX << (slot % WORD));
        if here != 0 {
            return Some(word * WORD + here.trailing_zeros() as usize);
        }
        let word = next_bit(&self.summary, word + 1)?;
        Some(word * WORD + self.words[word].trailing_zeros() as usize)
    }

    /// Removes all slots.
    pub fn clear(&mut self) {
        self.words.fill(0);
        self.summary.fill(0);
        self.members = 0;
    }
}

fn next_bit(words: &[u64], from: usize) -> Option<usize> {
    let first = word_of(from);
    let here = words.get(first)? & (u64::MAX << (from % WORD));
    if here != 0 {
        return Some(first * WORD + here.trailing_zeros() as usize);
    }
    let rest = words[first + 1..].iter().position(|word| *word != 0)?;
    let word = first + 1 + rest;
    Some(word * WORD + words[word].trailing_zeros() as usize)
}

/// Bits in a word.
const WORD: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_an_ordered_set(steps in prop::collection::vec((any::<bool>(), 0usize..8192, 0usize..8192), 1..200)) {
            let mut set = PendingSet::new(8192);
            let mut model = BTreeSet::new();
            for (insert, slot, from) in steps {
                if insert {
                    set.insert(slot);
                    model.insert(slot);
                } else {
                    set.remove(slot);
                    model.remove(&slot);
                }
                prop_assert_eq!(set.len() as usize, model.len());
                prop_assert_eq!(set.next(from), model.range(from..).next().copied());
            }
            set.clear();
            prop_assert_eq!(set.next(0), None);
        }
    }
}
