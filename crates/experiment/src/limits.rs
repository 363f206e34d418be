//! Limits on what a text may use. `DUMBBELL_LIMITS` changes them; who reads the environment hands them in.

use crate::diagnostic::{Diagnostic, fail};

/// Tables in each other: more than any key needs, few enough for recursive code.
pub const MAX_DEPTH: usize = 24;
/// Characters of a case's name, which values are put into.
pub const MAX_NAME: usize = 4_000;
/// Names of limits whose numbers are bytes.
const IN_BYTES: [&str; 2] = ["text", "trace"];

/// The limits that matter to experiments, by the names that they have in `DUMBBELL_LIMITS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an experiment or a tc script.
    pub text: usize,
    /// Keys and values of an experiment.
    pub keys: usize,
    /// Cases of an experiment, and seeds of a case.
    pub cases: usize,
    /// Keys of all cases of an experiment together.
    pub expanded: usize,
    /// Rate changes in one run, including those of a trace.
    pub changes: usize,
    /// Lines of a trace.
    pub lines: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { text: 1_000_000, keys: 20_000, cases: 10_000, expanded: 1_000_000, changes: 200_000, lines: 10_000_000 }
    }
}

impl Limits {
    /// The names of all.
    pub const NAMES: [&str; 6] = ["text", "keys", "cases", "expanded", "changes", "lines"];

    /// A limit by its name.
    #[must_use]
    pub fn get_mut(&mut self, name: &str) -> Option<&mut usize> {
        Some(match name {
            "text" => &mut self.text,
            "keys" => &mut self.keys,
            "cases" => &mut self.cases,
            "expanded" => &mut self.expanded,
            "changes" => &mut self.changes,
            "lines" => &mut self.lines,
            _ => return None,
        })
    }

    /// What raises a limit to `needed`.
    #[must_use]
    pub fn raised(&self, name: &str, needed: usize) -> String {
        let needed = if IN_BYTES.contains(&name) { rounded_up(needed) } else { needed.to_string() };
        format!("or allow it: DUMBBELL_LIMITS={name}={needed}")
    }

    /// Refuses more seeds than cases are allowed.
    ///
    /// # Errors
    ///
    /// There are more.
    pub fn check_seeds(&self, seeds: &[u64]) -> Result<(), Box<Diagnostic>> {
        let count = seeds.len();
        if count <= self.cases {
            return Ok(());
        }
        let problem = format!("{} seeds, more than {}", grouped(count), grouped(self.cases));
        fail(Diagnostic::new(problem, format!("fewer, {}", self.raised("cases", count))).key("seeds"))
    }

    /// The limit of a size with its unit.
    #[must_use]
    pub fn size(&self, name: &str) -> String {
        let mut limits = *self;
        let bytes = limits.get_mut(name).map_or(0, |limit| *limit);
        let (unit, scale) = unit_of(bytes, 1);
        let hundredths = bytes * 100 / scale;
        let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
        format!("{} {}", text.trim_end_matches('0').trim_end_matches('.'), if unit.is_empty() { "bytes" } else { unit })
    }
}

/// A number with commas between thousands.
#[must_use]
pub fn grouped(number: impl ToString + Copy) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn rounded_up(bytes: usize) -> String {
    let (unit, scale) = unit_of(bytes, 2);
    format!("{}{unit}", bytes.div_ceil(scale))
}

/// The largest unit of which there are more than `least`.
fn unit_of(bytes: usize, least: usize) -> (&'static str, usize) {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    units.into_iter().find(|(_, scale)| bytes >= least * scale).unwrap_or(("", 1))
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn every_third_digit_has_a_comma() {
        assert_eq!([7, 1_000, 1_234_567].map(grouped), ["7", "1,000", "1,234,567"]);
    }
}
