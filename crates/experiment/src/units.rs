//! Quantities of an experiment: what a person wrote to integers, and back to the shortest text.
//!
//! The grammar and the exact arithmetic are those of `dumbbell_tc::quantity`.

use crate::value::{Node, Value};
use core::borrow::Borrow;
use dumbbell_tc::{Wrong, quantity};

/// What a number with a unit is written as.
fn text(value: &Value, right: &str) -> Result<String, Wrong> {
    match &value.node {
        Node::Text(text) => Ok(text.clone()),
        Node::Integer(number) => Ok(number.to_string()),
        Node::Float(number) => Ok(format!("{number:?}")),
        _ => Err(Wrong::new("not a quantity", right)),
    }
}

/// Bits per second.
///
/// # Errors
///
/// No rate, or one out of range.
pub fn rate(value: &Value) -> Result<u64, Wrong> {
    quantity::rate_bps(&text(value, quantity::RATE)?)
}

/// Nanoseconds.
///
/// # Errors
///
/// No time, or one that is negative or too long.
pub fn time(value: &Value) -> Result<u64, Wrong> {
    quantity::time_ns(&text(value, quantity::TIME)?)
}

/// Nanoseconds, at least one.
///
/// # Errors
///
/// As [`time`]; zero.
pub fn duration(value: &Value) -> Result<u64, Wrong> {
    match time(value)? {
        0 => Err(Wrong::new("a time of zero", "it must be longer than zero")),
        time => Ok(time),
    }
}

/// Bytes of data, at least one.
///
/// # Errors
///
/// No size.
pub fn size(value: &Value) -> Result<u64, Wrong> {
    quantity::data_bytes(&text(value, quantity::SIZE)?)
}

/// A share of one, from 0 to 1; a bare number is per cent, as tc reads it.
///
/// # Errors
///
/// No share.
pub fn share(value: &Value) -> Result<f64, Wrong> {
    Ok(per_cent(value)? / 100.0)
}

/// The same in per cent.
///
/// # Errors
///
/// No share.
pub fn per_cent(value: &Value) -> Result<f64, Wrong> {
    quantity::per_cent(&text(value, quantity::SHARE)?)
}

/// A whole number that is not negative.
///
/// # Errors
///
/// Anything else.
pub fn count(value: &Value) -> Result<u64, Wrong> {
    quantity::count(&text(value, "a whole number")?)
}

/// Bytes as tc reads them: `kb` is 1024 bytes, case does not matter.
///
/// # Errors
///
/// No size.
pub fn tc_size(value: &Value) -> Result<u64, Wrong> {
    quantity::bytes(&text(value, quantity::SIZE)?)
}

/// A queue's size: bytes as an integer, or bandwidth-delay products as a float (`1.5bdp`).
///
/// # Errors
///
/// Neither.
pub fn queue_size(value: &Value) -> Result<Value, Wrong> {
    match quantity::bdp(value.text().unwrap_or_default())? {
        Some(products) => Ok(products.into()),
        None => tc_size(value).map(Value::from),
    }
}

/// A rate in the shortest exact spelling of tc.
#[must_use]
pub fn rate_text(rate: impl Borrow<u64>) -> String {
    shortest(*rate.borrow(), &[("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000)], "bit")
}

/// A time in the shortest exact spelling of tc.
#[must_use]
pub fn time_text(time: impl Borrow<u64>) -> String {
    shortest(*time.borrow(), &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)], "ns")
}

fn shortest(number: u64, units: &[(&str, u64)], least: &str) -> String {
    let unit = units.iter().find(|(_, scale)| number.is_multiple_of(*scale));
    unit.map_or_else(|| format!("{number}{least}"), |(unit, scale)| format!("{}{unit}", number / scale))
}

/// Milliseconds with six significant digits at most, for messages.
#[must_use]
pub fn milliseconds(time: u64) -> String {
    let digits = format!("{}.{:06}", time / 1_000_000, time % 1_000_000);
    let text = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{text} ms")
}
