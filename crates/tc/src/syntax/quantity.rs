//! Rates, times, sizes and shares in tc's units, with tc's rounding (tc(8), PARAMETERS; `utils_math.c` and
//! `tc_core.c` of iproute2).
//!
//! Numbers are decimal and exact until tc makes them integers.
#![expect(clippy::float_arithmetic, reason = "tc computes with doubles")]

pub use super::ticks::{float, tick_span, ticks, transmit_micros, truncated};

use super::Wrong;
use dumbbell_net::probability::Probability;
use dumbbell_net::rate::Rate;

const MAX_CHARACTERS: usize = 60;
const MAX_POWER: i32 = 18;
/// Significant digits that count; more do not change any rounded value.
const MAX_DIGITS: usize = 24;
const MAX_RATE_BPS: u64 = 1_000_000_000_000;
const MAX_TIME_NS: u64 = 1_000_000_000_000_000;
const MAX_BDP: f64 = 1e6;

/// What a rate is.
pub const RATE: &str = "a rate is a number with a unit, such as 80mbit, 5gbit or 64kbit";
/// What a time is.
pub const TIME: &str = "a time is a number with a unit, such as 13ms, 500us or 2s";
/// What a size is.
pub const SIZE: &str = "a size is a number of bytes, such as 225000, 225000b or 64kb";
/// What a share is.
pub const SHARE: &str = "a share is a number from 0% to 100%, such as 1% or 0.1%";
const STEP: &str = "a time such as 1ms, or a number of packets such as 5p";

/// `digits` × 10^`power`, exact.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    is_negative: bool,
    digits: u128,
    power: i32,
    /// Whether digits beyond [`MAX_DIGITS`] that are not 0 were left out.
    is_cut: bool,
}

impl Decimal {
    /// The integer part of this number × `scale` / `divisor`; saturates.
    fn scaled(self, scale: u64, divisor: u64) -> u64 {
        let product = self.digits.saturating_mul(u128::from(scale));
        let value = match self.power {
            0.. => product.saturating_mul(power_of_ten(self.power)) / u128::from(divisor),
            // Two divisions that round down equal one.
            _ => product / u128::from(divisor) / power_of_ten(-self.power),
        };
        u64::try_from(value).unwrap_or(u64::MAX)
    }

    const fn is_zero(self) -> bool {
        self.digits == 0
    }

    fn is_whole(self) -> bool {
        let is_fraction = self.power < 0 && !self.digits.is_multiple_of(power_of_ten(-self.power));
        !is_fraction && !self.is_cut
    }

    const fn is_below_zero(self) -> bool {
        self.is_negative && self.digits != 0
    }
}

/// 10^`power`; `u128::MAX` beyond its range.
fn power_of_ten(power: i32) -> u128 {
    u32::try_from(power).ok().and_then(|power| 10_u128.checked_pow(power)).unwrap_or(u128::MAX)
}

/// Length of the number that a word begins with.
fn number_length(word: &[u8]) -> Option<usize> {
    let digits = |from: usize| word[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(word.first(), Some(b'+' | b'-')));
    let whole = digits(sign);
    let mut end = sign + whole;
    if word.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if whole + fraction == 0 {
            return None;
        }
        end += 1 + fraction;
    } else if whole == 0 {
        return None;
    }
    if word.get(end) == Some(&b'e') {
        let exponent = end + 1 + usize::from(matches!(word.get(end + 1), Some(b'+' | b'-')));
        let length = if exponent <= word.len() { digits(exponent) } else { 0 };
        if length > 0 {
            end = exponent + length;
        }
    }
    Some(end)
}

/// Splits a word into its number and its unit.
fn split<'a>(word: &'a str, hint: &str) -> Result<(Decimal, &'a str), Wrong> {
    let none = || Wrong::new("not a quantity", hint);
    let word = word.trim();
    let word = word.char_indices().nth(MAX_CHARACTERS).map_or(word, |(end, _)| &word[..end]);
    let end = number_length(word.as_bytes()).ok_or_else(none)?;
    let (number, unit) = word.split_at(end);
    if !unit.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'%') {
        return Err(none());
    }
    Ok((decimal(number).ok_or_else(|| Wrong::new("a number that is too large", hint))?, unit))
}

/// Reads a number that [`number_length`] found; None: too large.
fn decimal(number: &str) -> Option<Decimal> {
    let (mantissa, exponent) = number.split_once('e').unwrap_or((number, "0"));
    // An exponent of more digits than an i32 has is as good as infinite.
    let exponent: i32 = exponent.parse().unwrap_or(if exponent.starts_with('-') { -100_000 } else { 100_000 });
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let mut power = exponent.clamp(-100_000, 100_000) - i32::try_from(fraction).ok()?;
    let (mut digits, mut kept, mut is_cut) = (0_u128, 0, false);
    for digit in mantissa.bytes().filter(u8::is_ascii_digit) {
        if kept < MAX_DIGITS {
            digits = digits * 10 + u128::from(digit - b'0');
            kept += usize::from(digits > 0);
        } else {
            power += 1;
            is_cut |= digit != b'0';
        }
    }
    let most = power + i32::try_from(kept).ok()? - 1;
    (digits == 0 || most <= MAX_POWER).then(|| Decimal {
        is_negative: mantissa.starts_with('-'),
        digits,
        power: if digits == 0 { 0 } else { power },
        is_cut,
    })
}

