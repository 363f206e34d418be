//! Random numbers that lean towards the last one (netem's `crndstate`).

use super::prandom::Prandom;
use crate::dice::Dice;
use crate::queue::{Chance, Correlated};

/// A stream of 32-bit numbers, and how often something strikes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Luck {
    chance: u32,
    /// How much the last number weighs in the next, in units of 2⁻³².
    correlation: u32,
    last: u32,
}

impl Luck {
    /// What is asked for; the first "last number" is drawn too.
    pub fn new(wish: Correlated, dice: &mut Dice) -> Self {
        let last = if wish.correlation.0 > 0 { dice.word() } else { 0 };
        Self { chance: wish.chance.0, correlation: wish.correlation.0, last }
    }

    /// Numbers only: nothing strikes.
    pub fn numbers(correlation: Chance, dice: &mut Dice) -> Self {
        Self::new(Correlated { chance: Chance(0), correlation }, dice)
    }

    /// Does it strike? A chance of zero takes no number.
    pub fn strikes(&mut self, numbers: &mut Prandom) -> bool {
        self.chance > 0 && self.chance >= self.draw(numbers)
    }

    /// The next number: new × (1 − correlation) + last × correlation (`get_crandom`).
    pub fn draw(&mut self, numbers: &mut Prandom) -> u32 {
        let new = numbers.word();
        if self.correlation == 0 {
            return new;
        }
        let weight = u64::from(self.correlation) + 1;
        // Weights add up to 2³², so the sum stays below 2⁶⁴.
        let sum = u64::from(new) * ((1 << 32) - weight) + u64::from(self.last) * weight;
        self.last = u32::try_from(sum >> 32).expect("an average of 32-bit numbers has 32 bits");
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(share: u64) -> Chance {
        Chance(u32::try_from((share << 32) / 100).unwrap_or(u32::MAX))
    }

    #[test]
    fn a_chance_strikes_as_often_as_it_says() {
        let (mut dice, mut numbers) = (Dice::named(1, "luck"), Prandom::seeded(1));
        let mut luck = Luck::new(Correlated { chance: percent(10), correlation: Chance(0) }, &mut dice);
        let strikes = (0..100_000).filter(|_| luck.strikes(&mut numbers)).count();
        assert!((9_700..10_300).contains(&strikes), "{strikes} of 100000");
    }

    #[test]
    fn always_is_always_and_never_is_never() {
        let (mut dice, mut numbers) = (Dice::named(1, "luck"), Prandom::seeded(1));
        let mut always = Luck::new(Correlated { chance: Chance(u32::MAX), correlation: percent(50) }, &mut dice);
        let mut never = Luck::new(Correlated::default(), &mut dice);
        assert!((0..1_000).all(|_| always.strikes(&mut numbers) && !never.strikes(&mut numbers)));
    }

    #[test]
    fn correlated_numbers_lean_to_the_last_one() {
        let (mut dice, mut numbers) = (Dice::named(1, "luck"), Prandom::seeded(1));
        let mut luck = Luck::numbers(percent(75), &mut dice);
        let mut last = luck.draw(&mut numbers);
        for _ in 0..1_000 {
            let next = luck.draw(&mut numbers);
            // One quarter of a new number is at most a quarter of the range away from three quarters of the last.
            let floor = u64::from(last) * 3 / 4;
            assert!((floor.saturating_sub(2)..=floor + (1 << 30) + 2).contains(&u64::from(next)));
            last = next;
        }
    }
}
