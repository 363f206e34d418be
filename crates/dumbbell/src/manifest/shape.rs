//! Kinds of JSON values: the check of a value, its description in words, its type in Python.

use dumbbell_experiment::limits::grouped;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::marker::PhantomData;

/// Upper bound of any number, Linux's counters and ours.
pub const MAX_NUMBER: f64 = 18_446_744_073_709_551_616.0;
/// Maximum nesting of lists and objects; our deepest file has nine levels.
pub const MAX_LEVELS: usize = 64;
const SHOWN: usize = 60;

/// A value that is not what its key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// For example `flows[2].start_s`; empty: the file.
    pub key: String,
    /// For example `is "abc"` or `is missing`.
    pub found: String,
    /// In words.
    pub expected: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, found, expected } = self;
        match key.as_str() {
            "" => write!(out, "the file {found}; {expected} is expected"),
            key => write!(out, "`{key}` {found}; {expected} is expected"),
        }
    }
}

/// A closed interval of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// For example `seconds`; empty: none.
    pub unit: &'static str,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Without a fraction.
    pub is_whole: bool,
}

/// The expected kind of a value.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Anything: it is only displayed or copied.
    Any,
    /// A string.
    Text,
    /// True or false.
    Boolean,
    /// A number.
    Number(Range),
    /// A list; a key of its objects may have to be unique.
    List(Box<Self>, Option<&'static str>),
    /// A list with a kind for each position.
    Row(Vec<Self>),
    /// An object with any keys.
    Map(Box<Self>),
    /// An object with declared keys; others are ignored.
    Object(&'static Spec),
    /// The same, but in Python a dict: most of its keys are declared elsewhere.
    Document(&'static Spec),
    /// That, or null.
    Null(Box<Self>),
}

/// An object's declaration.
#[derive(Debug)]
pub struct Spec {
    /// Its class in Python.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Its keys, in the order of the file.
    pub keys: fn() -> Vec<Key>,
    /// A key whose values are unique in a list of such objects.
    pub unique: Option<&'static str>,
}

/// A key of an object.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Whether every file has it.
    pub is_required: bool,
}

/// A type of a field of a declared object.
pub trait Field {
    /// The kind of its values.
    fn shape() -> Shape;
    /// Whether every file has a value.
    const IS_REQUIRED: bool = true;
    /// Whether there is none.
    fn is_absent(&self) -> bool {
        false
    }
}

impl Field for Value {
    fn shape() -> Shape {
        Shape::Any
    }
}

impl Field for String {
    fn shape() -> Shape {
        Shape::Text
    }
}

impl Field for bool {
    fn shape() -> Shape {
        Shape::Boolean
    }
}

impl<T: Field> Field for Vec<T> {
    fn shape() -> Shape {
        let item = T::shape();
        let unique = if let Shape::Object(spec) = &item { spec.unique } else { None };
        Shape::List(Box::new(item), unique)
    }
}

impl<T: Field> Field for Option<T> {
    fn shape() -> Shape {
        Shape::Null(Box::new(T::shape()))
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn shape() -> Shape {
        Shape::Row(vec![A::shape(), B::shape()])
    }
}

/// Values of one kind by any keys, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map<T>(pub Vec<(String, T)>);

impl<T: Field> Field for Map<T> {
    fn shape() -> Shape {
        Shape::Map(Box::new(T::shape()))
    }
}

impl<T: Serialize> Serialize for Map<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// An object of which this declares some keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Document<T> {
    value: Value,
    declared: PhantomData<T>,
}

impl<T: Field> Field for Document<T> {
    fn shape() -> Shape {
        match T::shape() {
            Shape::Object(spec) => Shape::Document(spec),
            other => other,
        }
    }
}

/// A key that a file may lack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Maybe<T>(pub Option<T>);

impl<T: Field> Field for Maybe<T> {
    const IS_REQUIRED: bool = false;

    fn shape() -> Shape {
        T::shape()
    }

    fn is_absent(&self) -> bool {
        self.0.is_none()
    }
}

impl<T: Serialize> Serialize for Maybe<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<T> From<T> for Maybe<T> {
    fn from(value: T) -> Self {
        Self(Some(value))
    }
}

impl Shape {
    /// The first difference of a value from this kind.
    ///
    /// # Errors
    ///
    /// The value is not of this kind.
    pub fn check(&self, value: &Value, key: &str) -> Result<(), Fault> {
        let differs = || Err(Fault { key: key.into(), found: found(value), expected: self.description() });
        match (self, value) {
            (Self::Any, _)
            | (Self::Null(_), Value::Null)
            | (Self::Text, Value::String(_))
            | (Self::Boolean, Value::Bool(_)) => Ok(()),
            (Self::Null(inner), _) => inner.check(value, key).map_err(|fault| self.or_null(fault, key)),
            (Self::Number(range), Value::Number(number)) if range.holds(number) => Ok(()),
            (Self::List(item, unique), Value::Array(items)) => {
                for (place, each) in items.iter().enumerate() {
                    item.check(each, &format!("{key}[{place}]"))?;
                }
                unique.map_or(Ok(()), |unique| twice(items, unique, key))
            }
            (Self::Row(kinds), Value::Array(items)) if items.len() == kinds.len() => {
                let mut places = kinds.iter().zip(items).enumerate();
                places.try_for_each(|(place, (kind, each))| kind.check(each, &format!("{key}[{place}]")))
            }
            (Self::Map(item), Value::Object(table)) => {
                table.iter().try_for_each(|(name, each)| item.check(each, &joined(key, name)))
            }
            (Self::Object(spec) | Self::Document(spec), Value::Object(table)) => spec.check(table, key),
            (Self::List(..), _) => Err(Fault { key: key.into(), found: found(value), expected: "a list".into() }),
            (Self::Row(kinds), _) => {
                Err(Fault { key: key.into(), found: found(value), expected: format!("a list of {}", kinds.len()) })
            }
            _ => differs(),
        }
    }

    fn or_null(&self, fault: Fault, key: &str) -> Fault {
        let is_here =
            fault.key == key && !matches!(self, Self::Null(inner) if matches!(**inner, Self::List(..) | Self::Row(_)));
        if is_here { Fault { expected: self.description(), ..fault } } else { fault }
    }

    /// The kind in words, for example `a list of strings, or null`.
    #[must_use]
    pub fn description(&self) -> String {
        match self {
            Self::Any => "anything".into(),
            Self::Text => "a string".into(),
            Self::Boolean => "true or false".into(),
            Self::Number(range) => range.to_string(),
            Self::List(item, _) => match **item {
                Self::Any => "a list".into(),
                ref item => format!("a list of {}", item.several()),
            },
            Self::Row(kinds) => {
                format!("[{}]", kinds.iter().map(Self::description).collect::<Vec<_>>().join(", "))
            }
            Self::Map(item) => match **item {
                Self::Any => "an object".into(),
                ref item => format!("an object of {}", item.several()),
            },
            Self::Object(_) | Self::Document(_) => "an object".into(),
            Self::Null(inner) => format!("{}, or null", inner.description()),
        }
    }

    /// The plural, for example `strings`.
    fn several(&self) -> String {
        let one = if let Self::Null(inner) = self { inner.description() } else { self.description() };
        let plural = one
            .strip_prefix("a whole number")
            .map(|rest| format!("whole numbers{rest}"))
            .or_else(|| {
                let noun = one.strip_prefix("a ").or_else(|| one.strip_prefix("an "))?;
                let (word, rest) =
                    noun.split_once(' ').map_or((noun, String::new()), |(word, rest)| (word, format!(" {rest}")));
                Some(if word.ends_with('s') { format!("{word}{rest}") } else { format!("{word}s{rest}") })
            })
            .unwrap_or(one);
        if matches!(self, Self::Null(_)) { format!("{plural}, or null") } else { plural }
    }

    /// Its type in Python.
    #[must_use]
    pub fn python(&self) -> String {
        match self {
            Self::Any => "Any".into(),
            Self::Text => "str".into(),
            Self::Boolean => "bool".into(),
            Self::Number(range) => if range.is_whole { "int" } else { "float" }.into(),
            Self::List(item, _) => format!("list[{}]", item.python()),
            Self::Row(kinds) => {
                let mut types: Vec<_> = kinds.iter().map(Self::python).collect();
                types.dedup();
                format!("list[{}]", types.join(" | "))
            }
            Self::Map(item) => format!("dict[str, {}]", item.python()),
            Self::Object(spec) => spec.name.into(),
            Self::Document(_) => "dict[str, Any]".into(),
            Self::Null(inner) => match inner.python() {
                any if any == "Any" => any,
                inner => format!("{inner} | None"),
            },
        }
    }

    fn spec(&self) -> Option<&'static Spec> {
        match self {
            Self::Object(spec) => Some(spec),
            Self::List(inner, _) | Self::Map(inner) | Self::Null(inner) => inner.spec(),
            _ => None,
        }
    }

    /// What follows the key in the manual, for the keys of its objects.
    fn below(&self, key: &str) -> Option<(String, &'static Spec)> {
        match self {
            Self::Object(spec) | Self::Document(spec) => Some((key.to_owned(), spec)),
            Self::List(inner, _) => inner.below(&format!("{key}[]")),
            Self::Map(inner) => inner.below(&format!("{key}.*")),
            Self::Null(inner) => inner.below(key),
            _ => None,
        }
    }
}

