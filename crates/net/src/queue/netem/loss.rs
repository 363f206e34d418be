//! netem's loss models; all but the first and the last are Markov chains.
//!
//! ```text
//!  gemodel:        p                      state (Salsano, Ludovici, Ordine 2009), lost in [ ]:
//!        Good -----------> Bad                    p14          p13            p32
//!        1-k  <-----------  1-h          [4] <---------- 1 ----------> [3] ----------> 2
//!        lost       r      lost           ------------->   <----------     <----------
//!                                            always            p31            p23
//! ```

use super::correlated_rng::CorrelatedRng;
use super::prandom::Prandom;
use crate::queue::{Loss, Probability};
use crate::rng::Rng;

#[cfg(test)]
mod tests;

/// A loss model with its state.
#[derive(Clone, Copy, Debug)]
pub(super) enum LossModel {
    None,
    Random(CorrelatedRng),
    State { probabilities: StateProbabilities, state: State },
    Gemodel { probabilities: GemodelProbabilities, is_bad: bool },
    Every { every: u64, seen: u64 },
}

/// Transitions of the four-state model.
#[derive(Clone, Copy, Debug)]
pub(super) struct StateProbabilities {
    p13: u32,
    p31: u32,
    p32: u32,
    p23: u32,
    p14: u32,
}

/// Transitions and losses of the Gilbert-Elliott model.
#[derive(Clone, Copy, Debug)]
pub(super) struct GemodelProbabilities {
    p: u32,
    r: u32,
    /// Probability that a packet passes in the bad state.
    h: u32,
    /// Probability that a packet is lost in the good state.
    k1: u32,
}

/// State of the chain after the last packet (`_4_state_model`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// 1: received.
    Good,
    /// 2: received within a burst of losses.
    GoodInBurst,
    /// 3: lost in a burst.
    LostInBurst,
    /// 4: isolated loss.
    LostAlone,
}

impl LossModel {
    /// A model in its good state.
    pub fn new(loss: Loss, rng: &mut Rng) -> Self {
        match loss {
            Loss::None => Self::None,
            Loss::Random(settings) => Self::Random(CorrelatedRng::new(settings, rng)),
            Loss::State { p13, p31, p32, p23, p14 } => {
                let [p13, p31, p32, p23, p14] = [p13, p31, p32, p23, p14].map(|Probability(chance)| chance);
                Self::State { probabilities: StateProbabilities { p13, p31, p32, p23, p14 }, state: State::Good }
            }
            Loss::Gemodel { p, r, h, k1 } => {
                let [p, r, h, k1] = [p, r, h, k1].map(|Probability(chance)| chance);
                Self::Gemodel { probabilities: GemodelProbabilities { p, r, h, k1 }, is_bad: false }
            }
            Loss::Every { every } => Self::Every { every, seen: 0 },
        }
    }

    /// Sets another model or other numbers; only `every` keeps its count.
    pub fn change(&mut self, loss: Loss, rng: &mut Rng) {
        match (self, loss) {
            (Self::Every { every, .. }, Loss::Every { every: new }) => *every = new,
            (model, loss) => *model = Self::new(loss, rng),
        }
    }

    /// Whether the next packet is lost.
    pub fn hits_next(&mut self, numbers: &mut Prandom) -> bool {
        match self {
            Self::None => false,
            Self::Random(correlated_rng) => correlated_rng.hits_next(numbers),
            Self::State { probabilities, state } => {
                let (next, lost) = probabilities.step(*state, numbers.next_u32());
                *state = next;
                lost
            }
            Self::Gemodel { probabilities, is_bad } => probabilities.step(is_bad, numbers),
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

impl StateProbabilities {
    /// Advances the chain by one packet; returns whether it is lost (`loss_4state`). The transition back from an
    /// isolated loss consumes a packet that passes.
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

impl GemodelProbabilities {
    /// Advances the chain by one packet. The loss probability is that of the state before the transition
    /// (`loss_gilb_ell`).
    fn step(&self, is_bad: &mut bool, numbers: &mut Prandom) -> bool {
        if *is_bad {
            *is_bad = numbers.next_u32() >= self.r;
            numbers.next_u32() > self.h
        } else {
            *is_bad = numbers.next_u32() < self.p;
            numbers.next_u32() < self.k1
        }
    }
}
