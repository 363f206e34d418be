//! What a sweep varies: lists of values, and ranges spread over them.
//!
//! Values stay as written, for they go into an experiment; each that is a quantity also has its number in one unit, so
//! that a map has a scale.

use crate::units;
use crate::value::{Node, Table, Value};
use dumbbell_tc::Wrong;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

const MAX_VALUES: usize = 10_000;
const MAX_LISTED: usize = 20;
/// Levels of lists and tables in a value.
const MAX_LEVELS: usize = 8;
/// Significant digits of a value within a range: as few as distinguish it from its neighbours.
const DIGITS: [usize; 5] = [4, 6, 8, 10, 12];
/// Significant digits of a value that a search tries: a smaller step changes little.
const SEARCHED_DIGITS: usize = 3;
/// A list whose largest number is so many times its smallest lies on a logarithmic scale.
const WIDE: f64 = 10.0;
const RANGE: [&str; 4] = ["from", "points", "scale", "to"];
const EXAMPLE: &str = "{ from = \"1ms\", to = \"100ms\", points = 5, scale = \"log\" }";

/// How values lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// By their numbers.
    Linear,
    /// By the logarithms of their numbers.
    Log,
    /// They are names.
    Category,
}

impl Scale {
    /// The word in files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Log => "log",
            Self::Category => "category",
        }
    }
}

/// What the numbers of an axis are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Milliseconds.
    Milliseconds,
    /// Mbit/s.
    Megabits,
    /// Per cent.
    PerCent,
    /// Bandwidth-delay products.
    Bdp,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// All, in the order in which values are tried.
    pub const ALL: [Self; 5] = [Self::Milliseconds, Self::Megabits, Self::PerCent, Self::Bdp, Self::Bytes];

    /// The ending of the column with the numbers.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Megabits => "mbps",
            Self::PerCent => "percent",
            Self::Bdp => "bdp",
            Self::Bytes => "bytes",
        }
    }

    /// As an experiment writes it.
    const fn word(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Megabits => "mbit",
            Self::PerCent => "%",
            Self::Bdp => "bdp",
            Self::Bytes => "b",
        }
    }

    /// The number of a value in this unit.
    ///
    /// # Errors
    ///
    /// The value is none of this unit.
    #[expect(clippy::cast_precision_loss, reason = "quantities of an experiment are far below 2^53, or rounded so")]
    pub fn number(self, value: &Value) -> Result<f64, Wrong> {
        match self {
            Self::Milliseconds => units::time(value).map(|time| time as f64 / 1e6),
            Self::Megabits => units::tc_rate(value).map(|rate| rate as f64 / 1e6),
            // As written: a hundred times a share of one is 0.30000000000000004 where the file has 0.3 %.
            Self::PerCent => units::per_cent(value),
            Self::Bdp => match units::queue_size(value)?.node {
                Node::Float(products) => Ok(products),
                _ => Err(Wrong::new("not a number of bandwidth-delay products", "such as 1.5bdp")),
            },
            Self::Bytes => units::data_size(value).map(|size| size as f64),
        }
    }
}

/// One key and the values that it takes, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// A key of the experiment, a placeholder, `engine` or `kernel`.
    pub key: String,
    /// As written.
    pub values: Vec<Value>,
    /// How they lie.
    pub scale: Scale,
    /// Their numbers in `unit`; None: they are names.
    pub numbers: Option<Vec<f64>>,
    /// None: plain numbers, or names.
    pub unit: Option<Unit>,
    /// Written as a range: a search may also take values between these.
    #[serde(default)]
    pub is_range: bool,
}

