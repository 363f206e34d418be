//! Randomness, handed in by name: one stream a component, so that a new lossy link changes no other link's luck.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One component's stream of random numbers.
#[derive(Clone, Debug)]
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// The stream of the component called `name` in the run of this `seed`.
    #[must_use]
    pub fn named(seed: u64, name: &str) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ fnv1a(name)))
    }

    /// 32 random bits (Linux's `get_random_u32`).
    pub fn word(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 random bits.
    pub fn long(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number below `limit` (Linux's `get_random_u32_below`, without its bias).
    ///
    /// # Panics
    ///
    /// When `limit` is zero: there is no such number.
    pub fn below(&mut self, limit: u32) -> u32 {
        assert!(limit > 0, "no number is below zero");
        let mut product = u64::from(self.word()) * u64::from(limit);
        let rejected = limit.wrapping_neg() % limit;
        while low(product) < rejected {
            product = u64::from(self.word()) * u64::from(limit);
        }
        high(product)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
const fn low(product: u64) -> u32 {
    product as u32
}

const fn high(product: u64) -> u32 {
    (product >> 32) as u32
}

/// FNV-1a, 64 bits: spreads names over seeds.
fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_stream_of_its_own() {
        let draw = |seed, name| Dice::named(seed, name).long();
        assert_eq!(draw(1, "path.netem"), draw(1, "path.netem"));
        assert_ne!(draw(1, "path.netem"), draw(2, "path.netem"));
        assert_ne!(draw(1, "path.netem"), draw(1, "reverse.netem"));
    }

    #[test]
    fn below_covers_its_range_evenly() {
        let mut dice = Dice::named(7, "evenly");
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[dice.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (9_500..10_500).contains(count)), "{seen:?}");
    }
}
