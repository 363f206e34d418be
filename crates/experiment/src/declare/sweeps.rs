//! What keys of a sweep hold: axes, settings, names, half-widths, windows.

use super::location::{Faults, Location};
use super::spec::{Shape, any_of, any_text, list_of_texts, text};
use super::{Kind, Simple, simple};
use crate::axes::{self, Axis};
use crate::draw::Draw;
use crate::expectation::metric;
use crate::value::{Key, Node, Table, Value};
use dumbbell_tc::Wrong;

const AXIS: &str = "such as [[axes]] with \"path.rtt\" = [\"5ms\", \"20ms\"]";

/// Texts; one alone is a list of one, as it comes from a command line.
#[derive(Debug)]
pub struct Texts;

impl Simple for Texts {
    type Value = Vec<String>;

    fn parse(value: &Value) -> Result<Vec<String>, Wrong> {
        if let Some(text) = value.text() {
            return Ok(vec![text.to_owned()]);
        }
        let texts = value.list().and_then(|items| items.iter().map(|item| item.text().map(String::from)).collect());
        texts.ok_or_else(|| Wrong::new("not a list of texts", "such as [\"a\", \"b\"]"))
    }

    fn write(value: &Vec<String>) -> Value {
        value.iter().map(|text| Value::from(&text[..])).collect::<Vec<_>>().into()
    }

    fn shape() -> Shape {
        Shape::new("texts", "tuple[str, ...]", any_of(vec![Table::from_iter([any_text()]), list_of_texts()]))
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        Value::texts(draw.pick(&[&["*"][..], &["jain", "queue.*"]]))
    }
}

/// One or two axes.
#[derive(Debug)]
pub struct AxisNames;

impl Simple for AxisNames {
    type Value = Vec<String>;

    fn parse(value: &Value) -> Result<Vec<String>, Wrong> {
        let names = <Texts as Simple>::parse(value)?;
        if (1..=2).contains(&names.len()) {
            return Ok(names);
        }
        Err(Wrong::new(format!("{} axes", names.len()), "one or two axes, such as axes = [\"path.rtt\"]"))
    }

    fn write(value: &Vec<String>) -> Value {
        <Texts as Simple>::write(value)
    }

    fn shape() -> Shape {
        <Texts as Simple>::shape()
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["path.rtt", "buffer"]).into()
    }
}

/// An experiment: a name, a file, or a table of its keys.
#[derive(Debug)]
pub struct Base;

impl Simple for Base {
    type Value = Value;

    fn parse(value: &Value) -> Result<Value, Wrong> {
        let is_given = match &value.node {
            Node::Text(text) => !text.is_empty(),
            Node::Table(table) => !table.0.is_empty(),
            _ => false,
        };
        let hint = "a scenario's name, a file such as \"mine.toml\", or a table [experiment]";
        if is_given { Ok(value.clone()) } else { Err(Wrong::new("not an experiment", hint)) }
    }

    fn write(value: &Value) -> Value {
        value.clone()
    }

    fn shape() -> Shape {
        Shape::new("experiment", "str | Mapping[str, Any]", [("type", Value::texts(&["string", "object"]))])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["cyclic", "mine.toml"]).into()
    }
}

/// Half of the width of an interval: a number above zero, or per cent of the mean.
#[derive(Debug)]
pub struct HalfWidth;

impl Simple for HalfWidth {
    type Value = Value;

    fn parse(value: &Value) -> Result<Value, Wrong> {
        let hint = "above 0, in the metric's unit, such as 0.05, or of the mean, such as \"5%\"";
        let per_cent = value.text().and_then(|text| text.trim().strip_suffix('%'));
        let per_cent = per_cent.map(|text| text.strip_suffix(' ').unwrap_or(text));
        let is_digits = |text: &str| {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
            [whole, fraction].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let made = match (&value.node, per_cent) {
            (Node::Text(_), Some(digits))
                if is_digits(digits) && digits.parse().is_ok_and(|share: f64| share > 0.0) =>
            {
                Some(Value::from(format!("{digits}%")))
            }
            #[expect(clippy::cast_precision_loss, reason = "a half-width has few digits")]
            (Node::Integer(number), _) if *number > 0 => Some((*number as f64).into()),
            (Node::Float(number), _) if *number > 0.0 && number.is_finite() => Some((*number).into()),
            _ => None,
        };
        made.ok_or_else(|| Wrong::new("not a half-width", hint))
    }

    fn write(value: &Value) -> Value {
        value.clone()
    }

    fn shape() -> Shape {
        let number = Table::from_iter([("type", Value::from("number")), ("exclusiveMinimum", 0.into())]);
        let share = Table::from_iter([any_text(), ("examples", Value::texts(&["5%"]))]);
        Shape::new("half-width", "float | str", any_of(vec![number, share]))
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["5%", "0.5%"]).into()
    }
}

/// A part of every run: its start, and its end if that is not the run's.
#[derive(Debug)]
pub struct Window;

impl Simple for Window {
    type Value = (u64, Option<u64>);

    fn parse(value: &Value) -> Result<Self::Value, Wrong> {
        let part = value.text().and_then(|text| metric(&format!("window {text}")).ok());
        part.filter(|part| part.name == "window" && (part.from.is_some() || part.to.is_some()))
            .map(|part| (part.from.unwrap_or(0), part.to))
            .ok_or_else(|| Wrong::new("not a window", "from 5s to 60s"))
    }

