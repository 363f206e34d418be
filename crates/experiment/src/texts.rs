//! Refuses characters that a terminal would obey or a reader not see, and several lines where one is shown.

use crate::diagnostic::{Diagnostic, MAX_REPORTED};
use crate::value::{Node, Table, Value};
use core::fmt::Write as _;
use dumbbell_plan::hidden::find;

/// Keys whose text is shown in one line; most names have a grammar of their own.
const ONE_LINE: [&str; 4] = ["title", "what", "case", "url"];

/// Looks at every key and every text.
pub(crate) fn check_texts(table: &Table, path: &str, faults: &mut Vec<Diagnostic>) {
    for (key, value) in &table.0 {
        let name = if path.is_empty() { key.text.clone() } else { format!("{path}.{}", key.text) };
        let place = Value { node: Node::Text(key.text.clone()), span: key.span.clone() };
        check_text(&place, path, true, faults);
        check_value(value, &name, faults);
    }
}

fn check_value(value: &Value, key: &str, faults: &mut Vec<Diagnostic>) {
    match &value.node {
        Node::Text(_) => check_text(value, key, false, faults),
        Node::List(items) => {
            for (number, item) in items.iter().enumerate() {
                check_value(item, &format!("{key}.{number}"), faults);
            }
        }
        Node::Table(table) => check_texts(table, key, faults),
        _ => {}
    }
}

/// Refuses what a terminal would obey or a reader not see. Files of programs may hold any text.
fn check_text(value: &Value, key: &str, is_key: bool, faults: &mut Vec<Diagnostic>) {
    let text = value.text().unwrap_or_default();
    if faults.len() >= MAX_REPORTED {
        return;
    }
    if let Some((position, character)) = find(text) {
        if is_key || !key.split('.').any(|part| part == "files") {
            let mut problem = String::from(if is_key { "a key with " } else { "" });
            let code = u32::from(character);
            _ = write!(problem, "the character U+{code:04X}, which can't be seen, at character {}", position + 1);
            faults.push(Diagnostic::new(problem, "leave it out").key(key).value(value));
        }
    } else if text.contains('\n') && (is_key || is_one_line(key)) {
        faults.push(Diagnostic::new("more than one line", "write it in one").key(key).value(value));
    }
}

fn is_one_line(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or_default();
    let mut parts = key.split('.');
    let is_case = parts.next() == Some("cases") && parts.next().is_some() && parts.next() == Some("name");
    ONE_LINE.contains(&last) || (is_case && parts.next().is_none())
}
