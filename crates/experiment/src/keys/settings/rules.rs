//! Rules of TCP's settings and of changes.

use crate::declare::location::Report;
use crate::keys::settings::TcpDefaults;
use crate::model::Change;
use crate::value::{Table, Value};

/// Limits of buffers that the file does not give, as `defaults` has them.
pub fn with_buffers(table: &Table) -> Option<Table> {
    let word = table.get("defaults").and_then(Value::text)?;
    let defaults = [TcpDefaults::Dumbbell, TcpDefaults::Linux].into_iter().find(|each| each.word() == word)?;
    let (receive, send) = defaults.buffers();
    Some(table.clone().or("rmem_max", || receive.into()).or("wmem_max", || send.into()))
}

/// A change must change something.
pub fn change(made: &Change, report: &mut Report<'_>) {
    let is_empty = made.rate.is_none()
        && made.rtt.is_none()
        && made.delay.is_none()
        && made.jitter.is_none()
        && made.loss.is_none()
        && made.up.is_none()
        && made.qdisc.is_none()
        && made.file.is_none()
        && made.group.is_none()
        && made.route.is_none();
    if is_empty {
        report.fault(
            "",
            "the change has no values",
            "give rate, up, qdisc, rtt, delay, jitter, loss, file, or group and route",
        );
    }
    if made.group.is_some() != made.route.is_some() {
        let key = if made.group.is_some() { "group" } else { "route" };
        report.fault(key, "'group' and 'route' go together", "a route of a group of flows, or neither");
    }
    if made.route.is_some() && made.link.is_some() {
        report.fault("link", "a change of a link and of a group's route", "a change for each");
    }
    if made.up == Some(false) && made.rate.is_some() {
        let hint = "the new rate in the change that ends the outage";
        report.fault("rate", "a rate of a link that sends nothing", hint);
    }
}
