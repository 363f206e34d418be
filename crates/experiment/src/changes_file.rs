//! Files of changes: a row for each time, as satellites and mobile links are recorded.
//!
//! The first line names the columns: `time` and one or more of `rate`, `delay`, `jitter`, `loss`, whose values have units
//! as in an experiment (`15s,20mbit,30ms,1%`); or `time_s`, `rate_mbit`, `delay_ms`, `jitter_ms`, `loss_percent` with plain
//! numbers. An empty cell changes nothing.

use crate::declare::Simple;
use crate::declare::kinds::{Rate, Time};
use crate::diagnostic::{Diagnostic, fail};
use crate::limits::{Limits, grouped};
use dumbbell_tc::quantity::per_cent;

/// A row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// After the change's own time, in nanoseconds.
    pub at: u64,
    /// The new rate in bits per second.
    pub rate: Option<u64>,
    /// The new delay.
    pub delay: Option<u64>,
    /// The new jitter.
    pub jitter: Option<u64>,
    /// The new loss, as netem takes it.
    pub loss: Option<String>,
}

const COLUMNS: [(&str, &str, &str); 5] = [
    ("time", "time_s", "s"),
    ("rate", "rate_mbit", "mbit"),
    ("delay", "delay_ms", "ms"),
    ("jitter", "jitter_ms", "ms"),
    ("loss", "loss_percent", "%"),
];
const RIGHT: &str = "a first line such as time,rate,delay,loss, then rows such as 15s,20mbit,30ms,1%";

/// Reads a file.
///
/// # Errors
///
/// Another format; the diagnostic's key is the line.
pub fn read(content: &[u8], limits: &Limits) -> Result<Vec<Row>, Box<Diagnostic>> {
    let text = str::from_utf8(content).ok();
    let text = text.ok_or_else(|| Diagnostic::new("the changes can't be read: they are not UTF-8", RIGHT))?;
    let mut lines = (1_usize..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
    let mut lines = lines.by_ref().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (number, head) = lines.next().ok_or_else(|| Diagnostic::new("no changes", RIGHT))?;
    let mut columns = Vec::new();
    for word in head.split(',').map(str::trim) {
        let plain = COLUMNS.iter().position(|(name, ..)| *name == word).map(|at| (at, ""));
        let with_unit = COLUMNS.iter().position(|(_, name, _)| *name == word).map(|at| (at, COLUMNS[at].2));
        let column = plain.or(with_unit).filter(|(at, _)| !columns.iter().any(|(other, _)| other == at));
        let wrong = || Diagnostic::new(format!("'{word}' is no column of changes, or twice"), RIGHT);
        columns.push(column.ok_or_else(|| wrong().key(format!("line {number}")))?);
    }
    if !columns.iter().any(|(at, _)| *at == 0) || columns.len() < 2 {
        return fail(Diagnostic::new("no column 'time', or nothing that changes", RIGHT).key(format!("line {number}")));
    }
    let mut rows: Vec<Row> = Vec::new();
    for (number, line) in lines {
        if rows.len() >= limits.changes {
            let problem = format!("more than {} rows", grouped(limits.changes));
            return fail(Diagnostic::new(problem, limits.raised("changes", rows.len() * 2)));
        }
        let row = row(line, &columns).filter(|row| rows.last().is_none_or(|last| row.at >= last.at));
        let wrong = || Diagnostic::new("not a row of changes, or earlier than the one before", RIGHT);
        rows.push(row.ok_or_else(|| wrong().key(format!("line {number}")).value(&line.into()))?);
    }
    if rows.is_empty() { fail(Diagnostic::new("no changes", RIGHT)) } else { Ok(rows) }
}

fn row(line: &str, columns: &[(usize, &str)]) -> Option<Row> {
    let cells: Vec<_> = line.split(',').map(str::trim).collect();
    if cells.len() != columns.len() {
        return None;
    }
    let mut row = Row::default();
    let mut has_time = false;
    for (cell, (column, unit)) in cells.into_iter().zip(columns).filter(|(cell, _)| !cell.is_empty()) {
        let text = format!("{cell}{unit}");
        let time = || Time::parse(&text[..].into()).ok();
        match column {
            0 => (row.at, has_time) = (time()?, true),
            1 => row.rate = Some(Rate::parse(&text[..].into()).ok()?),
            2 => row.delay = Some(time()?),
            3 => row.jitter = Some(time()?),
            _ => {
                per_cent(&text).ok()?;
                row.loss = Some(text);
            }
        }
    }
    has_time.then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_may_have_units_in_their_cells_or_in_their_names() {
        let first = read(b"time,rate,delay,loss\n0s,20mbit,30ms,\n1500ms,5mbit,,1%\n", &Limits::default());
        let second = read(b"# LEO\nloss_percent,time_s,rate_mbit,delay_ms\n,0,20,30\n1,1.5,5,\n", &Limits::default());
        let first = first.expect("changes");
        assert_eq!(first, second.expect("the same"));
        assert_eq!(first[1].at, 1_500_000_000);
        assert_eq!((first[0].rate, first[0].delay, first[1].delay), (Some(20_000_000), Some(30_000_000), None));
        assert_eq!(first[1].loss.as_deref(), Some("1%"));
    }

    #[test]
    fn other_files_are_refused_with_their_line() {
        for (text, key) in [
            ("time,rate\n2s,1mbit\n1s,1mbit", "line 3"),
            ("time,speed\n", "line 1"),
            ("rate\n1mbit", "line 1"),
            ("time,rate\n1s", "line 2"),
            ("time,rate", ""),
        ] {
            assert_eq!(read(text.as_bytes(), &Limits::default()).unwrap_err().key, key, "{text}");
        }
    }
}
