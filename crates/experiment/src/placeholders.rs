//! Placeholders in a sweep's texts: `bfifo limit {buffer}` takes the value of the axis `buffer`.
//!
//! What fills a placeholder may have placeholders itself. A text that is nothing but a placeholder becomes the value,
//! whatever its kind.

use crate::value::{Node, Table, Value};
use dumbbell_tc::Wrong;
use std::collections::{BTreeMap, BTreeSet};

const MAX_CHARACTERS: usize = 20_000;
const MAX_DEPTH: usize = 16;

/// Whether a placeholder can have this name: no dots, since a dotted key is the experiment's.
#[must_use]
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The placeholders in a text, in order, each as its start, its name, its end.
fn found_in(text: &str) -> impl Iterator<Item = (usize, &str, usize)> {
    let opened = text.match_indices('{').map(|(at, _)| at);
    opened.filter_map(|at| {
        let (name, _) = text[at + 1..].split_once('}')?;
        is_name(name).then_some((at, name, at + name.len() + 2))
    })
}

/// Adds the names in braces, in a text or in the texts of a list or table.
pub fn add_names(value: &Value, names: &mut BTreeSet<String>) {
    match &value.node {
        Node::Text(text) => names.extend(found_in(text).map(|(_, name, _)| name.to_owned())),
        Node::List(items) => items.iter().for_each(|item| add_names(item, names)),
        Node::Table(table) => table.0.iter().for_each(|(_, item)| add_names(item, names)),
        _ => {}
    }
}

/// A value with its placeholders filled.
///
/// # Errors
///
/// They are nested too deeply, or the text becomes too long.
pub fn fill(value: &Value, values: &Table) -> Result<Value, Wrong> {
    fill_at(value, values, 0)
}

fn fill_at(value: &Value, values: &Table, depth: usize) -> Result<Value, Wrong> {
    match &value.node {
        Node::Text(text) => fill_text(text, values, depth),
        Node::List(items) => {
            let filled = items.iter().map(|item| fill_at(item, values, depth)).collect::<Result<Vec<_>, _>>();
            filled.map(Value::from)
        }
        Node::Table(table) => {
            let fill = |(key, item): &(_, Value)| fill_at(item, values, depth).map(|item| (Clone::clone(key), item));
            Ok(Table(table.0.iter().map(fill).collect::<Result<_, _>>()?).into())
        }
        _ => Ok(value.clone()),
    }
}

fn fill_text(text: &str, values: &Table, depth: usize) -> Result<Value, Wrong> {
    if depth > MAX_DEPTH {
        let hint = format!("at most {MAX_DEPTH} in each other");
        return Err(Wrong::new("placeholders are nested too deeply", hint));
    }
    let (mut made, mut end) = (String::new(), 0);
    for (start, name, next) in found_in(text) {
        let Some(value) = values.get(name) else { continue };
        if start == 0 && next == text.len() && value.text().is_none() {
            return fill_at(value, values, depth + 1);
        }
        made.push_str(&text[end..start]);
        match value.text() {
            Some(text) => made.push_str(text),
            None => made.push_str(&value.to_string()),
        }
        end = next;
        check_length(&made)?;
    }
    if end == 0 {
        return Ok(text.into());
    }
    made.push_str(&text[end..]);
    check_length(&made)?;
    fill_text(&made, values, depth + 1)
}

fn check_length(text: &str) -> Result<(), Wrong> {
    if text.chars().count() <= MAX_CHARACTERS {
        return Ok(());
    }
    Err(Wrong::new("the filled text is too long", format!("at most {MAX_CHARACTERS} characters")))
}

/// A placeholder that, after some steps, is filled by itself; `fills` has the placeholders in what fills each.
#[must_use]
pub fn circle<'a>(fills: &'a BTreeMap<&str, BTreeSet<String>>) -> Option<&'a str> {
    fills.keys().copied().find(|name| {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut due: Vec<&str> = fills[name].iter().map(String::as_str).collect();
        while let Some(each) = due.pop() {
            if each == *name {
                return true;
            }
            if seen.insert(each) {
                due.extend(fills.get(each).into_iter().flatten().map(String::as_str));
            }
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_one_placeholder_takes_the_value_and_others_its_text() {
        let values = Table::from_iter([("n", Value::from(3)), ("m", Value::from("{n}b"))]);
        assert_eq!(fill(&"{n}".into(), &values), Ok(3.into()));
        assert_eq!(fill(&"limit {n} {m} {x} {".into(), &values), Ok("limit 3 3b {x} {".into()));
    }

    #[test]
    fn text_that_grows_without_end_is_refused() {
        let values = Table::from_iter([("a", Value::from("{a}{a}")), ("b", Value::from("{b}"))]);
        assert!(fill(&"{a}".into(), &values).is_err());
        assert!(fill(&format!("{{c}}{}", "x".repeat(MAX_CHARACTERS)).into(), &Table::from_iter([("c", "y")])).is_err());
        assert_eq!(fill(&"{b}".into(), &values).unwrap_err().problem, "placeholders are nested too deeply");
    }
}
