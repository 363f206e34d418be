//! What the declarations of choices and tables have in common: messages, shapes, text, random values.

use super::spec::{Presence, Shape, TableSpec};
use crate::draw::Draw;
use crate::suggest::meant;
use crate::value::{Table, Value};
use dumbbell_tc::Wrong;

/// The mistake of a value that is none of these words.
#[must_use]
pub fn none_of(value: &Value, words: &[&str]) -> Wrong {
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    let meant = value.text().map(|text| meant(text, words, 1)).unwrap_or_default();
    Wrong::new("not one of the choices", format!("{meant}{}", quoted.join(" or ")))
}

/// Stands for the shapes of keys in a program without a reference.
#[must_use]
pub fn no_shape() -> Shape {
    Shape::new("", "", [])
}

/// Stands for the random values of keys in such a program.
#[must_use]
pub fn no_value(_: &mut Draw<'_>) -> Value {
    Value::from(false)
}

/// The shape of a choice.
#[must_use]
pub fn choice_shape(words: &'static [&'static str]) -> Shape {
    let schema = [("enum", Value::texts(words)), ("type", "string".into())];
    let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    Shape { choices: words, ..Shape::new("choice", &format!("Literal[{}]", quoted.join(", ")), schema) }
}

/// The shape of a table.
#[must_use]
pub fn table_shape(spec: &TableSpec) -> Shape {
    Shape::new("table", spec.name, [("$ref", format!("#/definitions/{}", spec.name).into())])
}

/// A random table: the required keys and some others.
pub fn draw_table(spec: &'static TableSpec, draw: &mut Draw<'_>) -> Value {
    let mut table = Table::default();
    for key in spec.all() {
        let is_drawn = matches!(key.presence, Presence::Required) || draw.is_rare(5);
        if is_drawn && draw.has(key.name) {
            table.set(key.name, (key.draw)(draw));
        }
    }
    table.into()
}
