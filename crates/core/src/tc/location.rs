//! Handles and class ids.

use super::Wrong;
use alloc::format;
use alloc::string::String;

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

/// A handle as tc writes it.
pub(crate) fn handle_text(major: u32) -> String {
    format!("{major:x}:")
}