impl Spec {
    /// The first difference of an object.
    ///
    /// # Errors
    ///
    /// A required key is missing, or a value is not what its key holds.
    pub fn check(&self, table: &serde_json::Map<String, Value>, key: &str) -> Result<(), Fault> {
        let keys = (self.keys)();
        if let Some(missing) = keys.iter().find(|each| each.is_required && !table.contains_key(each.name)) {
            let expected = missing.shape.description();
            return Err(Fault { key: joined(key, missing.name), found: "is missing".into(), expected });
        }
        let found =
            |each: &Key| table.get(each.name).map_or(Ok(()), |value| each.shape.check(value, &joined(key, each.name)));
        keys.iter().try_for_each(found)
    }

    /// Every key of the file: its path, what it holds, whether it is required. Required keys come first.
    #[must_use]
    pub fn manual(&self) -> Vec<(String, String, bool)> {
        let mut rows = Vec::new();
        self.list("", &mut rows);
        rows
    }

    fn list(&self, above: &str, rows: &mut Vec<(String, String, bool)>) {
        let (needed, more): (Vec<_>, Vec<_>) = (self.keys)().into_iter().partition(|key| key.is_required);
        for key in needed.into_iter().chain(more) {
            let path = joined(above, key.name);
            rows.push((path.clone(), key.shape.description(), key.is_required));
            if let Some((path, spec)) = key.shape.below(&path) {
                spec.list(&path, rows);
            }
        }
    }

