//! Reading and writing of the two files.

use super::FORMAT;
use super::shape::{Fault, MAX_LEVELS, MAX_NUMBER, Spec, found, joined};
use dumbbell_plan::hidden::is_hidden_between;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::fmt::Write;

/// What a reader says to a damaged file.
const REMEDY: &str = "the result is damaged: run it again or remove it";

/// Reads and checks a file. `what`: `a run's manifest`.
///
/// # Errors
///
/// The text is no JSON object with a `format`, is of a newer format, or a key does not hold what it should.
pub fn read(text: &[u8], spec: &Spec, what: &str) -> Result<Value, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("can't be read: {error}; {REMEDY}");
    let text = std::str::from_utf8(text).map_err(|error| unreadable(&error))?;
    let value: Value = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    let Some(format) = value.get("format").filter(|format| format.is_u64() || format.is_i64()) else {
        return Err(format!("not {what}: it has no 'format'"));
    };
    if format.as_u64().is_some_and(|format| format > FORMAT) {
        return Err(format!("format {format} is newer than this Dumbbell reads ({FORMAT})"));
    }
    check(&value, spec).map_err(|fault| format!("{fault}; {REMEDY}"))?;
    Ok(value)
}

/// Checks a manifest.
///
/// # Errors
///
/// The first key that does not hold what it should.
pub fn check(value: &Value, spec: &Spec) -> Result<(), Fault> {
    if let Some(fault) = strange(value, "", 0) {
        return Err(fault);
    }
    let Value::Object(table) = value else {
        return Err(Fault { key: String::new(), found: found(value), expected: "an object".into() });
    };
    spec.check(table, "")
}

/// The first value that none of our files has: a huge number, or deep nesting.
fn strange(value: &Value, key: &str, level: usize) -> Option<Fault> {
    match value {
        Value::Array(_) | Value::Object(_) if level == MAX_LEVELS => Some(too_deep(key)),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(place, item)| strange(item, &format!("{key}[{place}]"), level + 1))
        }
        Value::Object(table) => table.iter().find_map(|(name, item)| strange(item, &joined(key, name), level + 1)),
        Value::Number(number) if number.as_f64().is_none_or(|number| number.abs() > MAX_NUMBER) => {
            Some(Fault { key: key.into(), found: found(value), expected: "a number below 2^64".into() })
        }
        _ => None,
    }
}

/// A value below more levels than any file has.
#[must_use]
pub fn too_deep(key: &str) -> Fault {
    let key = key.chars().take(60).collect();
    let expected = format!("nesting of at most {MAX_LEVELS} levels");
    Fault { key, found: "is nested too deeply".into(), expected }
}

/// The file's text: a key a line, hidden characters as escapes.
///
/// # Panics
///
/// Never: a value of JSON is serializable.
#[must_use]
pub fn text(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut to = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b" "));
    serde::Serialize::serialize(value, &mut to).expect("a value of JSON is serializable");
    let plain = String::from_utf8(bytes).expect("JSON is text");
    let mut shown = String::with_capacity(plain.len() + 1);
    let mut before = None;
    let mut characters = plain.chars().peekable();
    while let Some(character) = characters.next() {
        // Only strings have such characters, and there an escape means the same.
        if is_hidden_between(before, character, characters.peek().copied()) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
        before = Some(character);
    }
    shown.push('\n');
    shown
}
