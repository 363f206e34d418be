//! The names of all metrics, with unit and meaning: declared with the field that holds the number.
//!
//! `expect`, `--json`, sweeps, `compare`, `search`, `bisect` and `evaluate` use these names, `dumbbell list metrics`
//! prints them.

use crate::spread::{PARTS, Spread};

/// A metric as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Key.
    pub name: &'static str,
    /// Unit; empty: none.
    pub unit: &'static str,
    /// Formula, edge cases and source.
    pub about: &'static str,
    /// Keys of its numbers; empty: a single number.
    pub parts: &'static [&'static str],
}

/// What a field of metrics holds.
pub trait Measured {
    /// Keys of its numbers; empty: a single number.
    const PARTS: &'static [&'static str] = &[];
}

impl Measured for f64 {}
impl Measured for Option<f64> {}
impl Measured for Option<u64> {}
impl Measured for Option<i64> {}
impl Measured for Option<Spread> {
    const PARTS: &'static [&'static str] = &PARTS;
}

/// Declares a struct of metrics: fields that are no metrics, then each metric with its unit.
macro_rules! measured {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[$of_other:meta])* pub $other:ident: $kind:ty,)*
            ;
            $($(#[doc = $about:literal])+ pub $field:ident: $measured:ty = $unit:literal,)*
        }
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[$of_other])* pub $other: $kind,)*
            $($(#[doc = $about])+ pub $field: $measured,)*
        }

        impl $name {
            /// The names of its metrics.
            pub const DECLARED: &'static [$crate::names::Declared] = &[$($crate::names::Declared {
                name: stringify!($field),
                unit: $unit,
                about: concat!($($about),+),
                parts: <$measured as $crate::names::Measured>::PARTS,
            },)*];
        }
    };
}
pub(crate) use measured;
