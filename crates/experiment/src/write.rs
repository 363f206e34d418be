//! Documents as TOML, as a person would write them; and values as JSON.

use crate::value::{Node, Table, Value};
use core::fmt::{self, Write as _};

/// A document as TOML: its values, then its tables, then lists of tables. Nulls are left out.
#[must_use]
pub fn document(table: &Table) -> String {
    let mut text = String::new();
    section(&mut text, table, "");
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!("{text}\n") }
}

fn section(out: &mut String, table: &Table, path: &str) {
    let mut below = String::new();
    for (key, value) in &table.0 {
        let name = if path.is_empty() { key_text(&key.text) } else { format!("{path}.{}", key_text(&key.text)) };
        match &value.node {
            Node::Table(inner) => {
                _ = writeln!(below, "\n[{name}]");
                section(&mut below, inner, &name);
            }
            Node::List(items) if !items.is_empty() && items.iter().all(|item| item.table().is_some()) => {
                for inner in items.iter().filter_map(Value::table) {
                    _ = writeln!(below, "\n[[{name}]]");
                    section(&mut below, inner, &name);
                }
            }
            Node::Null => {}
            _ => _ = writeln!(out, "{} = {}", key_text(&key.text), inline(value)),
        }
    }
    out.push_str(&below);
}

/// A value on one line; a table between braces.
#[must_use]
pub fn inline(value: &Value) -> String {
    match &value.node {
        Node::Null => "null".into(),
        Node::Boolean(value) => value.to_string(),
        Node::Integer(value) => value.to_string(),
        Node::Float(value) => float(*value),
        Node::Text(text) => quoted(text),
        Node::List(items) => format!("[{}]", joined(items.iter().map(inline))),
        Node::Table(table) => {
            let pairs = table.0.iter().map(|(key, value)| format!("{} = {}", key_text(&key.text), inline(value)));
            format!("{{ {} }}", joined(pairs))
        }
    }
}

/// A value in JSON.
#[must_use]
pub fn json(value: &Value) -> String {
    match &value.node {
        Node::Float(value) if !value.is_finite() => "null".into(),
        Node::List(items) => format!("[{}]", joined(items.iter().map(json))),
        Node::Table(table) => {
            format!(
                "{{{}}}",
                joined(table.0.iter().map(|(key, value)| format!("{}: {}", quoted(&key.text), json(value))))
            )
        }
        _ => inline(value),
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn float(value: f64) -> String {
    if value.is_nan() {
        "nan".into()
    } else if value.is_infinite() {
        if value > 0.0 { "inf".into() } else { "-inf".into() }
    } else {
        // The shortest text that is read as the same number; always with a point or an exponent.
        format!("{value:?}")
    }
}

/// A key, bare where TOML allows that.
fn key_text(key: &str) -> String {
    let is_bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if is_bare { key.to_owned() } else { quoted(key) }
}

/// A text in quotes, with escapes that both TOML and JSON have.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1f' | '\x7f' => _ = write!(out, "\\u{:04x}", u32::from(character)),
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

impl fmt::Display for Value {
    /// As TOML on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&inline(self))
    }
}
