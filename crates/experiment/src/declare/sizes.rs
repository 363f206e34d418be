//! Distributions of flow sizes.

use super::spec::{Shape, table_schema};
use super::{Simple, simple};
use crate::declare::kinds::Size;
use crate::draw::Draw;
use crate::value::{Node, Table, Value};
use dumbbell_tc::Wrong;
use serde::{Deserialize, Serialize};

/// How the size of a flow is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SizeSource {
    /// From a file of a cumulative distribution (`crate::sizes`).
    Cdf(String),
    /// From a Pareto distribution with this mean in bytes and this shape.
    Pareto {
        /// Mean in bytes.
        mean: u64,
        /// Shape, above 1.
        shape: f64,
    },
}

/// Of web flows (Crovella and Bestavros 1997: 1.0 to 1.3).
const SHAPE: f64 = 1.2;
const RIGHT: &str = "{ cdf = \"websearch.txt\" } or { pareto = \"100kB\", shape = 1.2 }";

/// `{ cdf = FILE }` or `{ pareto = MEAN, shape = NUMBER }`.
#[derive(Debug)]
pub struct Sizes;

impl Simple for Sizes {
    type Value = SizeSource;

    fn parse(value: &Value) -> Result<SizeSource, Wrong> {
        let wrong = |problem: &str| Wrong::new(problem, RIGHT);
        let table = value.table().ok_or_else(|| wrong("not a distribution of sizes"))?;
        if let Some((key, _)) = table.0.iter().find(|(key, _)| !["cdf", "pareto", "shape"].contains(&&key.text[..])) {
            return Err(wrong(&format!("unknown key '{}' of a distribution", key.text)));
        }
        match (table.get("cdf"), table.get("pareto"), table.get("shape")) {
            (Some(file), None, None) => {
                let name = file.text().filter(|name| !name.is_empty());
                name.map(|name| SizeSource::Cdf(name.into())).ok_or_else(|| wrong("'cdf' is the name of a file"))
            }
            (None, Some(mean), shape) => {
                let mean = Size::parse(mean)?;
                let shape = match shape.map(|shape| &shape.node) {
                    None => SHAPE,
                    Some(Node::Float(shape)) => *shape,
                    #[expect(clippy::cast_precision_loss, reason = "a small number")]
                    Some(Node::Integer(shape)) => *shape as f64,
                    Some(_) => return Err(wrong("'shape' is a number")),
                };
                if !(shape > 1.0 && shape <= 100.0) {
                    return Err(wrong(
                        "a Pareto distribution with this shape has no mean, or is a constant; above 1 to 100",
                    ));
                }
                if mean == 0 { Err(wrong("flows of no bytes")) } else { Ok(SizeSource::Pareto { mean, shape }) }
            }
            _ => Err(wrong("either 'cdf' or 'pareto'")),
        }
    }

    fn write(value: &SizeSource) -> Value {
        match value {
            SizeSource::Cdf(file) => Table::from_iter([("cdf", Value::from(&file[..]))]).into(),
            SizeSource::Pareto { mean, shape } => {
                Table::from_iter([("pareto", Size::write(mean)), ("shape", (*shape).into())]).into()
            }
        }
    }

    fn shape() -> Shape {
        Shape::new("sizes", "Mapping[str, Any]", table_schema(Table::default()))
    }

    fn draw(draw: &mut Draw<'_>) -> Value {
        let mean = draw.pick(&["1kB", "100kB", "3MB"]);
        Table::from_iter([("pareto", Value::from(mean)), ("shape", draw.pick(&[1.05, 1.2, 2.5]).into())]).into()
    }
}

simple!(Sizes);
