//! Classify the joint movement of two groups' rates: do they alternate, or what else repeats?
//!
//! Compares both groups' throughput in the same bins:
//!
//! ```text
//! together     r ≥ 0.5: both rise and fall together
//! alternating  r ≤ −0.5, the upper end of r's 95 % interval below 0, and each group leads in at least 10 % of the bins
//! opposed      the same r, but one group leads in more than 90 % of the bins
//! separate     everything else: the difference repeats, because one group oscillates on its own
//! ```
//!
//! r is Pearson's correlation coefficient of the bins. Its interval is Fisher's z: tanh(atanh r ± 1.96 ÷ √(n − 3)),
//! where n is the number of half periods in the window: bins closer than half a period are not independent. A group
//! leads in a bin if its throughput is the higher one.

use crate::count;
use crate::spread::mean;
use serde::Serialize;

/// At 0.5, a quarter of one rate's variance is explained by the other's (r²).
const CORRELATION: f64 = 0.5;
/// Share of the bins; less is noise, or `PROBE_RTT` (2 % of the time).
const LEADS: f64 = 0.1;
/// Standard deviations of a 95 % interval.
const SURE: f64 = 1.96;
/// Fisher's z needs more independent values than this.
const INDEPENDENT_MIN: f64 = 3.0;
/// Keeps atanh finite for a correlation of exactly ±1.
const EXACT: f64 = 1e-12;

/// How two rates move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Each leads at times.
    Alternating,
    /// In opposite directions, but one leads nearly always.
    Opposed,
    /// Both rise and fall together.
    Together,
    /// Everything else.
    Separate,
}

impl Kind {
    /// Its name in a result.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alternating => "alternating",
            Self::Opposed => "opposed",
            Self::Together => "together",
            Self::Separate => "separate",
        }
    }
}

/// The joint movement of two groups' rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Movement {
    /// How they move.
    pub kind: Kind,
    /// Pearson's r, −1 to 1; 0 if one of the rates is constant.
    pub correlation: f64,
    /// Share of the bins in which the second group leads, 0 to 1.
    pub second_leads: f64,
}

/// Classifies two groups' throughput in the same bins, which cover `half_periods`, by the rules above.
#[must_use]
pub fn movement(first: &[f64], second: &[f64], half_periods: f64) -> Movement {
    let correlation = pearson(first, second);
    let share = |leads: fn(&f64, &f64) -> bool| {
        count(first.iter().zip(second).filter(|(one, other)| leads(one, other)).count()) / count(first.len())
    };
    let (first_leads, second_leads) = (share(|one, other| one > other), share(|one, other| other > one));
    let kind = if correlation >= CORRELATION {
        Kind::Together
    } else if correlation > -CORRELATION || upper(correlation, half_periods) >= 0.0 {
        Kind::Separate
    } else if first_leads.min(second_leads) >= LEADS {
        Kind::Alternating
    } else {
        Kind::Opposed
    };
    Movement { kind, correlation, second_leads }
}

fn pearson(first: &[f64], second: &[f64]) -> f64 {
    let (Some(one), Some(other)) = (mean(first), mean(second)) else { return 0.0 };
    let sums = first.iter().zip(second).fold((0.0, 0.0, 0.0), |(ones, others, both), (first, second)| {
        let (first, second) = (first - one, second - other);
        (ones + first * first, others + second * second, both + first * second)
    });
    let scale = (sums.0 * sums.1).sqrt();
    if scale > 0.0 { (sums.2 / scale).clamp(-1.0, 1.0) } else { 0.0 }
}

/// The upper end of the 95 % interval of r; 1 with too few independent values.
fn upper(correlation: f64, half_periods: f64) -> f64 {
    if half_periods <= INDEPENDENT_MIN {
        return 1.0;
    }
    let spread = SURE / (half_periods - INDEPENDENT_MIN).sqrt();
    libm::tanh(libm::atanh(correlation.max(EXACT - 1.0)) + spread)
}