impl Axis {
    /// As plain data.
    #[must_use]
    pub fn data(&self) -> Table {
        let numbers = self.numbers.as_ref();
        let numbers = numbers.map(|numbers| numbers.iter().map(|number| Value::from(*number)).collect::<Vec<_>>());
        Table::from_iter([
            ("key", Value::from(&self.key[..])),
            ("values", self.values.clone().into()),
            ("scale", self.scale.word().into()),
            ("numbers", numbers.map_or_else(Value::default, Value::from)),
            ("unit", self.unit.map_or_else(Value::default, |unit| unit.suffix().into())),
            ("is_range", self.is_range.into()),
        ])
    }

    /// The column to plot: that of the numbers where the values are quantities.
    #[must_use]
    pub fn column(&self) -> String {
        self.unit.map_or_else(|| self.key.clone(), |unit| format!("{}_{}", self.key, unit.suffix()))
    }

    fn is_whole(&self) -> bool {
        self.values.iter().all(|value| matches!(value.node, Node::Integer(_)))
    }
}

/// The value that is written for a number of an axis, and the number that it says.
#[must_use]
pub fn value_of(number: f64, unit: Option<Unit>, is_whole: bool) -> (Value, f64) {
    as_value(number, unit, SEARCHED_DIGITS, is_whole)
}

/// The value half-way between two numbers of an axis, and its number; None: there is none.
#[must_use]
pub fn between(scale: Scale, unit: Option<Unit>, is_whole: bool, ends: (f64, f64)) -> Option<(Value, f64)> {
    let middle = on_the_way(ends, 0.5, scale);
    let mut made = DIGITS.iter().map(|digits| as_value(middle, unit, *digits, is_whole));
    made.find(|(_, number)| ends.0 < *number && *number < ends.1)
}

/// Whether a table is a range.
#[must_use]
pub fn is_range(table: &Table) -> bool {
    table.0.iter().any(|(key, _)| RANGE.contains(&&key.text[..]))
}

/// An axis of a list of values or of a range.
///
/// # Errors
///
/// Neither; values that no experiment can have.
pub fn parse(key: &str, value: &Value) -> Result<Axis, Wrong> {
    if let Some(range) = value.table() {
        return ranged(key, range);
    }
    let Some(values) = value.list().filter(|values| !values.is_empty()) else {
        let hint = "such as [\"5ms\", \"20ms\"], or { from = \"1ms\", to = \"100ms\", points = 5 }";
        return Err(Wrong::new("not a list of values", hint));
    };
    if values.len() > MAX_VALUES {
        return Err(Wrong::new(format!("more than {MAX_VALUES} values"), "fewer of them"));
    }
    values.iter().try_for_each(|value| check(value, 0))?;
    let (unit, numbers) = numbers(values);
    let scale = numbers.as_deref().map_or(Scale::Category, scale_of);
    Ok(Axis { key: key.into(), values: values.to_vec(), scale, numbers, unit, is_range: false })
}

/// Axes that vary together: as many values of each, and no step twice.
///
/// # Errors
///
/// Otherwise.
pub fn check_steps(axes: &[Axis]) -> Result<(), Wrong> {
    let lengths: Vec<_> = axes.iter().map(|axis| axis.values.len()).collect();
    if lengths.windows(2).any(|pair| pair[0] != pair[1]) {
        let counted: Vec<_> = axes.iter().map(|axis| format!("{} has {}", axis.key, axis.values.len())).collect();
        let counted = counted.join(", ");
        let problem = format!("the axes of one table vary together, but have different lengths: {counted}");
        return Err(Wrong::new(problem, "to cross them, put each into an [[axes]] of its own"));
    }
    let mut seen = HashSet::new();
    for step in 0..lengths.first().copied().unwrap_or(0) {
        let values: Vec<_> = axes.iter().map(|axis| identity(&axis.values[step])).collect();
        if !seen.insert(values) {
            let shown: Vec<_> = axes.iter().map(|axis| axis.values[step].to_string()).collect();
            let problem = format!("a point is listed twice: {}", shown.join(", "));
            return Err(Wrong::new(problem, "list each once; use seeds for more runs of a point"));
        }
    }
    Ok(())
}

