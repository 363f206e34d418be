//! Metrics of a run from its tables: one definition each, with formula, unit and source.
//!
//! Pure: columns and [`Facts`] of the manifest in, numbers out. `crates/dumbbell` computes them from the simulator's
//! tables, `crates/python` from any result's: the command, sweeps, comparisons and reports print these numbers.
//!
//! A number that is not known is None, never NaN. Times are nanoseconds since the experiment's start. Sums are in the
//! order of the table, and logarithms and the like come from `libm`, so a result is the same on every machine.

#![forbid(unsafe_code)]

pub mod columns;
mod completion;
mod counter;
pub mod cycle;
mod facts;
mod fairness;
mod flows;
mod intervals;
pub mod names;
mod phases;
mod queue;
mod rates;
mod run;
mod spread;
mod summary;
mod table;

pub use completion::{AnswerTimes, CompletionTimes};
pub use counter::Counter;
pub use cycle::Cycle;
pub use facts::{Facts, Flow, Queue, Window};
pub use fairness::jain_index;
pub use intervals::Intervals;
pub use phases::{Phases, SLOW_STARTERS, Signs};
pub use queue::QueueMetrics;
pub use rates::step_ns;
pub use run::{Error, Run};
pub use spread::{PARTS, Spread};
pub use summary::{FlowMetrics, GroupMetrics, Metrics, PLACES};
pub use table::{Known, Names, Numbers, Table, Values};

const NS: f64 = 1e9;

#[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
const fn float(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
const fn signed_float(number: i64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
const fn count(number: usize) -> f64 {
    number as f64
}

/// The nearest integer; half to even.
#[expect(clippy::cast_possible_truncation, reason = "times and counts are below 2^53")]
fn nearest(number: f64) -> i64 {
    number.round_ties_even() as i64
}

/// The sum of the known numbers; None if all are unknown.
fn sum_of_known(numbers: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    numbers.flatten().reduce(|sum, number| sum + number)
}
