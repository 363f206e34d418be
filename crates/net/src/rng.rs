//! Random numbers: one named stream per component, so that adding a lossy link changes no other link's draws.

use crate::number::{high, low};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One component's stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of component `name` in the run with this `seed`.
    #[must_use]
    pub fn from_name(seed: u64, name: &str) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ fnv1a(name)))
    }

    /// 32 random bits (Linux's `get_random_u32`).
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// An integer below `limit` (Linux's `get_random_u32_below`, without its bias).
    ///
    /// # Panics
    ///
    /// If `limit` is zero.
    pub fn below(&mut self, limit: u32) -> u32 {
        assert!(limit > 0, "`limit` must be at least 1");
        let mut product = u64::from(self.next_u32()) * u64::from(limit);
        let rejected = limit.wrapping_neg() % limit;
        while low(product) < rejected {
            product = u64::from(self.next_u32()) * u64::from(limit);
        }
        high(product)
    }
}

/// FNV-1a, 64 bits: spreads names over seeds.
fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_its_own_stream() {
        let draw = |seed, name| Rng::from_name(seed, name).next_u64();
        assert_eq!(draw(1, "path.netem"), draw(1, "path.netem"));
        assert_ne!(draw(1, "path.netem"), draw(2, "path.netem"));
        assert_ne!(draw(1, "path.netem"), draw(1, "reverse.netem"));
    }

    #[test]
    fn below_covers_its_range_evenly() {
        let mut rng = Rng::from_name(7, "evenly");
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[rng.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|count| (9_500..10_500).contains(count)), "{seen:?}");
    }
}