    fn write((from, to): &Self::Value) -> Value {
        let to = to.map(|to| format!(" to {}", crate::units::time_text(to))).unwrap_or_default();
        format!("from {}{to}", crate::units::time_text(*from)).into()
    }

    fn data((from, to): &Self::Value) -> Value {
        vec![Value::from(*from), to.map_or_else(Value::default, Value::from)].into()
    }

    fn shape() -> Shape {
        let examples = Value::texts(&["from 5s to 60s", "from 5s", "to 60s"]);
        Shape { python: "tuple[int, int | None]".into(), ..text("window", vec![("examples", examples)]) }
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["from 1s", "from 1s to 2s", "to 5s"]).into()
    }
}

/// Settings by dotted key. Below a key without a dot, tables are dotted keys; below one with dots, they are values.
#[derive(Debug)]
pub struct Settings;

impl Simple for Settings {
    type Value = Table;

    fn parse(value: &Value) -> Result<Table, Wrong> {
        let hint = "such as [set] with \"path.rtt\" = \"20ms\"";
        let table = value.table().ok_or_else(|| Wrong::new("not a table of settings", hint))?;
        let mut made = Table::default();
        for (key, below) in &table.0 {
            let one = Table(vec![(key.clone(), below.clone())]);
            for (key, value) in (if key.text.contains('.') { one } else { flat(&one, &|_| false) }).0 {
                put(&mut made, key, value);
            }
        }
        Ok(made)
    }

    fn write(value: &Table) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        Shape::new("settings", "Mapping[str, Any]", [("type", "object".into())])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        Table::from_iter([("path.rtt", draw.pick(&["20ms", "{rtt}"]))]).into()
    }
}

/// Values of axes.
#[derive(Debug)]
pub struct Levels;

impl Simple for Levels {
    type Value = Table;

    fn parse(value: &Value) -> Result<Table, Wrong> {
        let levels = <Settings as Simple>::parse(value)?;
        match levels.0.iter().find(|(_, value)| value.list().is_none()) {
            None => Ok(levels),
            Some((key, _)) => {
                let hint = "such as at = { \"path.rtt\" = [\"5ms\", \"20ms\"] }";
                Err(Wrong::new(format!("'{}' has no list of values", key.text), hint))
            }
        }
    }

    fn write(value: &Table) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        Shape { python: "Mapping[str, Sequence[Any]]".into(), ..<Settings as Simple>::shape() }
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        Table::from_iter([("path.rtt", Value::texts(draw.pick(&[&["20ms"][..], &["5ms", "20ms"]])))]).into()
    }
}

simple!(Texts, AxisNames, Base, HalfWidth, Window, Settings, Levels);

/// Axes that vary together, by key.
#[derive(Debug)]
pub struct AxisTable;

impl Kind for AxisTable {
    type Value = Vec<Axis>;

    fn read(value: &Value, location: &Location<'_>, faults: &mut Faults) -> Option<Vec<Axis>> {
        let Some(table) = value.table() else {
            faults.add(location, value, Wrong::new("not a table of axes", AXIS));
            return None;
        };
        if table.0.is_empty() {
            faults.add(location, value, Wrong::new("a table without an axis", AXIS));
            return None;
        }
        let before = faults.len();
        let mut made = Vec::new();
        for (key, value) in &flat(table, &axes::is_range).0 {
            match axes::parse(&key.text, value) {
                Ok(axis) => made.push(axis),
                Err(wrong) => faults.add(&location.key(&key.text), value, wrong),
            }
        }
        if faults.len() == before
            && let Err(wrong) = axes::check_steps(&made)
        {
            faults.add(location, value, wrong);
        }
        (faults.len() == before).then_some(made)
    }

    fn write(value: &Vec<Axis>) -> Value {
        value.iter().map(|axis| (&axis.key[..], Value::from(axis.values.clone()))).collect::<Table>().into()
    }

    fn data(value: &Vec<Axis>) -> Value {
        value.iter().map(|axis| Value::from(axis.data())).collect::<Vec<_>>().into()
    }

    fn shape() -> Shape {
        let schema = [("additionalProperties", true.into()), ("type", "object".into())];
        Shape::new("axes", "tuple[Axis, ...]", schema)
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        Table::from_iter([("path.rtt", Value::texts(draw.pick(&[&["20ms"][..], &["5ms", "20ms"]])))]).into()
    }
}

/// `path.rtt = …` without quotes is a table in a table: the same as `"path.rtt" = …`. A leaf is a value itself.
#[must_use]
pub fn flat(table: &Table, is_leaf: &dyn Fn(&Table) -> bool) -> Table {
    let mut made = Table::default();
    for (key, value) in &table.0 {
        match value.table().filter(|below| !below.0.is_empty() && !is_leaf(below)) {
            None => put(&mut made, key.clone(), value.clone()),
            Some(below) => {
                for (rest, value) in flat(below, is_leaf).0 {
                    put(&mut made, Key { text: format!("{}.{}", key.text, rest.text), span: rest.span }, value);
                }
            }
        }
    }
    made
}

fn put(table: &mut Table, key: Key, value: Value) {
    match table.get_mut(&key.text) {
        Some(old) => *old = value,
        None => table.0.push((key, value)),
    }
}
