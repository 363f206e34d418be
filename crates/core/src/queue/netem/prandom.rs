//! The kernel's own pseudo-random numbers: with a kernel's seed, a netem loses and delays the same packets here as there.
//!
//! L'Ecuyer's LFSR113 ("Tables of Maximally Equidistributed Combined LFSR Generators", Mathematics of Computation 68,
//! 1999), begun as `prandom_seed_state` begins it (Linux `include/linux/prandom.h`).

/// Four shift registers.
#[derive(Clone, Debug)]
pub(super) struct Prandom([u32; 4]);

/// Of each register: what it is shifted by, and how many of its lowest bits are not used.
const REGISTERS: [(u32, u32, u32, u32); 4] = [(6, 13, 18, 1), (2, 27, 2, 3), (13, 21, 7, 4), (3, 12, 13, 7)];

impl Prandom {
    /// Begun with a seed, as `TCA_NETEM_PRNG_SEED` gives it.
    #[expect(clippy::cast_possible_truncation, reason = "the registers have 32 bits")]
    pub fn seeded(seed: u64) -> Self {
        let folded = ((seed >> 32) ^ (seed << 10) ^ seed) as u32;
        // A register's used bits must not all be zero.
        Self([2, 8, 16, 128].map(|least| if folded < least { folded + least } else { folded }))
    }

    /// The next 32 bits.
    #[inline]
    pub fn word(&mut self) -> u32 {
        let mut word = 0;
        for (state, (left, right, on, unused)) in self.0.iter_mut().zip(REGISTERS) {
            *state = ((*state >> unused << unused) << on) ^ (((*state << left) ^ *state) >> right);
            word ^= *state;
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_kernel_s() {
        let mut numbers = Prandom::seeded(0x0123_4567_89ab_cdef);
        assert_eq!([(); 4].map(|()| numbers.word()), [0x75d1_73c7, 0x8c1f_b01b, 0xaca2_87f0, 0x8164_7b44]);
    }

    #[test]
    fn no_seed_leaves_a_register_empty() {
        for seed in [0, 1, 2, 127, 128, u64::MAX] {
            let mut numbers = Prandom::seeded(seed);
            assert!((0..1_000).map(|_| numbers.word()).collect::<alloc::collections::BTreeSet<_>>().len() > 990);
        }
    }

    #[test]
    fn bits_are_even() {
        let mut numbers = Prandom::seeded(7);
        let ones: u32 = (0..10_000).map(|_| numbers.word().count_ones()).sum();
        assert!((159_000..161_000).contains(&ones), "{ones} of 320000");
    }
}
