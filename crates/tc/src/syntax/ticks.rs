//! tc's clock ticks and its conversions between integers and doubles (`tc_core.c` of iproute2).
#![expect(clippy::float_arithmetic, reason = "tc computes with doubles")]

use dumbbell_net::rate::Rate;
use dumbbell_net::time::{PSCHED_TICK_NS, Span};

const TICKS_PER_MICRO: f64 = 15.625;

/// Whole ticks of a time.
#[must_use]
pub fn ticks(micros: u64) -> u64 {
    truncated(float(micros) * TICKS_PER_MICRO)
}

/// A time in whole ticks.
#[must_use]
pub fn tick_span(micros: u64) -> Span {
    Span::from_nanos(ticks(micros) * PSCHED_TICK_NS)
}

/// Microseconds that `bytes` take, rounded down (`tc_calc_xmittime` before it makes ticks).
#[must_use]
pub fn transmit_micros(bytes: u64, rate: Rate) -> u64 {
    truncated(1e6 * (float(bytes) / float(rate.as_bytes())))
}

/// An integer as a float; exact below 2⁵³.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "tc computes with doubles")]
pub const fn float(number: u64) -> f64 {
    number as f64
}

/// The integer part; a number below 0 gives 0.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
pub const fn truncated(number: f64) -> u64 {
    number as u64
}
