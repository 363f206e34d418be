//! Probabilities as Linux's qdiscs keep them.

use serde::Serialize;

/// A probability in units of 2⁻³² as netem keeps it: `u32::MAX` is always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Probability(pub u32);
