//! The declarations as data: what the reference, the schema, the stubs, the controls and the generator are made of.

use crate::draw::Draw;
use crate::value::{Table, Value};

/// A table and its keys.
#[derive(Debug)]
pub struct TableSpec {
    /// The name of its type.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Tables whose keys are keys of this one.
    pub flat: &'static [&'static TableSpec],
    /// Its own keys, in the order of the reference.
    pub keys: &'static [KeySpec],
    /// Keys that are read before the table is.
    pub also: &'static [&'static str],
    /// Older spellings of keys, with today's.
    pub old: &'static [(&'static str, &'static str)],
}

/// A key.
#[derive(Debug)]
pub struct KeySpec {
    /// As in a file.
    pub name: &'static str,
    /// The field's name where it differs.
    pub field: &'static str,
    /// What it means, in Markdown.
    pub doc: &'static str,
    /// The first version that has it.
    pub since: &'static str,
    /// Whether it must be there.
    pub presence: Presence,
    /// The table that it holds, or a list of them.
    pub table: Option<&'static TableSpec>,
    /// Whether it always holds a list.
    pub is_list: bool,
    /// What it holds.
    pub shape: fn() -> Shape,
    /// A random value.
    pub draw: fn(&mut Draw<'_>) -> Value,
    /// Today's spelling of an older value; None: it is none.
    pub modern: fn(&Value) -> Option<Value>,
}

/// Whether a key must be there.
#[derive(Clone, Copy, Debug)]
pub enum Presence {
    /// It must.
    Required,
    /// Without it there is nothing.
    Optional,
    /// Without it this holds.
    Default(fn() -> Value),
}

/// What a key may hold.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The kind's name: `rate`.
    pub name: &'static str,
    /// Unit of the parsed value; empty: none.
    pub unit: &'static str,
    /// The smallest and the largest integer.
    pub bounds: Option<(i64, i64)>,
    /// The words that it may be.
    pub choices: &'static [&'static str],
    /// The JSON schema of what a file may hold.
    pub schema: Table,
    /// The Python type of the parsed value.
    pub python: String,
}

impl Shape {
    /// A kind with this schema.
    #[must_use]
    pub fn new<const N: usize>(name: &'static str, python: &str, schema: [(&'static str, Value); N]) -> Self {
        let schema = Table(schema.into_iter().map(|(key, value)| (key.into(), value)).collect());
        Self { name, unit: "", bounds: None, choices: &[], schema, python: python.into() }
    }

    /// The same with a unit.
    #[must_use]
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }
}

impl TableSpec {
    /// Every key: those of flat tables first, but for those that have another name in this table.
    #[must_use]
    pub fn all(&self) -> Vec<&'static KeySpec> {
        let keys: &'static [KeySpec] = self.keys;
        self.flat.iter().flat_map(|spec| spec.all()).filter(|key| !self.has_old(key.name)).chain(keys).collect()
    }

    /// Is this an older name of a key? A document has today's (`renames`), but values may carry a flat table's own.
    #[must_use]
    pub fn has_old(&self, name: &str) -> bool {
        self.old.iter().any(|(old, _)| *old == name)
    }

    /// The names of the keys that a file may have here.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.all().iter().map(|key| key.name).chain(self.also.iter().copied()).collect()
    }

    /// A key by its name.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.all().into_iter().find(|key| key.name == name)
    }
}

/// `type` of a text in a schema.
#[must_use]
pub fn any_text() -> (&'static str, Value) {
    ("type", "string".into())
}

/// The schema of a table of any keys with these values.
#[must_use]
pub fn table_schema(values: Table) -> [(&'static str, Value); 2] {
    [("additionalProperties", values.into()), ("type", "object".into())]
}

/// The schema of a value of one of these kinds.
#[must_use]
pub fn any_of(kinds: Vec<Table>) -> [(&'static str, Value); 1] {
    [("anyOf", kinds.into_iter().map(Value::from).collect::<Vec<_>>().into())]
}

/// The schema of a list of texts.
#[must_use]
pub fn list_of_texts() -> Table {
    Table::from_iter([("type", Value::from("array")), ("items", Table::from_iter([any_text()]).into())])
}

/// A text with more of a schema.
#[must_use]
pub fn text(name: &'static str, more: Vec<(&'static str, Value)>) -> Shape {
    let mut shape = Shape::new(name, "str", []);
    shape.schema = more.into_iter().chain([("type", "string".into())]).collect();
    shape
}
