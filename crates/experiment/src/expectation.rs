//! What is expected of a result, and the name of a metric.
//!
//! ```text
//! expectation = name operator number      queue.delay_ms.p95 < 30
//!             | name "==" true|false|null cycle == null
//!             | name "in" low..high       groups.bbr.share in 0.6..0.8   (both ends belong to it)
//! name        = keys, or keys "from" time "to" time: of that part of the run only
//!                                         ping_ms.max from 40s to 42s < 180   (either may be left out)
//! keys        = the keys of `--json`, joined by dots; an item of a list by its name or its number from 0
//! operator    = "<" | "<=" | ">" | ">=" | "=="
//! ```

use dumbbell_tc::Wrong;
use dumbbell_tc::quantity::time_ns;

const RIGHT: &str =
    "write a metric, one of < <= > >= == and a number, as in 'groups.bbr.share > 0.6', or 'x in 0.6..0.8'";

/// A number of a run, and the part of the run that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Keys with dots.
    pub name: String,
    /// Start of the part in nanoseconds.
    pub from: Option<u64>,
    /// End of the part in nanoseconds.
    pub to: Option<u64>,
}

/// One expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// What is compared.
    pub metric: Metric,
    /// With what, and how.
    pub condition: Condition,
}

/// What a metric must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// `< number`
    Below(f64),
    /// `<= number`
    AtMost(f64),
    /// `> number`
    Above(f64),
    /// `>= number`
    AtLeast(f64),
    /// `== number`
    Equal(f64),
    /// `== true` or `== false`
    Is(bool),
    /// `== null`
    Unknown,
    /// `in low..high`
    Within(f64, f64),
}

/// Reads an expectation.
///
/// # Errors
///
/// Another form, an empty range, a number or a time that is none.
pub fn parse(text: &str) -> Result<Expectation, Wrong> {
    let none = || Wrong::new(format!("'{text}' is not an expectation"), RIGHT);
    let trimmed = text.trim();
    let (name, sign, right) = match trimmed.find(['<', '>', '=']) {
        Some(at) => {
            let signs = ["<=", ">=", "==", "<", ">"];
            let sign = signs.into_iter().find(|sign| trimmed[at..].starts_with(sign)).ok_or_else(none)?;
            (&trimmed[..at], sign, &trimmed[at + sign.len()..])
        }
        None => split_at_in(trimmed).ok_or_else(none)?,
    };
    if name.trim().is_empty() || right.is_empty() || right.contains(['<', '>', '=']) {
        return Err(none());
    }
    let (metric, right) = (metric(name)?, right.trim());
    let condition = match (sign, right) {
        ("in", _) => range(right, text)?,
        ("==", "true") => Condition::Is(true),
        ("==", "false") => Condition::Is(false),
        ("==", "null") => Condition::Unknown,
        ("<", _) => Condition::Below(number(right, text)?),
        ("<=", _) => Condition::AtMost(number(right, text)?),
        (">", _) => Condition::Above(number(right, text)?),
        (">=", _) => Condition::AtLeast(number(right, text)?),
        _ => Condition::Equal(number(right, text)?),
    };
    Ok(Expectation { metric, condition })
}

/// Splits at the last word `in`.
fn split_at_in(text: &str) -> Option<(&str, &str, &str)> {
    let is_alone = |at: usize| {
        let (before, after) = (&text[..at], &text[at + 2..]);
        before.ends_with(char::is_whitespace) && after.starts_with(char::is_whitespace)
    };
    let at = text.rmatch_indices("in").map(|(at, _)| at).find(|at| is_alone(*at))?;
    Some((&text[..at], "in", &text[at + 2..]))
}

fn range(right: &str, text: &str) -> Result<Condition, Wrong> {
    let Some((low, high)) = right.split_once("..") else {
        return Err(Wrong::new(format!("'{right}' is not a range in '{text}'"), "write it as 0.6..0.8"));
    };
    let (low, high) = (number(low, text)?, number(high, text)?);
    if low > high {
        return Err(Wrong::new(format!("the range {right} in '{text}' is empty"), "write the smaller number first"));
    }
    Ok(Condition::Within(low, high))
}

fn number(word: &str, text: &str) -> Result<f64, Wrong> {
    let word = word.trim();
    let is_underscored = word.split('_').all(|part| part.starts_with(|c: char| c.is_ascii_digit()) || part == word);
    let digits = if is_underscored { word.replace('_', "") } else { word.to_owned() };
    digits
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
        .ok_or_else(|| Wrong::new(format!("'{word}' is not a number in '{text}'"), RIGHT))
}

/// Reads a metric's name, and its part of the run if it has one.
///
/// # Errors
///
/// No name, a time that is none, an empty part.
pub fn metric(text: &str) -> Result<Metric, Wrong> {
    let none = || Wrong::new(format!("'{text}' is not a metric's name"), RIGHT);
    let (rest, to) = without_last(text.trim(), "to");
    let (name, from) = without_last(rest, "from");
    if name.contains('\n') || name.split('.').any(str::is_empty) {
        return Err(none());
    }
    let time = |word: Option<&str>| match word {
        None => Ok(None),
        Some(word) => time_ns(word).map(Some).map_err(|wrong| {
            Wrong::new(format!("{}: '{word}' in '{text}'", wrong.problem), format!("write {}", wrong.hint))
        }),
    };
    let (from, to) = (time(from)?, time(to)?);
    if to.is_some_and(|to| to <= from.unwrap_or(0)) {
        return Err(Wrong::new(format!("the part of the run in '{text}' is empty"), "write the earlier time first"));
    }
    Ok(Metric { name: name.to_owned(), from, to })
}

/// The text before a last `word TIME`, and this time.
fn without_last<'a>(text: &'a str, word: &str) -> (&'a str, Option<&'a str>) {
    let split = || {
        let (before, time) = text.rsplit_once(char::is_whitespace)?;
        let (name, last) = before.trim_end().rsplit_once(char::is_whitespace)?;
        let name = name.trim_end();
        (last == word && time.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty()).then_some((name, time))
    };
    split().map_or((text, None), |(name, time)| (name, Some(time)))
}
