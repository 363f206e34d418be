//! The files that an experiment names, as values.

use serde::{Deserialize, Serialize};

/// Stands for the device in the lines of a [`Script`].
pub const DEVICE: &str = "{device}";

/// The files that an experiment names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Attachments {
    /// The tc script, checked.
    pub script: Option<Script>,
    /// Rates of the bottleneck over time: (nanoseconds, bits per second), only where the rate changes.
    pub trace: Vec<(u64, u64)>,
}

/// A tc script, checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Script {
    /// tc commands in words, with [`DEVICE`] for the interface.
    pub lines: Vec<Vec<String>>,
    /// Destination ports and marks.
    pub marks: Vec<(u16, u32)>,
}
