//! Who is lost: netem's loss models, a Markov chain each but the first and the last.
//!
//! ```text
//!  gemodel:        p                      state (Salsano, Ludovici, Ordine 2009), lost in [ ]:
//!        Good -----------> Bad                    p14          p13            p32
//!        1-k  <-----------  1-h          [4] <---------- 1 ----------> [3] ----------> 2
//!        lost       r      lost           ------------->   <----------     <----------
//!                                            always            p31            p23
//! ```

use super::luck::Luck;
use super::prandom::Prandom;
use crate::dice::Dice;
use crate::queue::{Chance, Loss};

#[cfg(test)]
mod tests;

/// A loss model with its state.
#[derive(Clone, Copy, Debug)]
pub(super) enum LossModel {
    None,
    Random(Luck),
    State { chances: StateChances, state: State },
    Gemodel { chances: GemodelChances, is_bad: bool },
    Every { every: u64, seen: u64 },
}

/// Transitions of the four-state model.
#[derive(Clone, Copy, Debug)]
pub(super) struct StateChances {
    p13: u32,
    p31: u32,
    p32: u32,
    p23: u32,
    p14: u32,
}

/// Transitions and losses of the Gilbert-Elliott model.
#[derive(Clone, Copy, Debug)]
pub(super) struct GemodelChances {
    p: u32,
    r: u32,
    /// A packet passes in the bad state.
    h: u32,
    /// A packet is lost in the good state.
    k1: u32,
}

/// What became of the last packet (`_4_state_model`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// 1: it came through.
    Good,
    /// 2: it came through amid a burst of losses.
    GoodInBurst,
    /// 3: lost in a burst.
    LostInBurst,
    /// 4: lost alone.
    LostAlone,
}

impl LossModel {
    /// In its good state.
    pub fn new(loss: Loss, dice: &mut Dice) -> Self {
        match loss {
            Loss::None => Self::None,
            Loss::Random(wish) => Self::Random(Luck::new(wish, dice)),
            Loss::State { p13, p31, p32, p23, p14 } => {
                let [p13, p31, p32, p23, p14] = [p13, p31, p32, p23, p14].map(|Chance(chance)| chance);
                Self::State { chances: StateChances { p13, p31, p32, p23, p14 }, state: State::Good }
            }
            Loss::Gemodel { p, r, h, k1 } => {
                let [p, r, h, k1] = [p, r, h, k1].map(|Chance(chance)| chance);
                Self::Gemodel { chances: GemodelChances { p, r, h, k1 }, is_bad: false }
            }
            Loss::Every { every } => Self::Every { every, seen: 0 },
        }
    }

    /// Another model, or other numbers; only `every` goes on counting.
    pub fn change(&mut self, loss: Loss, dice: &mut Dice) {
        match (self, loss) {
            (Self::Every { every, .. }, Loss::Every { every: new }) => *every = new,
            (model, loss) => *model = Self::new(loss, dice),
        }
    }

    /// Is the next packet lost?
    pub fn strikes(&mut self, numbers: &mut Prandom) -> bool {
        match self {
            Self::None => false,
            Self::Random(luck) => luck.strikes(numbers),
            Self::State { chances, state } => {
                let (next, lost) = chances.step(*state, numbers.word());
                *state = next;
                lost
            }
            Self::Gemodel { chances, is_bad } => chances.step(is_bad, numbers),
            Self::Every { every, seen } => {
                *seen += 1;
                let lost = *every > 0 && *seen >= *every;
                if lost {
                    *seen = 0;
                }
                lost
            }
        }
    }
}

impl StateChances {
    /// One packet: where the chain goes, and whether the packet is lost (`loss_4state`). Coming back from a loss costs
    /// a packet that passes.
    fn step(&self, state: State, draw: u32) -> (State, bool) {
        match state {
            State::Good if draw < self.p14 => (State::LostAlone, true),
            State::Good if draw < self.p13.wrapping_add(self.p14) => (State::LostInBurst, true),
            State::Good | State::LostAlone => (State::Good, false),
            State::GoodInBurst if draw < self.p23 => (State::LostInBurst, true),
            State::GoodInBurst => (State::GoodInBurst, false),
            State::LostInBurst if draw < self.p32 => (State::GoodInBurst, false),
            State::LostInBurst if draw < self.p31.wrapping_add(self.p32) => (State::Good, false),
            State::LostInBurst => (State::LostInBurst, true),
        }
    }
}

impl GemodelChances {
    /// One packet: the chain moves first, but the packet's chance is that of the state before (`loss_gilb_ell`).
    fn step(&self, is_bad: &mut bool, numbers: &mut Prandom) -> bool {
        if *is_bad {
            *is_bad = numbers.word() >= self.r;
            numbers.word() > self.h
        } else {
            *is_bad = numbers.word() < self.p;
            numbers.word() < self.k1
        }
    }
}
