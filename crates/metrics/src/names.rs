//! The names of all metrics, with unit and meaning: declared with the field that holds the number.
//!
//! `expect`, `--json`, sweeps, `compare`, `search`, `bisect` and `evaluate` use these names, `dumbbell list metrics`
//! prints them.

use crate::cycle::Cycle;
use crate::queue::QueueMetrics;
use crate::spread::{PARTS, Spread};
use crate::summary::{FlowMetrics, GroupMetrics, Metrics};

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
impl Measured for Option<Spread> {
    const PARTS: &'static [&'static str] = &PARTS;
}

/// Every metric, by the place of its name: empty, `flows.FLOW`, `groups.GROUP`, `queue`, `queues.QUEUE`, `cycle`.
pub const PLACES: [(&str, &[Declared]); 6] = [
    ("", Metrics::DECLARED),
    ("flows.FLOW", FlowMetrics::DECLARED),
    ("groups.GROUP", GroupMetrics::DECLARED),
    ("queue", QueueMetrics::DECLARED),
    ("queues.QUEUE", QueueMetrics::DECLARED),
    ("cycle", Cycle::DECLARED),
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_meaning_and_a_place_of_its_own() {
        for (place, declared) in PLACES {
            let mut names: Vec<_> = declared.iter().map(|each| each.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), declared.len(), "{place}");
            assert!(declared.iter().all(|each| each.about.trim().ends_with('.')), "{place}");
        }
    }

    #[test]
    fn a_group_has_every_number_of_its_flows() {
        let of_group = |flow: &Declared| GroupMetrics::DECLARED.iter().any(|group| group.name == flow.name);
        let missing: Vec<_> = FlowMetrics::DECLARED.iter().filter(|flow| !of_group(flow)).collect();
        assert_eq!(missing, Vec::<&Declared>::new());
    }
}