/// Bits per second, from 1 to 10¹².
///
/// # Errors
///
/// No rate, or one out of range.
pub fn rate_bps(word: &str) -> Result<u64, Wrong> {
    let (number, unit) = split(word, RATE)?;
    if unit.is_empty() {
        return Err(Wrong::new("a rate without a unit", RATE));
    }
    let scale = rate_scale(unit).ok_or_else(|| Wrong::new(format!("'{unit}' is not a unit of rate"), RATE))?;
    if number.is_below_zero() {
        return Err(Wrong::new("a negative rate", RATE));
    }
    Some(number.scaled(scale, 1))
        .filter(|rate| (1..=MAX_RATE_BPS).contains(rate))
        .ok_or_else(|| Wrong::new("a rate out of range", "rates go from 1bit to 1tbit"))
}

fn rate_scale(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    let (prefix, bits) =
        unit.strip_suffix("bit").map(|prefix| (prefix, 1)).or_else(|| Some((unit.strip_suffix("bps")?, 8)))?;
    let factor = match prefix {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        "ti" => 1 << 40,
        _ => return None,
    };
    Some(factor * bits)
}

/// A rate as the kernel keeps it, in whole bytes per second.
///
/// # Errors
///
/// As [`rate_bps`].
pub fn rate(word: &str) -> Result<Rate, Wrong> {
    rate_bps(word).map(Rate::from_bits)
}

/// Nanoseconds, up to 10¹⁵.
///
/// # Errors
///
/// No time, or one that is negative or longer than eleven days.
pub fn time_ns(word: &str) -> Result<u64, Wrong> {
    let (number, unit) = split(word, TIME)?;
    if unit.is_empty() && !number.is_zero() {
        return Err(Wrong::new("a time without a unit", TIME));
    }
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "s" | "sec" | "secs" => 1_000_000_000,
        "ms" | "msec" | "msecs" => 1_000_000,
        "us" | "usec" | "usecs" => 1_000,
        "ns" | "nsec" | "nsecs" => 1,
        "min" => 60_000_000_000,
        _ => return Err(Wrong::new(format!("'{unit}' is not a unit of time"), TIME)),
    };
    if number.is_below_zero() {
        return Err(Wrong::new("a negative time", TIME));
    }
    Some(number.scaled(scale, 1))
        .filter(|time| *time <= MAX_TIME_NS)
        .ok_or_else(|| Wrong::new("a time longer than eleven days", TIME))
}

/// A time in whole microseconds, for options where tc has nothing shorter.
///
/// # Errors
///
/// As [`time_ns`]; a time in nanoseconds.
pub fn micros(word: &str) -> Result<u64, Wrong> {
    let lower = word.to_ascii_lowercase();
    if ["ns", "nsec", "nsecs"].iter().any(|unit| lower.ends_with(unit)) {
        return Err(Wrong::new(format!("tc takes no time in nanoseconds here: '{word}'"), "us, ms or s"));
    }
    Ok(time_ns(word)? / 1_000)
}

/// A number of packets (`5p`), or None: a time.
///
/// # Errors
///
/// Not a whole number of packets.
pub fn packets(word: &str) -> Result<Option<u64>, Wrong> {
    let (number, unit) = split(word, STEP)?;
    if !["p", "pkt", "pkts", "packet", "packets"].contains(&unit.to_ascii_lowercase().as_str()) {
        return Ok(None);
    }
    if !number.is_whole() || number.is_below_zero() {
        return Err(Wrong::new("not a whole number of packets", STEP));
    }
    Ok(Some(number.scaled(1, 1)))
}

/// Bytes: `kb` is 1024 bytes, `mbit` 131,072 bytes, case does not matter.
///
/// # Errors
///
/// No size, or a negative one.
pub fn bytes(word: &str) -> Result<u64, Wrong> {
    let (number, unit) = split(word, SIZE)?;
    let (scale, divisor) = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => (1, 1),
        "k" | "kb" => (1 << 10, 1),
        "m" | "mb" => (1 << 20, 1),
        "g" | "gb" => (1 << 30, 1),
        "kbit" => (1 << 10, 8),
        "mbit" => (1 << 20, 8),
        "gbit" => (1 << 30, 8),
        _ => return Err(Wrong::new(format!("'{unit}' is not a unit of size"), SIZE)),
    };
    if number.is_below_zero() {
        return Err(Wrong::new("a negative size", SIZE));
    }
    Ok(number.scaled(scale, divisor))
}

