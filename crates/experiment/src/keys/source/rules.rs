//! Rules of a source's figures.

use crate::declare::location::Report;
use crate::figures::units_of;
use crate::model::Seen;
use crate::value::{Table, Value};

/// The metric's own unit where a file gives none.
pub fn with_unit(table: &Table) -> Option<Table> {
    let metric = table.get("metric").and_then(Value::text).filter(|_| !table.has("unit"))?;
    let (unit, _) = units_of(metric)?.first()?;
    Some(table.clone().or("unit", || (*unit).into()))
}

/// A value or a range, in a unit of the metric.
pub fn seen(made: &Seen, report: &mut Report<'_>) {
    let is_range = made.low.is_some() || made.high.is_some();
    let hint = "give value = 10, or low = 9, high = 11, or one of the two ends";
    match (made.value.is_some(), is_range) {
        (true, true) => report.fault("value", "both a value and a range", hint),
        (false, false) => report.fault("value", format!("no figure for '{}'", made.what), hint),
        _ => {}
    }
    if let (Some(low), Some(high)) = (made.low, made.high)
        && low > high
    {
        report.fault("low", format!("the range {low} to {high} is empty"), "write the smaller number as low");
    }
    let units = units_of(&made.metric).unwrap_or_default();
    if !units.iter().any(|(unit, _)| *unit == made.unit) {
        let listed: Vec<_> = units.iter().map(|(unit, _)| format!("'{unit}'")).collect();
        let problem = format!("'{}' is not a unit of {}", made.unit, made.metric);
        report.fault("unit", problem, format!("one of {}", listed.join(", ")));
    }
}
