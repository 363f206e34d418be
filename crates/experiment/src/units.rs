//! Quantities of an experiment: what a person wrote to integers, and back to the shortest text.
//!
//! The grammar and the exact arithmetic are those of `dumbbell_tc::quantity`.

use crate::value::{Node, Value};
use core::borrow::Borrow;
use dumbbell_tc::{Wrong, quantity};

/// What a number with a unit is written as.
fn text(value: &Value, hint: &str) -> Result<String, Wrong> {
    match &value.node {
        Node::Text(text) => Ok(text.clone()),
        Node::Integer(number) => Ok(number.to_string()),
        Node::Float(number) => Ok(format!("{number:?}")),
        _ => Err(Wrong::new("not a quantity", hint)),
    }
}

/// A number with a unit in two parts, the unit in lower case.
fn parts(word: &str) -> (&str, String) {
    let word = word.trim();
    let end = word.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(word.len());
    (word[..end].trim(), word[end..].to_ascii_lowercase())
}

/// Bits per second. tc's `mbps` are megabytes, which most people don't mean, so a key of an experiment has no such unit.
///
/// # Errors
///
/// No rate, one out of range, or one in bytes.
pub fn rate(value: &Value) -> Result<u64, Wrong> {
    let word = text(value, quantity::RATE)?;
    let (number, unit) = parts(&word);
    if let Some(prefix) = unit.strip_suffix("bps") {
        let bits = tc_rate(value)?;
        let hint = format!("{number}{prefix}bit, or {} if bytes are meant, as tc reads it", rate_text(bits));
        return Err(Wrong::new("a rate in bits or in bytes?", hint));
    }
    quantity::rate_bps(&word)
}

/// Bits per second as tc reads them: `mbps` are megabytes.
///
/// # Errors
///
/// No rate, or one out of range.
pub fn tc_rate(value: &Value) -> Result<u64, Wrong> {
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

/// Bytes of data, at least one: `kB` are thousands, `KiB` 1024. tc's `kb` are 1024, so a key of an experiment has no such
/// unit.
///
/// # Errors
///
/// No size, or one in tc's units.
pub fn size(value: &Value) -> Result<u64, Wrong> {
    let word = text(value, SIZE)?;
    let (number, unit) = parts(&word);
    let prefix = unit.strip_suffix('b').unwrap_or(&unit);
    if ["k", "m", "g", "t"].contains(&prefix) && !word.ends_with('B') {
        data_size(value)?;
        let prefix = prefix.to_uppercase();
        let thousands = if prefix == "K" { "k" } else { &prefix };
        let hint = format!(
            "{number}{thousands}B for powers of 1000, or {number}{prefix}iB for powers of 1024, as tc reads it"
        );
        return Err(Wrong::new("a size in powers of 1000 or of 1024?", hint));
    }
    data_size(value)
}

const SIZE: &str = "a size is a number of bytes, such as 225000, 64kB or 64KiB";

/// Bytes of data, at least one: `kB` are thousands, `kb` 1024.
///
/// # Errors
///
/// No size.
pub fn data_size(value: &Value) -> Result<u64, Wrong> {
    quantity::data_bytes(&text(value, SIZE)?)
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
