//! tc's words: keywords, quantities and locations as iproute2's `tc` reads them, and the attributes that it sends.
//!
//! | module | holds |
//! | --- | --- |
//! | [`quantity`] | rates, times, sizes and shares in tc's units, with tc's rounding |
//! | [`ticks`] | tc's clock |
//! | [`grammar`] | keywords with the kinds of their arguments; the options of a command |
//! | `location` | handles and class ids |
//! | [`attributes`], `rate_table` | netlink attributes |
//!
//! These modules compute with floats where tc does, so that results are equal; the packet path has none.

pub mod attributes;
pub mod grammar;
pub(crate) mod location;
pub mod quantity;
pub(crate) mod rate_table;
pub(crate) mod repeated;
pub mod ticks;

use core::fmt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a qdisc takes from its device.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// MTU with the Ethernet header, in bytes (`psched_mtu`).
    pub mtu: u32,
    /// `txqueuelen`, in packets.
    pub queue_length: u32,
    /// Seeds of netems that give none, by the major number of their handle.
    #[serde(default)]
    pub seeds: BTreeMap<u32, u64>,
}

/// Why a command is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong, with the value.
    pub problem: String,
    /// What to write instead; may be empty.
    pub hint: String,
    /// Linux accepts it, the simulator does not have it.
    pub is_lacking: bool,
}

impl Wrong {
    /// tc or Linux refuses it.
    pub fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into(), is_lacking: false }
    }

    /// The simulator does not have it.
    pub fn lacking(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into(), is_lacking: true }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "; {}", self.hint) }
    }
}

impl core::error::Error for Wrong {}
