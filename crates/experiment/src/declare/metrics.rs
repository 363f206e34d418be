//! What keys about a run's numbers hold: expectations, metrics, figures, arrivals.

use super::spec::{Shape, text};
use super::{Simple, simple};
use crate::draw::Draw;
use crate::expectation;
use crate::value::{Node, Value};
use dumbbell_tc::Wrong;

/// An expectation, kept as written.
#[derive(Debug)]
pub struct Expected;

impl Simple for Expected {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let text =
            value.text().ok_or_else(|| Wrong::new("not an expectation", "such as \"groups.bbr.share > 0.6\""))?;
        expectation::parse(text).map(|_| text.to_owned())
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        text("expectation", vec![("examples", Value::texts(&["groups.bbr.share > 0.6"]))])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        let choices =
            ["utilization > 0.5", "groups.a.share in 0.1..0.9", "cycle == null", "ping_ms.max from 1s to 2s < 9"];
        draw.pick(&choices).into()
    }
}

/// The name of a metric, kept as written.
#[derive(Debug)]
pub struct Measured;

impl Simple for Measured {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let text = value.text().ok_or_else(|| Wrong::new("not a metric's name", "such as \"groups.bbr.share\""))?;
        expectation::metric(text).map(|_| text.to_owned())
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        text("metric", vec![("examples", Value::texts(&["groups.bbr.share"]))])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["utilization", "groups.a.share", "flows.0.rtt_ms.p95 from 1s", "queue.packets.mean to 5s"]).into()
    }
}

/// Flows per second: `10/s`.
#[derive(Debug)]
pub struct Arrivals;

impl Simple for Arrivals {
    type Value = f64;

    fn parse(value: &Value) -> Result<f64, Wrong> {
        let hint = "flows per second, such as '10/s'";
        let number = value.text().and_then(|text| text.trim().strip_suffix("/s")).filter(|number| {
            let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
            !whole.is_empty() && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit())
        });
        let rate: f64 =
            number.and_then(|number| number.parse().ok()).ok_or_else(|| Wrong::new("not a rate of arrivals", hint))?;
        match rate {
            0.0 => Err(Wrong::new("no arrivals", hint)),
            rate if rate.is_finite() => Ok(rate),
            _ => Err(Wrong::new("a number that is too large", hint)),
        }
    }

    fn write(value: &f64) -> Value {
        format!("{value}/s").into()
    }

    fn data(value: &f64) -> Value {
        (*value).into()
    }

    fn shape() -> Shape {
        let pattern = r"^\s*\d+\.?\d*/s\s*$";
        let schema = vec![("examples", Value::texts(&["10/s"])), ("pattern", pattern.into())];
        Shape { python: "float".into(), ..text("arrivals", schema) }.unit("1/s")
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["10/s", "0.5/s", "1000/s", "2./s"]).into()
    }
}

/// A finite number.
#[derive(Debug)]
pub struct Figure;

impl Simple for Figure {
    type Value = f64;

    fn parse(value: &Value) -> Result<f64, Wrong> {
        #[expect(clippy::cast_precision_loss, reason = "a figure has few digits")]
        match value.node {
            Node::Integer(number) => Ok(number as f64),
            Node::Float(number) if number.is_finite() => Ok(number),
            _ => {
                let hint =
                    "a number, such as value = 10, or a range, low = 9, high = 11; words go into \"what\" or \"note\"";
                Err(Wrong::new("not a number", hint))
            }
        }
    }

    fn write(value: &f64) -> Value {
        (*value).into()
    }

    fn shape() -> Shape {
        Shape::new("number", "float", [("type", "number".into())])
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&[1.0, 0.5, 10.0, -3.25, 1e6]).into()
    }
}

/// A metric of a sweep's rows; the sweep's `window` is the part of a run that all of them are of.
#[derive(Debug)]
pub struct RowMetric;

impl Simple for RowMetric {
    type Value = String;

    fn parse(value: &Value) -> Result<String, Wrong> {
        let named = value.text().and_then(|text| expectation::metric(text).ok());
        let named = named
            .filter(|metric| !metric.name.contains(['<', '>', '=', '*', '?']))
            .ok_or_else(|| Wrong::new("not a metric", "the name of one, such as groups.bbr.share"))?;
        if named.from.is_some() || named.to.is_some() {
            let hint = "write window at the top of the file; it applies to all metrics";
            return Err(Wrong::new("a metric can't have a window of its own", hint));
        }
        Ok(named.name)
    }

    fn write(value: &String) -> Value {
        value.clone().into()
    }

    fn shape() -> Shape {
        Measured::shape()
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        draw.pick(&["utilization", "groups.a.share", "jain"]).into()
    }
}

simple!(Expected, Measured, Arrivals, Figure, RowMetric);