    /// The declaration of this name: its own, or that of one of its objects.
    #[must_use]
    pub fn find(&'static self, name: &str) -> Option<&'static Self> {
        if self.name == name {
            return Some(self);
        }
        (self.keys)().iter().filter_map(|key| key.shape.spec()).find_map(|spec| spec.find(name))
    }

    /// The declaration of a key.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<Key> {
        (self.keys)().into_iter().find(|key| key.name == name)
    }

    /// Its class for Python's type checkers, after those of its objects.
    #[must_use]
    pub fn classes(&self) -> String {
        let mut text = String::new();
        self.write_classes(&mut BTreeSet::new(), &mut text);
        text
    }

    fn write_classes(&self, written: &mut BTreeSet<&'static str>, text: &mut String) {
        let keys = (self.keys)();
        for spec in keys.iter().filter_map(|key| key.shape.spec()) {
            if written.insert(spec.name) {
                spec.write_classes(written, text);
            }
        }
        let _ = write!(text, "@type_check_only\nclass {}(Record):\n    \"\"\"{}\"\"\"\n\n", self.name, self.doc);
        for key in keys {
            let kind = key.shape.python();
            let is_optional = !key.is_required && kind != "Any" && !kind.ends_with("| None");
            let none = if is_optional { " | None" } else { "" };
            let _ = writeln!(text, "    {}: {kind}{none}\n    \"\"\"{}\"\"\"", python_name(key.name), key.doc);
        }
        text.push('\n');
    }
}

/// Python's word for a key that is a keyword there, or a method of every mapping.
fn python_name(key: &str) -> String {
    if matches!(key, "import" | "get" | "items" | "keys" | "values") { format!("{key}_") } else { key.into() }
}

impl Range {
    fn holds(self, number: &serde_json::Number) -> bool {
        let is_whole = number.is_u64() || number.is_i64();
        let fits = |value: f64| (self.min..=self.max).contains(&value);
        (is_whole || !self.is_whole) && number.as_f64().is_some_and(fits)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unit, min, max, is_whole } = *self;
        if (max - min).abs() < f64::EPSILON {
            return write!(out, "{}", limit(min));
        }
        out.write_str(if is_whole { "a whole number" } else { "a number" })?;
        if !unit.is_empty() {
            write!(out, " of {unit}")?;
        }
        if (min, max) == (-MAX_NUMBER, MAX_NUMBER) {
            Ok(())
        } else {
            write!(out, " from {} to {}", limit(min), limit(max))
        }
    }
}

/// A bound; a large power of two as `2^N`.
fn limit(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "a bound")]
    let power = number.abs().log2() as i32;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bound that is a count")]
    match number {
        _ if power > 60 && (number - 2.0_f64.powi(power)).abs() < 1.0 => format!("2^{power}"),
        _ if number >= 1.0 => grouped(number as usize),
        _ if number.abs() >= 1e6 || (number != 0.0 && number.abs() < 1e-4) => {
            let text = format!("{number:e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or(0);
            format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
        _ => number.to_string(),
    }
}

/// A key below another.
#[must_use]
pub fn joined(above: &str, name: &str) -> String {
    if above.is_empty() || name.starts_with('[') { format!("{above}{name}") } else { format!("{above}.{name}") }
}

/// What a value is, for an error.
#[must_use]
pub fn found(value: &Value) -> String {
    let cut = |text: String, end: &str| {
        if text.chars().count() > SHOWN + 2 { text.chars().take(SHOWN).collect::<String>() + end } else { text }
    };
    match value {
        Value::Array(items) => format!("is a list of {}", items.len()),
        Value::Object(table) => format!("is an object of {}", table.len()),
        Value::String(text) => {
            let shown: String = text.chars().take(SHOWN).collect();
            format!("is {}", cut(Value::String(shown).to_string(), "…"))
        }
        plain => format!("is {}", cut(plain.to_string(), "…")),
    }
}

fn twice(items: &[Value], unique: &str, key: &str) -> Result<(), Fault> {
    let mut seen = BTreeSet::new();
    for (place, item) in items.iter().enumerate() {
        let Some(Value::String(name)) = item.get(unique) else { continue };
        if !seen.insert(name) {
            let found = format!("{} again", found(&item[unique]));
            return Err(Fault { key: format!("{key}[{place}].{unique}"), found, expected: "a unique value".into() });
        }
    }
    Ok(())
}
