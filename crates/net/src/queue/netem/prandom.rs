//! The kernel's pseudo-random generator: with the same seed, netem loses and delays the same packets here and in Linux.
//!
//! L'Ecuyer's LFSR113 ("Tables of Maximally Equidistributed Combined LFSR Generators", Mathematics of Computation 68,
//! 1999), seeded as `prandom_seed_state` does (Linux `include/linux/prandom.h`).

/// Four shift registers.
#[derive(Clone, Debug)]
pub(crate) struct Prandom([u32; 4]);

/// Per register: its shifts, and the number of unused low bits.
const REGISTERS: [(u32, u32, u32, u32); 4] = [(6, 13, 18, 1), (2, 27, 2, 3), (13, 21, 7, 4), (3, 12, 13, 7)];

impl Prandom {
    /// Seeds the generator, as with `TCA_NETEM_PRNG_SEED`.
    #[expect(clippy::cast_possible_truncation, reason = "the registers have 32 bits")]
    pub fn seeded(seed: u64) -> Self {
        let folded = ((seed >> 32) ^ (seed << 10) ^ seed) as u32;
        // The used bits of a register must not all be zero.
        Self([2, 8, 16, 128].map(|least| if folded < least { folded + least } else { folded }))
    }

    /// The next 32 bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        let mut next_u32 = 0;
        for (state, (left, right, on, unused)) in self.0.iter_mut().zip(REGISTERS) {
            *state = ((*state >> unused << unused) << on) ^ (((*state << left) ^ *state) >> right);
            next_u32 ^= *state;
        }
        next_u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_kernel_s() {
        let mut numbers = Prandom::seeded(0x0123_4567_89ab_cdef);
        assert_eq!([(); 4].map(|()| numbers.next_u32()), [0x75d1_73c7, 0x8c1f_b01b, 0xaca2_87f0, 0x8164_7b44]);
    }

    #[test]
    fn no_seed_leaves_a_register_empty() {
        for seed in [0, 1, 2, 127, 128, u64::MAX] {
            let mut numbers = Prandom::seeded(seed);
            assert!((0..1_000).map(|_| numbers.next_u32()).collect::<alloc::collections::BTreeSet<_>>().len() > 990);
        }
    }

    #[test]
    fn bits_are_even() {
        let mut numbers = Prandom::seeded(7);
        let ones: u32 = (0..10_000).map(|_| numbers.next_u32().count_ones()).sum();
        assert!((159_000..161_000).contains(&ones), "{ones} of 320000");
    }
}
