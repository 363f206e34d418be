//! Dotted keys: numbers index lists, `flows.bbr.count` finds a group by its name or controller, `flows.*.cc` finds all.

use crate::diagnostic::{Diagnostic, fail};
use crate::limits::MAX_DEPTH;
use crate::renames::modern;
use crate::toml::too_deep;
use crate::value::{Node, Table, Value};

/// Sets a dotted key.
///
/// # Errors
///
/// Nothing has this name, or a value is where tables should be.
pub fn apply(document: &mut Table, key: &str, value: &Value) -> Result<(), Box<Diagnostic>> {
    if key.matches('.').count() >= MAX_DEPTH {
        return fail(too_deep().key(key));
    }
    let modern = modern(key);
    let mut root = Value::from(core::mem::take(document));
    let applied = set(&mut root, modern.as_deref().unwrap_or(key), key, value);
    if let Node::Table(table) = root.node {
        *document = table;
    }
    applied
}

/// The places that a dotted key names in a document, with a number for each item of a list; none if it names nothing.
#[must_use]
pub fn resolve(document: &Table, key: &str) -> Vec<String> {
    let modern = modern(key);
    let key = modern.as_deref().unwrap_or(key);
    let root = Value::from(document.clone());
    let mut places = vec![(String::new(), Some(&root))];
    for part in key.split('.') {
        let mut below = Vec::new();
        for (place, held) in places {
            let join = |part: &str| if place.is_empty() { part.to_owned() } else { format!("{place}.{part}") };
            match held.map(|held| &held.node) {
                Some(Node::List(items)) if part == "*" => {
                    below
                        .extend(items.iter().enumerate().map(|(number, item)| (join(&number.to_string()), Some(item))));
                }
                Some(Node::List(items)) => {
                    let Ok(number) = index(items, part, key) else { return Vec::new() };
                    below.push((join(&number.to_string()), items.get(number)));
                }
                Some(Node::Table(table)) => below.push((join(part), table.get(part))),
                _ => below.push((join(part), None)),
            }
        }
        places = below;
    }
    places.into_iter().map(|(place, _)| place).collect()
}

fn set(root: &mut Value, key: &str, full: &str, value: &Value) -> Result<(), Box<Diagnostic>> {
    if let Some((listed, rest)) = key.split_once(".*") {
        let count = match &at(root, listed.split('.'), full)?.node {
            Node::List(items) => items.len(),
            _ => return fail(Diagnostic::new(format!("'{listed}' is not a list"), "such as flows.*.cc").key(full)),
        };
        return (0..count).try_for_each(|number| set(root, &format!("{listed}.{number}{rest}"), full, value));
    }
    let (above, last) = key.rsplit_once('.').map_or((None, key), |(above, last)| (Some(above), last));
    let held = at(root, above.into_iter().flat_map(|above| above.split('.')), full)?;
    match &mut held.node {
        Node::List(items) => {
            let number = index(items, last, full)?;
            items[number] = value.clone();
        }
        Node::Table(table) => table.set(last, value.clone()),
        _ => return fail(not_keys(last, full)),
    }
    Ok(())
}

fn at<'a, 'k>(
    root: &'a mut Value,
    parts: impl Iterator<Item = &'k str>,
    full: &str,
) -> Result<&'a mut Value, Box<Diagnostic>> {
    let mut held = root;
    for part in parts {
        let below = match &mut held.node {
            Node::List(items) => {
                let number = index(items, part, full)?;
                &mut items[number]
            }
            Node::Table(table) => {
                if !table.has(part) {
                    table.set(part, Table::default().into());
                }
                table.get_mut(part).ok_or_else(|| not_keys(part, full))?
            }
            _ => return fail(not_keys(part, full)),
        };
        if !matches!(below.node, Node::List(_) | Node::Table(_)) {
            return fail(not_keys(part, full));
        }
        held = below;
    }
    Ok(held)
}

fn not_keys(part: &str, full: &str) -> Diagnostic {
    Diagnostic::new(format!("'{part}' holds a value, not keys"), "").key(full)
}

fn index(items: &[Value], part: &str, full: &str) -> Result<usize, Box<Diagnostic>> {
    let is_number = (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(number) = part.parse().ok().filter(|number| is_number && *number < items.len()) {
        return Ok(number);
    }
    let names: Vec<_> = items.iter().map(name_of).collect();
    if let Some(number) = names.iter().position(|name| *name == part) {
        return Ok(number);
    }
    let listed: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
    let hint = match (items.len(), listed.is_empty()) {
        (0, _) => "the list is empty".into(),
        (count, true) => format!("a number from 0 to {}", count - 1),
        (count, false) => format!("a number from 0 to {}, or a name: {}", count - 1, listed.join(", ")),
    };
    fail(Diagnostic::new(format!("nothing is called '{part}' here"), hint).key(full))
}

/// An item's name, or its controller's.
fn name_of(item: &Value) -> &str {
    let text =
        |key| item.table().and_then(|table| table.get(key)).and_then(Value::text).filter(|text| !text.is_empty());
    text("name").or_else(|| text("cc")).unwrap_or_default()
}
