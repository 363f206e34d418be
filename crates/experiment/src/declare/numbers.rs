//! Finite numbers with bounds.

use super::metrics::Figure;
use super::spec::Shape;
use super::{Simple, simple};
use crate::draw::Draw;
use crate::value::Value;
use dumbbell_tc::Wrong;

macro_rules! numbers {
    ($($(#[doc = $doc:literal])+ $name:ident: $is_in:expr, $hint:literal, $schema:expr, $drawn:expr;)+) => {
        $($(#[doc = $doc])+
        #[derive(Debug)]
        pub struct $name;

        impl Simple for $name {
            type Value = f64;

            fn parse(value: &Value) -> Result<f64, Wrong> {
                let number = Figure::parse(value).map_err(|_| Wrong::new("not a number", $hint))?;
                if $is_in(number) { Ok(number) } else { Err(Wrong::new("a number out of range", $hint)) }
            }

            fn write(value: &f64) -> Value {
                (*value).into()
            }

            fn shape() -> Shape {
                let mut shape = <Figure as Simple>::shape();
                for (key, bound) in $schema {
                    shape.schema.set(key, bound.into());
                }
                shape
            }

            fn draw(draw: &mut Draw<'_>) -> Value {
                draw.pick($drawn).into()
            }
        })+
    };
}

numbers! {
    /// Zero or more.
    NotNegative: |number| number >= 0.0, "a number of at least 0", [("minimum", 0)], &[0.0, 0.5, 10.0];
    /// From 0 to 1.
    ShareOfOne: |number| (0.0..=1.0).contains(&number), "a number from 0 to 1", [("minimum", 0), ("maximum", 1)],
        &[0.0, 0.01, 0.5];
    /// More than zero.
    AboveZero: |number| number > 0.0, "a number above 0", [("exclusiveMinimum", 0)], &[0.01, 1.0];
}

simple!(NotNegative, ShareOfOne, AboveZero);
