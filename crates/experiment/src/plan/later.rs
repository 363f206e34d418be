//! The later changes of an experiment, and what they need from the start.

use super::attachments::Attachments;
use crate::changes_file::Row;
use crate::model::{Change, Experiment};

/// What changes call the reverse path.
pub(super) const REVERSE: &str = "reverse";

/// Every change of an experiment in the order of time, those of files among them, each with its key.
pub(super) fn listed(experiment: &Experiment, attachments: &Attachments) -> Vec<(String, Change)> {
    let mut all = Vec::new();
    for (number, change) in experiment.changes.iter().enumerate() {
        let key = format!("changes.{number}");
        let own = Change { file: None, ..change.clone() };
        for row in attachments.changes.get(&number).into_iter().flatten() {
            let Row { at, rate, delay, jitter, loss } = row.clone();
            let rest = Change { up: None, qdisc: None, rtt: None, group: None, route: None, ..own.clone() };
            all.push((key.clone(), Change { at: change.at.saturating_add(at), rate, delay, jitter, loss, ..rest }));
        }
        let is_plain =
            own.rate.is_some() || own.up.is_some() || own.qdisc.is_some() || own.rtt.is_some() || own.route.is_some();
        if change.file.is_none() || is_plain || own.delay.is_some() || own.jitter.is_some() || own.loss.is_some() {
            all.push((key, own));
        }
    }
    all.sort_by_key(|(_, change)| change.at);
    all
}

fn has_loss(change: &Change) -> bool {
    change.loss.as_ref().is_some_and(|loss| !loss.is_empty())
}

/// Whether the forward path needs a netem for a later change.
pub(super) fn needs_path_netem(changes: &[(String, Change)]) -> bool {
    let is_above_zero = |time: Option<u64>| time.is_some_and(|time| time > 0);
    changes.iter().map(|(_, change)| change).any(|change| {
        change.link.is_none() && (has_loss(change) || is_above_zero(change.delay) || is_above_zero(change.jitter))
    })
}

/// Whether the reverse path needs a netem for a later change.
pub(super) fn needs_reverse_netem(changes: &[(String, Change)]) -> bool {
    let is_of_reverse = |change: &Change| {
        change.link.as_deref() == Some(REVERSE)
            && (has_loss(change) || change.delay.is_some() || change.jitter.is_some())
    };
    changes.iter().map(|(_, change)| change).any(|change| change.rtt.is_some() || is_of_reverse(change))
}

/// Whether a change adds loss to this netem.
pub(super) fn brings_loss(changes: &[(String, Change)], netem: &str) -> bool {
    changes.iter().map(|(_, change)| change).any(|change| has_loss(change) && netem_name(change) == netem)
}

/// The netem that a change sets.
pub(super) fn netem_name(change: &Change) -> String {
    format!("{}-netem", change.link.as_deref().unwrap_or("path"))
}
