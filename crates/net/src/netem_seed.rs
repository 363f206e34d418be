//! Seeds with which netem's random numbers hit one packet of a given number and no other.
//!
//! netem draws one number for each packet and compares it with a probability. Its generator is linear over GF(2): each
//! bit of each output is an XOR of bits of the seed (and a constant). So the seeds whose output for one packet has
//! given leading bits solve a linear system; of its few solutions the first is taken whose other outputs don't have
//! these bits.

use crate::queue::Probability;
use crate::queue::netem::prandom::Prandom;
use alloc::vec::Vec;

/// The largest horizon: with more, few seeds are left to choose from.
pub const MOST_PACKETS: u32 = 1 << 24;
/// Seeds have this bit, so that no register of the generator needs a correction, which would not be linear.
const BASE: u32 = 1 << 31;
/// The other bits of a seed are unknowns.
const UNKNOWNS: u32 = 31;

/// Which numbers hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hits {
    /// Numbers below the probability, as in netem's `loss state`.
    Below,
    /// Numbers above the probability, as packets that `reorder` does not send immediately.
    Above,
}

/// A seed and a probability for netem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SingleHit {
    /// `TCA_NETEM_PRNG_SEED`.
    pub seed: u64,
    /// Of all 2³² numbers.
    pub probability: Probability,
}

/// The seed with which the packet with this number, from 1, is the only one hit of the first `horizon` packets; None if
/// no seed does this, or a number is out of range.
#[must_use]
pub fn single_hit(number: u32, horizon: u32, hits: Hits) -> Option<SingleHit> {
    if number == 0 || number > horizon || horizon > MOST_PACKETS {
        return None;
    }
    // About one hit in so many packets is most likely to be the only one.
    let bits = horizon.next_power_of_two().trailing_zeros().max(1);
    let below = 1 << (u32::BITS - bits);
    let flip = if hits == Hits::Below { 0 } else { u32::MAX };
    let draw_of = |seed: u32| {
        let mut numbers = seeded(seed);
        (1..number).for_each(|_| _ = numbers.next_u32());
        numbers.next_u32() ^ flip
    };
    let constant = draw_of(BASE);
    let effects = (0..UNKNOWNS).map(|bit| ((draw_of(BASE | 1 << bit) ^ constant) >> (u32::BITS - bits), 1 << bit));
    let (first, kernel) = solved(effects, constant >> (u32::BITS - bits))?;
    let is_single = |seed: &u32| {
        let mut numbers = seeded(*seed);
        // Linux never loses a packet whose number is 0, so that must not occur before either.
        (1..=horizon).all(|packet| {
            let draw = numbers.next_u32() ^ flip;
            (draw < below) == (packet == number) && (draw > 0 || hits == Hits::Above)
        })
    };
    let seed = (0..1_u32 << kernel.len()).map(|choice| BASE | first ^ chosen(&kernel, choice)).find(is_single)?;
    let probability = Probability(if hits == Hits::Below { below } else { u32::MAX - below });
    Some(SingleHit { seed: u64::from(seed) << u32::BITS, probability })
}

/// The generator with these bits as registers.
fn seeded(seed: u32) -> Prandom {
    Prandom::seeded(u64::from(seed) << u32::BITS)
}

/// The sum of the chosen vectors.
fn chosen(vectors: &[u32], choice: u32) -> u32 {
    (0..).zip(vectors).filter(|(bit, _)| choice >> bit & 1 == 1).fold(0, |sum, (_, vector)| sum ^ vector)
}

/// One set of unknowns whose effects add up to `target`, and a base of all sets without effect.
fn solved(effects: impl Iterator<Item = (u32, u32)>, target: u32) -> Option<(u32, Vec<u32>)> {
    let (mut pivots, mut kernel) = (Vec::<(u32, u32)>::new(), Vec::new());
    for effect in effects {
        match reduced(&pivots, effect) {
            (0, unknowns) => kernel.push(unknowns),
            rest => pivots.push(rest),
        }
    }
    let (rest, unknowns) = reduced(&pivots, (target, 0));
    (rest == 0).then_some((unknowns, kernel))
}

/// A vector without the leading bits of the pivots, each of which was reduced by those before it.
fn reduced(pivots: &[(u32, u32)], vector: (u32, u32)) -> (u32, u32) {
    pivots.iter().fold(vector, |(effect, unknowns), (pivot, its)| {
        let has_bit = effect >> pivot.ilog2() & 1 == 1;
        if has_bit { (effect ^ pivot, unknowns ^ its) } else { (effect, unknowns) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit_packets(found: SingleHit, hits: Hits, packets: u32) -> Vec<u32> {
        let mut numbers = Prandom::seeded(found.seed);
        let is_hit = |draw: u32| match hits {
            Hits::Below => draw < found.probability.0,
            Hits::Above => draw > found.probability.0,
        };
        (1..=packets).filter(|_| is_hit(numbers.next_u32())).collect()
    }

    #[test]
    fn the_packet_is_the_only_one_hit() {
        for number in (1..20).chain([999, 4_096, 4_097, 12_345]) {
            for hits in [Hits::Below, Hits::Above] {
                for horizon in [number, number * 3] {
                    let found = single_hit(number, horizon, hits).expect("there is a seed");
                    assert_eq!(hit_packets(found, hits, horizon), [number], "{number} of {horizon}, {hits:?}");
                }
            }
        }
    }

    #[test]
    fn the_largest_horizon_has_seeds_too() {
        for (number, hits) in [(1, Hits::Below), (77_777, Hits::Above)] {
            let found = single_hit(number, MOST_PACKETS, hits).expect("there is a seed");
            assert_eq!(hit_packets(found, hits, MOST_PACKETS), [number]);
        }
    }

    #[test]
    fn numbers_out_of_range_have_no_seed() {
        assert_eq!(single_hit(0, 10, Hits::Below), None);
        assert_eq!(single_hit(11, 10, Hits::Below), None);
        assert_eq!(single_hit(1, MOST_PACKETS + 1, Hits::Below), None);
    }
}
