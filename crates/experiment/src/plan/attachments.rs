//! The files that an experiment names, as values.

use crate::script::Script;

/// The files that an experiment names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attachments {
    /// The tc script, checked.
    pub script: Option<Script>,
    /// Rates of the bottleneck over time: (nanoseconds, bits per second), only where the rate changes.
    pub trace: Vec<(u64, u64)>,
}
