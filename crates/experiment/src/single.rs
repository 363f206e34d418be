//! The values of single keys that are no tables, numbers or texts.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Nanoseconds.
pub type Nanoseconds = u64;
/// Bits per second.
pub type BitsPerSecond = u64;
/// Bytes.
pub type Bytes = u64;
/// The arguments of one netem option, checked, as written: `1%`, `gemodel 1% 10%`.
pub type NetemArguments = String;

/// A queue discipline as written for tc, its words checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Qdisc {
    /// The discipline's name.
    pub kind: String,
    /// The words after the kind, as written.
    pub words: Vec<String>,
    /// Sizes in bandwidth-delay products, by their position in `words`.
    pub bdp_words: BTreeMap<usize, BdpSize>,
}

/// A queue's size in bandwidth-delay products.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BdpSize {
    /// How many.
    pub products: f64,
    /// Whether tc takes packets here instead of bytes.
    pub in_packets: bool,
}

/// When a program gets SIGTERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// At this time.
    At(Nanoseconds),
    /// At the end of the experiment.
    End,
}

/// A file of a program's working folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileContent {
    /// This text.
    Text(String),
    /// So many zero bytes, which take no memory.
    Zeros(Bytes),
}
