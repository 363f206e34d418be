//! What later changes need from the start.

use crate::model::{Change, Experiment};

fn has_loss(change: &Change) -> bool {
    change.loss.as_ref().is_some_and(|loss| !loss.is_empty())
}

/// Whether the forward path needs a netem for a later change.
pub(super) fn needs_path_netem(experiment: &Experiment) -> bool {
    let is_above_zero = |time: Option<u64>| time.is_some_and(|time| time > 0);
    experiment.changes.iter().any(|change| {
        change.link.is_none() && (has_loss(change) || is_above_zero(change.delay) || is_above_zero(change.jitter))
    })
}

/// Whether the reverse path needs a netem for a later change.
pub(super) fn needs_reverse_netem(experiment: &Experiment) -> bool {
    experiment.changes.iter().any(|change| change.rtt.is_some())
}

/// Whether a change adds loss to this netem.
pub(super) fn brings_loss(experiment: &Experiment, netem: &str) -> bool {
    experiment.changes.iter().any(|change| has_loss(change) && netem_name(change) == netem)
}

/// The netem that a change sets.
pub(super) fn netem_name(change: &Change) -> String {
    format!("{}.netem", change.link.as_deref().unwrap_or("path"))
}
