//! Random numbers correlated with the previous one (netem's `crndstate`).

use super::prandom::Prandom;
use crate::queue::{Correlated, Probability};
use crate::rng::Rng;

/// A stream of correlated 32-bit numbers, and the probability of a hit.
#[derive(Clone, Copy, Debug)]
pub(super) struct CorrelatedRng {
    hit_probability: u32,
    /// Weight of the previous number in the next, in units of 2⁻³².
    correlation: u32,
    last: u32,
}

impl CorrelatedRng {
    /// From the settings; the first "previous number" is drawn too.
    pub fn new(settings: Correlated, rng: &mut Rng) -> Self {
        let last = if settings.correlation.0 > 0 { rng.next_u32() } else { 0 };
        Self { hit_probability: settings.chance.0, correlation: settings.correlation.0, last }
    }

    /// Numbers only: no hits.
    pub fn numbers(correlation: Probability, rng: &mut Rng) -> Self {
        Self::new(Correlated { chance: Probability(0), correlation }, rng)
    }

    /// Whether the next draw hits. A probability of zero does not draw.
    pub fn hits_next(&mut self, numbers: &mut Prandom) -> bool {
        self.hit_probability > 0 && self.hit_probability >= self.draw(numbers)
    }

    /// The next number: new × (1 − correlation) + previous × correlation (`get_crandom`).
    pub fn draw(&mut self, numbers: &mut Prandom) -> u32 {
        let new = numbers.next_u32();
        if self.correlation == 0 {
            return new;
        }
        let weight = u64::from(self.correlation) + 1;
        // The weights add up to 2³², so the sum stays below 2⁶⁴.
        let sum = u64::from(new) * ((1 << 32) - weight) + u64::from(self.last) * weight;
        self.last = u32::try_from(sum >> 32).expect("an average of 32-bit numbers has 32 bits");
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(share: u64) -> Probability {
        Probability(u32::try_from((share << 32) / 100).unwrap_or(u32::MAX))
    }

    #[test]
    fn hits_follow_the_probability() {
        let (mut rng, mut numbers) = (Rng::from_name(1, "luck"), Prandom::seeded(1));
        let mut correlated_rng =
            CorrelatedRng::new(Correlated { chance: percent(10), correlation: Probability(0) }, &mut rng);
        let hits_next = (0..100_000).filter(|_| correlated_rng.hits_next(&mut numbers)).count();
        assert!((9_700..10_300).contains(&hits_next), "{hits_next} of 100000");
    }

    #[test]
    fn probability_one_always_hits_and_zero_never_does() {
        let (mut rng, mut numbers) = (Rng::from_name(1, "luck"), Prandom::seeded(1));
        let mut always =
            CorrelatedRng::new(Correlated { chance: Probability(u32::MAX), correlation: percent(50) }, &mut rng);
        let mut never = CorrelatedRng::new(Correlated::default(), &mut rng);
        assert!((0..1_000).all(|_| always.hits_next(&mut numbers) && !never.hits_next(&mut numbers)));
    }

    #[test]
    fn correlated_numbers_stay_near_the_previous_one() {
        let (mut rng, mut numbers) = (Rng::from_name(1, "luck"), Prandom::seeded(1));
        let mut correlated_rng = CorrelatedRng::numbers(percent(75), &mut rng);
        let mut last = correlated_rng.draw(&mut numbers);
        for _ in 0..1_000 {
            let next = correlated_rng.draw(&mut numbers);
            // One quarter of a new number is at most a quarter of the range away from three quarters of the previous.
            let floor = u64::from(last) * 3 / 4;
            assert!((floor.saturating_sub(2)..=floor + (1 << 30) + 2).contains(&u64::from(next)));
            last = next;
        }
    }
}
