//! Kinds of kinds: whole numbers with bounds, lists, tables.

use super::location::{Faults, Location};
use super::spec::{Shape, TableSpec, any_of};
use super::{Kind, Simple, simple};
use crate::draw::Draw;
use crate::limits::grouped;
use crate::value::{Node, Value};
use core::fmt::Debug;
use core::marker::PhantomData;
use dumbbell_tc::Wrong;

/// A whole number from `LOW` to `HIGH`.
#[derive(Debug)]
pub struct Integer<T, const LOW: i64, const HIGH: i64>(PhantomData<T>);

impl<T, const LOW: i64, const HIGH: i64> Kind for Integer<T, LOW, HIGH>
where
    T: TryFrom<i64> + Into<i64> + Copy + Debug + PartialEq,
{
    type Value = T;

    fn read(value: &Value, location: &Location<'_>, faults: &mut Faults) -> Option<T> {
        let number = integer_of(value)
            .filter(|number| (LOW..=HIGH).contains(number))
            .and_then(|number| T::try_from(number).ok());
        if number.is_none() {
            let hint = format!("a whole number from {} to {}", shown(LOW), shown(HIGH));
            let problem = if integer_of(value).is_some() { "a number out of range" } else { "not a whole number" };
            faults.add(location, value, Wrong::new(problem, hint));
        }
        number
    }

    fn write(value: &T) -> Value {
        let number: i64 = (*value).into();
        number.into()
    }

    fn shape() -> Shape {
        let schema = [("type", "integer".into()), ("minimum", LOW.into()), ("maximum", HIGH.into())];
        Shape { bounds: Some((LOW, HIGH)), ..Shape::new("integer", "int", schema) }
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        let small = HIGH.min(LOW + 3);
        let high = draw.pick(&[small, small, small, HIGH]);
        let above = draw.below(u64::try_from(high - LOW + 1).unwrap_or(1));
        (LOW + i64::try_from(above).unwrap_or(0)).into()
    }
}

fn shown(number: i64) -> String {
    usize::try_from(number).map_or_else(|_| number.to_string(), grouped)
}

/// A whole number: an integer, a float without a fraction, or a text of digits.
fn integer_of(value: &Value) -> Option<i64> {
    match &value.node {
        Node::Integer(number) => Some(*number),
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
        Node::Float(number) => (number.fract() == 0.0 && number.abs() < 1e15).then_some(*number as i64),
        Node::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Several values of one kind.
#[derive(Debug)]
pub struct List<K>(PhantomData<K>);

impl<K: Kind> Kind for List<K> {
    type Value = Vec<K::Value>;
    const TABLE: Option<&'static TableSpec> = K::TABLE;
    const IS_LIST: bool = true;

    fn read(value: &Value, location: &Location<'_>, faults: &mut Faults) -> Option<Self::Value> {
        let Some(items) = value.list() else {
            let hint = if K::TABLE.is_some() { "a list of tables, each in double brackets" } else { "a list" };
            faults.add(location, value, Wrong::new("not a list", hint));
            return None;
        };
        let read = items.iter().enumerate().map(|(number, item)| K::read(item, &location.item(number), faults));
        // Every item is read, so that every mistake is found.
        read.collect::<Vec<_>>().into_iter().collect()
    }

    fn write(value: &Self::Value) -> Value {
        value.iter().map(K::write).collect::<Vec<_>>().into()
    }

    fn data(value: &Self::Value) -> Value {
        value.iter().map(K::data).collect::<Vec<_>>().into()
    }

    fn complete(value: &Self::Value) -> Value {
        value.iter().map(K::complete).collect::<Vec<_>>().into()
    }

    fn shape() -> Shape {
        let Shape { python, schema, .. } = K::shape();
        Shape::new("list", &format!("tuple[{python}, ...]"), [("type", "array".into()), ("items", schema.into())])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        let length = draw.pick(&[1, 1, 2, 0]);
        (0..length).map(|_| K::draw(draw)).collect::<Vec<_>>().into()
    }
}

/// One table, or a list of them: `[path.tc]` or `[[path.tc]]`.
#[derive(Debug)]
pub struct OneOrList<K>(PhantomData<K>);

impl<K: Kind> Kind for OneOrList<K> {
    type Value = Vec<K::Value>;
    const TABLE: Option<&'static TableSpec> = K::TABLE;

    fn read(value: &Value, location: &Location<'_>, faults: &mut Faults) -> Option<Self::Value> {
        if value.list().is_some() {
            return List::<K>::read(value, location, faults);
        }
        K::read(value, location, faults).map(|one| vec![one])
    }

    fn write(value: &Self::Value) -> Value {
        if let [one] = &value[..] { K::write(one) } else { List::<K>::write(value) }
    }

    fn data(value: &Self::Value) -> Value {
        List::<K>::data(value)
    }

    fn complete(value: &Self::Value) -> Value {
        if let [one] = &value[..] { K::complete(one) } else { List::<K>::complete(value) }
    }

    fn shape() -> Shape {
        let (one, list) = (K::shape(), List::<K>::shape());
        Shape::new("table or list", &list.python, any_of(vec![one.schema, list.schema]))
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        K::draw(draw)
    }
}

/// At least one value of one kind.
#[derive(Debug)]
pub struct OneOrMore<K>(PhantomData<K>);

impl<K: Kind> Kind for OneOrMore<K> {
    type Value = Vec<K::Value>;
    const TABLE: Option<&'static TableSpec> = K::TABLE;
    const IS_LIST: bool = true;

    fn read(value: &Value, location: &Location<'_>, faults: &mut Faults) -> Option<Self::Value> {
        if value.list().is_some_and(<[Value]>::is_empty) {
            faults.add(location, value, Wrong::new("an empty list", "at least one"));
            return None;
        }
        List::<K>::read(value, location, faults)
    }

    fn write(value: &Self::Value) -> Value {
        List::<K>::write(value)
    }

    fn data(value: &Self::Value) -> Value {
        List::<K>::data(value)
    }

    fn complete(value: &Self::Value) -> Value {
        List::<K>::complete(value)
    }

    fn shape() -> Shape {
        let mut shape = List::<K>::shape();
        shape.schema.set("minItems", 1.into());
        shape
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        let length = draw.pick(&[1, 1, 2, 3]);
        (0..length).map(|_| K::draw(draw)).collect::<Vec<_>>().into()
    }
}

/// `true` or `false`.
#[derive(Debug)]
pub struct Boolean;

impl Simple for Boolean {
    type Value = bool;

    fn parse(value: &Value) -> Result<bool, Wrong> {
        let none = || Wrong::new("not a boolean", "write true or false");
        match &value.node {
            Node::Boolean(value) => Ok(*value),
            Node::Integer(number @ 0..=1) => Ok(*number == 1),
            // As a person writes it after `--set`.
            Node::Text(text) => match &text.to_lowercase()[..] {
                "true" | "yes" | "on" | "y" | "t" | "1" => Ok(true),
                "false" | "no" | "off" | "n" | "f" | "0" => Ok(false),
                _ => Err(none()),
            },
            _ => Err(none()),
        }
    }

    fn write(value: &bool) -> Value {
        (*value).into()
    }

    fn shape() -> Shape {
        Shape::new("boolean", "bool", [("type", "boolean".into())])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        (draw.below(2) == 1).into()
    }
}

simple!(Boolean);