/// Whether a list has a value that a table can't distinguish from this one.
#[must_use]
pub fn has(values: &[Value], value: &Value) -> bool {
    values.iter().any(|each| identity(each) == identity(value))
}

/// A text that is the same for values that a table can't distinguish: 1 and 1.0, or tables in another order.
fn identity(value: &Value) -> String {
    match &value.node {
        #[expect(clippy::cast_precision_loss, reason = "integers that have one float are one number in a table")]
        Node::Integer(number) => format!("number {:?}", *number as f64),
        Node::Float(number) => format!("number {number:?}"),
        Node::Text(text) => format!("text {text}"),
        Node::List(items) => format!("list {:?}", items.iter().map(identity).collect::<Vec<_>>()),
        Node::Table(table) => {
            let pairs: BTreeMap<_, _> = table.0.iter().map(|(key, item)| (&key.text, identity(item))).collect();
            format!("table {pairs:?}")
        }
        Node::Null | Node::Boolean(_) => format!("value {value}"),
    }
}

/// Is it a value that an experiment and a table can hold?
fn check(value: &Value, level: usize) -> Result<(), Wrong> {
    match &value.node {
        Node::Float(number) if !number.is_finite() => Err(Wrong::new(
            format!("{number} is not a number that an experiment can have").to_lowercase(),
            "a finite one",
        )),
        Node::List(items) if level < MAX_LEVELS => items.iter().try_for_each(|item| check(item, level + 1)),
        Node::Table(table) if level < MAX_LEVELS => table.0.iter().try_for_each(|(_, item)| check(item, level + 1)),
        Node::Null | Node::List(_) | Node::Table(_) => {
            let hint = "numbers, texts, true and false, or lists and tables of them";
            Err(Wrong::new("a type that experiments can't have", hint))
        }
        _ => Ok(()),
    }
}

fn ranged(key: &str, range: &Table) -> Result<Axis, Wrong> {
    let unknown = range.0.iter().map(|(key, _)| &key.text[..]).filter(|name| !RANGE.contains(name)).min();
    if let Some(name) = unknown {
        return Err(Wrong::new(format!("unknown key '{name}' in a range"), EXAMPLE));
    }
    let of = |name: &str| range.get(name).ok_or_else(|| Wrong::new(format!("a range without '{name}'"), EXAMPLE));
    let (from, to) = (of("from")?, of("to")?);
    let count = match range.get("points").map(|points| &points.node) {
        None => Some(2),
        Some(Node::Integer(count)) => usize::try_from(*count).ok().filter(|count| (2..=MAX_VALUES).contains(count)),
        Some(_) => None,
    };
    let count =
        count.ok_or_else(|| Wrong::new("not a number of points", format!("a whole number from 2 to {MAX_VALUES}")))?;
    let scale = match range.get("scale").map(|scale| (scale.text(), scale)) {
        None | Some((Some("linear"), _)) => Scale::Linear,
        Some((Some("log"), _)) => Scale::Log,
        Some((_, scale)) => {
            let word = scale.text().map_or_else(|| scale.to_string(), String::from);
            return Err(Wrong::new(format!("'{word}' is not a scale"), "linear or log"));
        }
    };
    let ends = [from.clone(), to.clone()];
    ends.iter().try_for_each(|end| check(end, 0))?;
    let (unit, numbers) = numbers(&ends);
    let Some((low, high)) = numbers.map(|numbers| (numbers[0], numbers[1])).filter(|(low, high)| low < high) else {
        return Err(Wrong::new("the range must rise, between values of one unit", EXAMPLE));
    };
    if scale == Scale::Log && low <= 0.0 {
        return Err(Wrong::new("a logarithmic range can't begin at 0", "begin above 0, or use a linear one"));
    }
    let numbers = Some(vec![low, high]);
    spread(Axis { key: key.into(), values: ends.to_vec(), scale, numbers, unit, is_range: true }, (low, high), count)
}

