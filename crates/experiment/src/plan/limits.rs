//! Limits on the resources of a run. The caller may raise them; an experiment can't.

use dumbbell_plan::text::{general, large};

/// The environment variable that raises limits; messages name it.
const VARIABLE: &str = "DUMBBELL_LIMITS";
const UNITS: [(&str, u128); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];

/// Declares limits with their defaults.
macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $name:ident = $default:literal,)+) => {
        /// What a run may use. The user may raise each by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Limits {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Limits {
            /// Their names with their defaults.
            pub const DEFAULTS: &[(&str, u64)] = &[$((stringify!($name), $default)),+];

            /// The limit of this name.
            pub fn get_mut(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)+
                    _ => None,
                }
            }
        }
    };
}

limits! {
    /// Estimated memory of one run, in bytes.
    memory = 8_000_000_000,
    /// Data packets that the bottleneck can carry in one run.
    packets = 100_000_000_000,
    /// Groups of flows.
    groups = 500,
    /// Flows.
    flows = 100_000,
    /// Changes, including those of a trace.
    changes = 200_000,
}

/// The hint that raises a limit in bytes.
pub(super) fn raised_bytes(name: &str, needed: u128) -> String {
    let unit = UNITS.iter().find(|(_, bytes)| needed > 2 * bytes);
    let text = unit.map_or_else(|| needed.to_string(), |(unit, bytes)| format!("{}{unit}", needed.div_ceil(*bytes)));
    format!("or allow it: {VARIABLE}={name}={text}")
}

/// The hint that raises a limit in numbers.
pub(super) fn raised(name: &str, needed: u128) -> String {
    format!("or allow it: {VARIABLE}={name}={needed}")
}

/// Bytes in billions.
pub(super) fn gigabytes(bytes: u128) -> String {
    general(large(bytes) / 1e9, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_rounded_up_to_its_unit() {
        assert_eq!(raised_bytes("memory", 8_000_000_001), "or allow it: DUMBBELL_LIMITS=memory=9GB");
        assert_eq!(raised_bytes("memory", 2_000_000_000), "or allow it: DUMBBELL_LIMITS=memory=2000MB");
        assert_eq!(raised_bytes("memory", 1_500), "or allow it: DUMBBELL_LIMITS=memory=1500");
    }
}
