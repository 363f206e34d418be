//! Handles and class ids.

use super::Wrong;
use super::attributes::unsent;

/// A handle or class id: `1:` or `1:10`, in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub major: u32,
    pub minor: u32,
}

impl Location {
    /// Reads `1:10`; a missing minor number is 0.
    pub fn read(word: &str) -> Result<Self, Wrong> {
        let (major, _) = word.split_once(':').unwrap_or((word, ""));
        Ok(Self { major: hexadecimal(major, word)?, minor: minor(word)? })
    }

    /// The number that the kernel has for the qdisc.
    pub fn handle(self) -> Result<u32, Wrong> {
        Self { minor: 0, ..self }.id()
    }

    /// The number that the kernel has for the class.
    pub fn id(self) -> Result<u32, Wrong> {
        let Self { major, minor } = self;
        let fits = |number: u32| u16::try_from(number).is_ok();
        (fits(major) && fits(minor)).then_some(major << 16 | minor).ok_or_else(|| {
            Wrong::new(format!("the handle {major:x}:{minor:x} does not fit 16 bits each"), "such as 1: or 1:10")
        })
    }
}

/// The minor number of a handle or class id.
pub(crate) fn minor(word: &str) -> Result<u32, Wrong> {
    match word.split_once(':') {
        Some((_, minor)) if !minor.is_empty() => hexadecimal(minor, word),
        _ => Ok(0),
    }
}

fn hexadecimal(digits: &str, word: &str) -> Result<u32, Wrong> {
    u32::from_str_radix(digits, 16).map_err(|_| Wrong::new(format!("'{word}' is not a handle"), "such as 1: or 1:10"))
}

pub(crate) fn handle_text(major: u32) -> String {
    format!("{major:x}:")
}

/// A class id of two numbers, as tc reads it (`get_tc_classid`).
pub(crate) fn class_id(word: &str) -> Result<u32, Wrong> {
    if !word.contains(':') {
        return Err(unsent("a class id without a colon"));
    }
    Location::read(word)?.id()
}
