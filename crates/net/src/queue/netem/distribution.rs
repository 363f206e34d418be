//! Delay and jitter, with netem's distribution tables.
//!
//! A table holds 4096 numbers at equal steps of probability: the inverse of a cumulative distribution function with
//! mean 0 and deviation 1, in units of 1/8192 (`NETEM_DIST_SCALE`). Integers compute the tables at their first use,
//! from the formulas in iproute2's generators (`netem/normal.c`, `pareto.c`, `paretonormal.c`): entry i is the quantile
//! of (i + 1/8)/4096 for the normal distribution, of i/4096 for Pareto's with exponent 3.

use super::correlated_rng::CorrelatedRng;
use super::prandom::Prandom;
use crate::queue::bucket::span_nanos;
use crate::queue::{Distribution, NetemConfig};
use crate::rng::Rng;
use alloc::boxed::Box;
use once_cell::race::OnceBox;

#[cfg(test)]
mod tests;

/// A delay with jitter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jitter {
    delay_ns: i64,
    spread_ns: i64,
    shape: Option<&'static Table>,
    correlated_rng: CorrelatedRng,
}

/// Values of a distribution, as iproute2 makes them.
pub type Table = [i16; ENTRIES];

/// The table of a distribution; the uniform one has none.
#[must_use]
pub fn table(distribution: Distribution) -> Option<&'static Table> {
    static TABLES: [OnceBox<Table>; 3] = [OnceBox::new(), OnceBox::new(), OnceBox::new()];
    let (place, numbers): (usize, fn() -> [i32; ENTRIES]) = match distribution {
        Distribution::Uniform => return None,
        Distribution::Normal => (0, normal),
        Distribution::Pareto => (1, pareto),
        Distribution::Paretonormal => (2, mixed),
    };
    Some(TABLES[place].get_or_init(|| Box::new(clamped(&numbers()))))
}

impl Jitter {
    /// From the settings; jitter saturates at 2.1 s (`netem_change`).
    pub fn new(config: &NetemConfig, rng: &mut Rng) -> Self {
        let shape = table(config.distribution);
        Self {
            delay_ns: span_nanos(config.delay),
            spread_ns: span_nanos(config.jitter).min(i32::MAX.into()),
            shape,
            correlated_rng: CorrelatedRng::numbers(config.delay_correlation, rng),
        }
    }

    /// Draws a delay; negative if the jitter exceeds the delay (`tabledist`).
    pub fn draw(&mut self, numbers: &mut Prandom) -> i64 {
        if self.spread_ns == 0 {
            return self.delay_ns;
        }
        let draw = self.correlated_rng.draw(numbers);
        let Some(table) = self.shape else {
            return i64::from(draw) % (2 * self.spread_ns) + self.delay_ns - self.spread_ns;
        };
        let deviation = i64::from(table[draw as usize % ENTRIES]);
        let (units, fraction) = (self.spread_ns / SCALE, self.spread_ns % SCALE * deviation);
        let half = if fraction < 0 { -SCALE / 2 } else { SCALE / 2 };
        (fraction + half) / SCALE + units * deviation + self.delay_ns
    }
}

/// A quarter normal, three quarters Pareto.
fn mixed() -> [i32; ENTRIES] {
    let (normal, pareto) = (normal(), clamped(&pareto()));
    let mut table = [0; ENTRIES];
    let mut entry = 0;
    while entry < ENTRIES {
        table[entry] = (normal[entry] + 3 * i32::from(pareto[entry])) / 4;
        entry += 1;
    }
    table
}

/// Pareto with exponent 3, minus its mean of 3/2, times 4/3: 4/3 × (u^(-1/3) − 3/2), u from 1 down.
#[expect(clippy::cast_possible_truncation, reason = "the largest is 158378")]
fn pareto() -> [i32; ENTRIES] {
    let mut table = [0; ENTRIES];
    let mut entry = 0;
    while entry < ENTRIES {
        // u = left/4096, so u^(-1/3) = 16/cbrt(left); the root is computed with 20 fractional bits.
        let left = (ENTRIES - entry) as u128;
        let root = cube_root(left << 60);
        let (above, below) = ((4 * 8192 * 16) << 20, 3 * root);
        table[entry] = ((2 * above + below) / (2 * below)) as i32 - 16_384;
        entry += 1;
    }
    table
}

/// Quantiles of the normal distribution: integrates the density from the middle; the lower half mirrors the upper half
/// with the sign inverted.
fn normal() -> [i32; ENTRIES] {
    let mut table = [0; ENTRIES];
    fill_half(&mut table, true);
    fill_half(&mut table, false);
    table
}

/// Entry 2048 + j is the quantile at (8j + 1)/16384 above the middle, entry 2047 − j at (8j + 7)/16384 below it.
fn fill_half(table: &mut [i32; ENTRIES], upper: bool) {
    let total = half_of_the_bell();
    let mut bell = NormalCurve::new();
    let mut j = 0;
    while j < ENTRIES / 2 {
        let share = (8 * j + if upper { 1 } else { 7 }) as u128;
        while bell.area * 16_384 < total * share {
            bell.step();
        }
        if upper {
            table[ENTRIES / 2 + j] = bell.x;
        } else {
            table[ENTRIES / 2 - 1 - j] = -bell.x;
        }
        j += 1;
    }
}

fn half_of_the_bell() -> u128 {
    let mut bell = NormalCurve::new();
    while bell.x < 6 * 8192 {
        bell.step();
    }
    bell.area
}

/// exp(−x²/2) for x = 0, 1/8192, 2/8192 …, and its integral, by multiplication alone: neighbours differ by the factor
/// exp(−h²/2)^(2n+1).
struct NormalCurve {
    x: i32,
    height: u128,
    ratio: u128,
    area: u128,
}

impl NormalCurve {
    fn new() -> Self {
        Self { x: 0, height: ONE, ratio: STEP, area: 0 }
    }

    fn step(&mut self) {
        let next = times(self.height, self.ratio);
        self.ratio = times(self.ratio, times(STEP, STEP));
        self.area += u128::midpoint(self.height, next);
        self.height = next;
        self.x += 1;
    }
}

fn times(a: u128, b: u128) -> u128 {
    (a * b) >> 62
}

fn cube_root(number: u128) -> u128 {
    let (mut low, mut high) = (0, 1 << 25);
    while high - low > 1 {
        let middle = u128::midpoint(low, high);
        if middle * middle * middle <= number {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[expect(clippy::cast_possible_truncation, reason = "larger values were saturated before")]
fn clamped(numbers: &[i32; ENTRIES]) -> Table {
    let mut table = [0; ENTRIES];
    let mut entry = 0;
    while entry < ENTRIES {
        table[entry] = match numbers[entry] {
            ..-32_768 => i16::MIN,
            32_768.. => i16::MAX,
            number => number as i16,
        };
        entry += 1;
    }
    table
}

const ENTRIES: usize = 4_096;
/// `NETEM_DIST_SCALE`.
const SCALE: i64 = 8_192;
/// 1 with 62 fractional bits.
const ONE: u128 = 1 << 62;
/// exp(−h²/2) for h = 1/8192: 1 − 2⁻²⁷ + 2⁻⁵⁵; the next term is below the last bit.
const STEP: u128 = ONE - (1 << 35) + (1 << 7);
