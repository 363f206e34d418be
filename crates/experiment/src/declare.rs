//! Each key is declared once: the macro `table!` makes the field, the parser, the writer and the reference of it.
//!
//! | module | holds |
//! | --- | --- |
//! | [`kinds`], [`texts`], [`metrics`], [`numbers`], [`maps`], [`programs`], [`hosts`], [`sweeps`], [`generic`] | what a key may hold: how it is read, written, described and drawn |
//! | [`spec`] | the declarations as data |
//! | [`location`] | where a value is; the mistakes that were found |
//! | [`draw`] | random values |
//!
//! The declarations themselves are in `keys`, the rules that several keys share in `rules`.

pub mod generic;
pub mod hosts;
pub mod kinds;
pub mod location;
pub(crate) mod macros;
pub mod maps;
pub mod metrics;
pub mod numbers;
pub mod programs;
pub mod shapes;
pub mod sizes;
pub mod spec;
pub mod sweeps;
pub mod texts;

use crate::draw::Draw;
use crate::units;
use crate::value::{Table, Value};
use core::fmt::Debug;
use location::{Faults, Location};
use spec::{Shape, TableSpec};

pub(crate) use macros::{choices, simple, table, words};

/// What a key may hold.
pub trait Kind {
    /// The value after parsing.
    type Value: Clone + Debug + PartialEq;

    /// The table, if it is one or a list of them.
    const TABLE: Option<&'static TableSpec> = None;

    /// Whether it is always a list.
    const IS_LIST: bool = false;

    /// Reads a value; mistakes go to `faults`.
    fn read(value: &Value, location: &Location<'_>, faults: &mut Faults) -> Option<Self::Value>;

    /// The value as a person would write it.
    fn write(value: &Self::Value) -> Value;

    /// The value in the units of the code: bits per second, nanoseconds, bytes.
    fn data(value: &Self::Value) -> Value {
        Self::write(value)
    }

    /// The same with every key of a table, also where it has its default value; null where it has none.
    fn complete(value: &Self::Value) -> Value {
        Self::write(value)
    }

    /// What the reference and the schema say.
    fn shape() -> Shape;

    /// A random value of this kind, as a person would write it.
    fn draw(draw: &mut Draw<'_>) -> Value;

    /// Today's spelling of a value that older files have; None: it is none.
    #[must_use]
    fn modern(value: &Value) -> Option<Value> {
        _ = value;
        None
    }
}

/// A kind whose values are read in one step, without a table of their own.
pub trait Simple {
    /// As [`Kind::Value`].
    type Value: Clone + Debug + PartialEq;

    /// Reads a value.
    ///
    /// # Errors
    ///
    /// It is none of this kind.
    fn parse(value: &Value) -> Result<Self::Value, dumbbell_tc::Wrong>;

    /// As [`Kind::write`].
    fn write(value: &Self::Value) -> Value;

    /// As [`Kind::data`].
    fn data(value: &Self::Value) -> Value {
        Self::write(value)
    }

    /// As [`Kind::shape`].
    fn shape() -> Shape;

    /// As [`Kind::draw`].
    fn draw(draw: &mut Draw<'_>) -> Value;

    /// As [`Kind::modern`].
    #[must_use]
    fn modern(value: &Value) -> Option<Value> {
        _ = value;
        None
    }
}

/// Reads a value of a kind by its name, in the units of the code; None: no kind has this name.
#[must_use]
pub fn read_value(kind: &str, value: &Value) -> Option<Result<Value, dumbbell_tc::Wrong>> {
    fn read<S: Simple>(value: &Value) -> Result<Value, dumbbell_tc::Wrong> {
        S::parse(value).map(|parsed| S::data(&parsed))
    }
    Some(match kind {
        "rate" => read::<kinds::Rate>(value),
        "time" => read::<kinds::Time>(value),
        "size" => read::<kinds::Size>(value),
        "discipline" => read::<kinds::Discipline>(value),
        "loss" => read::<kinds::Loss>(value),
        "distribution" => read::<kinds::Distribution>(value),
        "reorder" => read::<kinds::Reorder>(value),
        "duplicate" => read::<kinds::Duplicate>(value),
        "corrupt" => read::<kinds::Corrupt>(value),
        "slot" => read::<kinds::Slot>(value),
        "command" => read::<programs::Command>(value),
        "seeds" => read::<programs::Seeds>(value),
        "share" => units::share(value).map(Value::from),
        "count" => units::count(value).map(Value::from),
        "tc size" => units::tc_size(value).map(Value::from),
        "tc rate" => units::tc_rate(value).map(Value::from),
        "data size" => units::data_size(value).map(Value::from),
        "queue size" => units::queue_size(value),
        _ => return None,
    })
}

/// A table whose keys are declared.
pub trait Declared: Sized {
    /// The declaration.
    const SPEC: &'static TableSpec;

    /// Reads the keys of a table, and checks the rules between them if `has_rules`: a misspelt key breaks some, too.
    fn fields(
        value: &Value,
        table: &Table,
        location: &Location<'_>,
        faults: &mut Faults,
        has_rules: bool,
    ) -> Option<Self>;

    /// Writes the keys that differ from their defaults.
    fn write_into(&self, table: &mut Table);

    /// Writes all keys.
    fn complete_into(&self, table: &mut Table);

    /// Adds every key in the units of the code.
    fn data_into(&self, table: &mut Table);
}

/// Reads a key that may be missing.
pub fn read_optional<K: Kind>(
    table: &Table,
    key: &str,
    location: &Location<'_>,
    faults: &mut Faults,
) -> Option<Option<K::Value>> {
    match table.get(key).filter(|value| !value.is_null()) {
        None => Some(None),
        Some(value) => K::read(value, &location.key(key), faults).map(Some),
    }
}

/// Reads a key with a default.
pub fn read_default<K: Kind>(
    table: &Table,
    key: &str,
    location: &Location<'_>,
    faults: &mut Faults,
    default: impl FnOnce() -> Value,
) -> Option<K::Value> {
    match table.get(key) {
        None => K::read(&default(), &location.key(key), faults),
        Some(value) => K::read(value, &location.key(key), faults),
    }
}

/// Reads a key that must be there.
pub fn read_required<K: Kind>(
    value: &Value,
    table: &Table,
    key: &str,
    location: &Location<'_>,
    faults: &mut Faults,
    example: &str,
) -> Option<K::Value> {
    let Some(held) = table.get(key) else {
        let hint = if example.is_empty() { String::new() } else { format!("such as {example}") };
        faults.missing(&location.key(key), value, hint);
        return None;
    };
    K::read(held, &location.key(key), faults)
}

/// Writes a key unless it has its default.
pub fn write_default<K: Kind>(table: &mut Table, key: &str, value: &K::Value, default: impl FnOnce() -> Value) {
    let default = K::read(&default(), &Location::ROOT, &mut Faults::default());
    if default.as_ref() != Some(value) {
        table.set(key, K::write(value));
    }
}

/// The table of a value.
pub fn table_of<'a>(
    value: &'a Value,
    spec: &TableSpec,
    location: &Location<'_>,
    faults: &mut Faults,
) -> Option<&'a Table> {
    let table = value.table();
    if table.is_none() {
        let known = spec.names().join(", ");
        let problem =
            if value.list().is_some() { "a list of tables ([[…]]) where one table is meant" } else { "not a table" };
        faults.add(location, value, dumbbell_tc::Wrong::new(problem, format!("one table with the keys {known}")));
    }
    table
}
