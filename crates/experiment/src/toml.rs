//! TOML to values, for texts from strangers: one that would take too much time or memory is refused before parsing.
//!
//! Parsers of TOML recurse with brackets and take time with the square of a dotted key's length. So the size of a text,
//! its nesting and its number of keys are checked first.

use crate::declare::location::Location;
use crate::diagnostic::{Diagnostic, fail};
use crate::limits::{Limits, MAX_DEPTH, grouped};
use crate::value::{Key, Node, Table, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// A text's values.
///
/// # Errors
///
/// No TOML, or more of it than the limits allow; every mistake that the parser finds.
pub fn parse(text: &str, limits: &Limits) -> Result<Table, Vec<Diagnostic>> {
    check(text, limits).map_err(|fault| vec![*fault])?;
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut faults: Vec<_> = errors
        .iter()
        .map(|error| Diagnostic::new(format!("not TOML: {}", error.message()), "").at(error.span()).located(text))
        .collect();
    // One mistake makes others behind it in its line.
    faults.dedup_by_key(|fault| fault.line);
    let table = table_of(document.get_ref(), &Location::ROOT, &mut faults);
    if faults.is_empty() && !Value::from(table.clone()).is_within(MAX_DEPTH) {
        faults.push(too_deep());
    }
    if faults.is_empty() { Ok(table) } else { Err(faults) }
}

/// Refuses tables within tables that no key needs.
#[must_use]
pub fn too_deep() -> Diagnostic {
    Diagnostic::new(format!("tables within tables, more than {MAX_DEPTH} of them"), "fewer: no key is so deep")
}

/// Refuses a text that is too large, too deep or has too many values.
fn check(text: &str, limits: &Limits) -> Result<(), Box<Diagnostic>> {
    if text.len() > limits.text {
        return fail(Diagnostic::new(
            format!("{} bytes of text, more than {}", grouped(text.len()), limits.size("text")),
            format!("several files, {}", limits.raised("text", text.len())),
        ));
    }
    let (mut depth, mut dots, mut values) = (0_usize, 0_usize, 0_usize);
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::Dot => dots += 1,
            TokenKind::Equals | TokenKind::Comma => (dots, values) = (0, values + 1),
            TokenKind::Newline => dots = 0,
            TokenKind::LeftSquareBracket => (depth, values) = (depth + 1, values + 1),
            TokenKind::LeftCurlyBracket => depth += 1,
            TokenKind::RightSquareBracket => (depth, dots) = (depth.saturating_sub(1), 0),
            TokenKind::RightCurlyBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth.max(dots) >= MAX_DEPTH {
            let span = token.span();
            return fail(too_deep().at(Some(span.start()..span.end())));
        }
    }
    if values > limits.keys {
        return fail(Diagnostic::new(
            format!("{} keys and values, more than {}", grouped(values), grouped(limits.keys)),
            format!("count and cases multiply keys, {}", limits.raised("keys", values)),
        ));
    }
    Ok(())
}

fn table_of(table: &DeTable<'_>, location: &Location<'_>, faults: &mut Vec<Diagnostic>) -> Table {
    let pairs = table.iter().map(|(key, value)| {
        let key = Key { text: key.get_ref().to_string(), span: Some(key.span()) };
        let value = value_of(value, &location.key(&key.text), faults);
        (key, value)
    });
    Table(pairs.collect())
}

fn value_of(value: &Spanned<DeValue<'_>>, location: &Location<'_>, faults: &mut Vec<Diagnostic>) -> Value {
    let span = value.span();
    let mut refuse = |fault: Diagnostic| {
        faults.push(fault.key(location.dotted()).at(Some(span.clone())));
        Node::Null
    };
    let node = match value.get_ref() {
        DeValue::String(text) => Node::Text(text.to_string()),
        DeValue::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).map_or_else(|_| refuse(too_long()), Node::Integer)
        }
        // Longer than any float has digits is still a float.
        DeValue::Float(float) => Node::Float(float.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(boolean) => Node::Boolean(*boolean),
        DeValue::Datetime(date) => refuse(a_date().value(&Value::from(date.to_string()))),
        DeValue::Array(items) => Node::List(
            items.iter().enumerate().map(|(number, item)| value_of(item, &location.item(number), faults)).collect(),
        ),
        DeValue::Table(table) => Node::Table(table_of(table, location, faults)),
    };
    Value { node, span: Some(span) }
}

/// Refuses an integer that TOML does not have.
#[must_use]
pub fn too_long() -> Diagnostic {
    Diagnostic::new("an integer of more than 64 bits", "a smaller one")
}

/// Refuses a date or a time of day, which no key has.
#[must_use]
pub fn a_date() -> Diagnostic {
    Diagnostic::new("a type that experiments can't have", "numbers, texts, true and false, or lists and tables of them")
}