/// Bytes of data in an experiment, at least 1: as [`bytes`], but `kB`, `KB`, `MB`, `GB` count in thousands, and there
/// are `KiB`, `MiB`, `GiB`.
///
/// # Errors
///
/// No size, or one of zero or of more than 63 bits.
pub fn data_bytes(word: &str) -> Result<u64, Wrong> {
    let (number, unit) = split(word, SIZE)?;
    let scale = match unit {
        "kB" | "KB" => Some(1_000),
        "MB" => Some(1_000_000),
        "GB" => Some(1_000_000_000),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        _ => None,
    };
    let size = match scale {
        Some(_) if number.is_below_zero() => return Err(Wrong::new("a negative size", SIZE)),
        Some(scale) => number.scaled(scale, 1),
        None => bytes(word)?,
    };
    match size {
        0 => Err(Wrong::new("a size of zero", "a size is at least one byte")),
        size if i64::try_from(size).is_err() => Err(Wrong::new("a number that is too large", SIZE)),
        size => Ok(size),
    }
}

/// Bandwidth-delay products (`1.5bdp`); None: another unit.
///
/// # Errors
///
/// None at all, or more than a million.
pub fn bdp(word: &str) -> Result<Option<f64>, Wrong> {
    let word = word.trim();
    let Some(number) = number_length(word.as_bytes()).filter(|end| word[*end..].eq_ignore_ascii_case("bdp")) else {
        return Ok(None);
    };
    let products: f64 = word[..number].parse().unwrap_or(f64::INFINITY);
    if !(products > 0.0 && products <= MAX_BDP) {
        return Err(Wrong::new("a queue of no bandwidth-delay product, or of more than a million", "such as 1.5bdp"));
    }
    Ok(Some(products))
}

/// A whole number that is not negative.
///
/// # Errors
///
/// Anything else.
pub fn count(word: &str) -> Result<u64, Wrong> {
    let (number, unit) = split(word, "a whole number")?;
    if !unit.is_empty() || !number.is_whole() || number.is_below_zero() {
        return Err(Wrong::new("not a whole number", "such as 1000"));
    }
    Ok(number.scaled(1, 1))
}

/// Per cent, from 0 to 100; a bare number is per cent, too.
///
/// # Errors
///
/// No share.
pub fn per_cent(word: &str) -> Result<f64, Wrong> {
    let (number, unit) = split(word, SHARE)?;
    if !matches!(unit, "" | "%") {
        return Err(Wrong::new(format!("'{unit}' is not a unit of a share"), SHARE));
    }
    let per_cent: f64 = word.trim().trim_end_matches('%').parse().unwrap_or(f64::INFINITY);
    if number.is_below_zero() || !(0.0..=100.0).contains(&per_cent) {
        return Err(Wrong::new("a share outside 0% to 100%", SHARE));
    }
    Ok(per_cent)
}

/// A share as netem keeps it, rounded to units of 2⁻³² as tc does (`get_percent`).
///
/// # Errors
///
/// As [`per_cent`].
pub fn probability(word: &str) -> Result<Probability, Wrong> {
    per_cent(word).map(|per_cent| probability_of(per_cent / 100.0))
}

/// A share of one in units of 2⁻³².
#[must_use]
pub fn probability_of(share: f64) -> Probability {
    Probability(u32::try_from(truncated(libm::rint(share * f64::from(u32::MAX)))).unwrap_or(u32::MAX))
}

/// A number that is not negative, such as a probability: 0 to 10⁹.
///
/// # Errors
///
/// Anything else.
pub fn fraction(word: &str) -> Result<f64, Wrong> {
    let is_number = number_length(word.as_bytes()) == Some(word.len());
    word.parse()
        .ok()
        .filter(|value| is_number && (0.0..=1e9).contains(value))
        .ok_or_else(|| Wrong::new("not a number from 0 to 1000000000", "such as 0.02"))
}

/// A value and a mask of 8 bits, in hexadecimal (`0x01/0x03`).
///
/// # Errors
///
/// Anything else.
pub fn value_and_mask(word: &str) -> Result<(u8, u8), Wrong> {
    let byte = |text: &str| {
        let digits = text.strip_prefix("0x").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        u8::from_str_radix(digits, 16).ok().filter(|_| digits.len() <= 2)
    };
    word.split_once('/')
        .and_then(|(value, mask)| Some((byte(value)?, byte(mask)?)))
        .ok_or_else(|| Wrong::new("not a value and a mask", "such as 0x01/0x03"))
}

/// A number in the 32 bits that tc has for it.
///
/// # Errors
///
/// It does not fit; `word` is what was written.
pub fn fit(number: u64, word: &str) -> Result<u32, Wrong> {
    u32::try_from(number).map_err(|_| {
        let limit = u32::MAX;
        Wrong::new(format!("a number that does not fit tc's 32 bits: '{word}'"), format!("at most {limit}"))
    })
}