/// An axis of this many values between two, both of which stay as they are written.
fn spread(ends: Axis, (low, high): (f64, f64), count: usize) -> Result<Axis, Wrong> {
    let mut made = Vec::new();
    for digits in DIGITS {
        made = vec![(ends.values[0].clone(), low)];
        for step in 1..count - 1 {
            #[expect(clippy::cast_precision_loss, reason = "at most MAX_VALUES")]
            let part = step as f64 / (count - 1) as f64;
            made.push(as_value(on_the_way((low, high), part, ends.scale), ends.unit, digits, ends.is_whole()));
        }
        made.push((ends.values[1].clone(), high));
        if made.windows(2).all(|pair| pair[0].1 < pair[1].1) {
            let (values, numbers) = made.into_iter().unzip();
            return Ok(Axis { values, numbers: Some(numbers), ..ends });
        }
    }
    let mut known: Vec<String> = Vec::new();
    for value in made.iter().map(|(value, _)| value.to_string()) {
        if known.last() != Some(&value) {
            known.push(value);
        }
    }
    let (listed, more) = (known[..known.len().min(MAX_LISTED)].join(", "), known.len() > MAX_LISTED);
    Err(Wrong::new(
        format!("only {} different values are in the range, not {count}", known.len()),
        format!("ask for fewer points, or list them: [{listed}{}]", if more { ", …" } else { "" }),
    ))
}

fn on_the_way((low, high): (f64, f64), part: f64, scale: Scale) -> f64 {
    match scale {
        Scale::Log => low * libm::pow(high / low, part),
        _ => low * (1.0 - part) + high * part,
    }
}

/// A number of a unit as an experiment writes it, and the number that this says.
fn as_value(number: f64, unit: Option<Unit>, digits: usize, is_whole: bool) -> (Value, f64) {
    let mut short: f64 = format!("{number:.*e}", digits - 1).parse().unwrap_or(f64::NAN);
    let Some(unit) = unit else {
        if is_whole {
            let whole = libm::rint(number);
            #[expect(clippy::cast_possible_truncation, reason = "between two integers of 64 bits")]
            return (Value::from(whole as i64), whole);
        }
        return (short.into(), short);
    };
    if unit == Unit::Bytes {
        short = libm::rint(short);
    }
    let value = Value::from(format!("{short}{}", unit.word()));
    // Too small for its unit, such as less than a bit per second: no value of this axis.
    let number = unit.number(&value).unwrap_or(f64::NAN);
    (value, number)
}

/// What all values are: their unit, where they have one, and their numbers.
fn numbers(values: &[Value]) -> (Option<Unit>, Option<Vec<f64>>) {
    #[expect(clippy::cast_precision_loss, reason = "numbers of a scale")]
    let plain = values.iter().map(|value| match value.node {
        Node::Integer(number) => Some(number as f64),
        Node::Float(number) => Some(number),
        _ => None,
    });
    if let Some(numbers) = plain.collect() {
        return (None, Some(numbers));
    }
    if !values.iter().all(|value| value.text().is_some_and(has_unit)) {
        return (None, None);
    }
    let in_unit = |unit: Unit| {
        let numbers = values.iter().map(|value| unit.number(value).ok()).collect::<Option<Vec<_>>>()?;
        Some((Some(unit), Some(numbers)))
    };
    Unit::ALL.into_iter().find_map(in_unit).unwrap_or((None, None))
}

/// A number, then letters or a per-cent sign.
fn has_unit(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let unit = after_exponent(rest);
    rest.len() < text.len() && !unit.is_empty() && unit.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'%')
}

fn after_exponent(text: &str) -> &str {
    let Some(exponent) = text.strip_prefix('e') else { return text };
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() < digits.len() { rest } else { text }
}

fn scale_of(numbers: &[f64]) -> Scale {
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if least > 0.0 && most >= WIDE * least { Scale::Log } else { Scale::Linear }
}
