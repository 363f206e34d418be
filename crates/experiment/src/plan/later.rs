//! What later changes need from the start.

use crate::model::Change;

/// What changes call the reverse path.
pub(super) const REVERSE: &str = "reverse";

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
    format!("{}.netem", change.link.as_deref().unwrap_or("path"))
}
