//! Which numbers have been seen: receivers count a datagram once, however often the network duplicates it.

use alloc::vec::Vec;

/// A set of numbers that are mostly consecutive: one bit for each up to the largest.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    words: Vec<u64>,
}

impl Seen {
    /// Adds a number; returns whether it is new. One of 2³⁰ or more always is: it is not stored.
    pub fn add(&mut self, number: u64) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        let Some(index) = usize::try_from(word).ok().filter(|_| number < MOST) else { return true };
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        let is_new = self.words[index] & bit == 0;
        self.words[index] |= bit;
        is_new
    }
}

/// 128 MiB.
const MOST: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_new_once() {
        let mut seen = Seen::default();
        let numbers = [0, 64, 63, 64, 1_000, 0, MOST, MOST];
        let new = numbers.map(|number| seen.add(number));
        assert_eq!(new, [true, true, true, false, true, false, true, true]);
        assert_eq!(seen.words.len(), 16);
    }
}
