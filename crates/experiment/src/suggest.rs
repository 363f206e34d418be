//! What a misspelt name could mean.

use std::collections::BTreeSet;

/// Names that a message lists; of more, only the nearest.
const MAX_LISTED: usize = 60;
/// Share of a name that must agree.
const CUTOFF: f64 = 0.6;

/// The nearest spelling, and what there is.
#[must_use]
pub fn suggest(word: &str, known: &[&str]) -> String {
    let meant = meant(word, known, if known.len() <= MAX_LISTED { 1 } else { 6 });
    format!("{meant}{}", there_is(word, known))
}

/// What there is.
#[must_use]
pub fn there_is(word: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return "it takes no options".into();
    }
    let family = |name: &str| name.split('.').next() == word.split('.').next();
    let mut listed: Vec<_> = known.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    if listed.len() > MAX_LISTED {
        if listed.iter().any(|name| family(name)) {
            listed.retain(|name| family(name));
        }
        listed.truncate(MAX_LISTED);
    }
    let more = known.len().saturating_sub(listed.len());
    let more = if more > 0 { format!(", and {} more", crate::limits::grouped(more)) } else { String::new() };
    format!("there is: {}{more}", listed.join(", "))
}

/// The question whether one of the nearest names is meant; empty if none is near.
#[must_use]
pub fn meant(word: &str, known: &[&str], most: usize) -> String {
    let mut near: Vec<_> =
        known.iter().map(|name| (likeness(word, name), *name)).filter(|(like, _)| *like >= CUTOFF).collect();
    near.sort_by(|(one, first), (other, second)| other.total_cmp(one).then(first.cmp(second)));
    let names: Vec<_> = near.iter().take(most).map(|(_, name)| format!("'{name}'")).collect();
    if names.is_empty() { String::new() } else { format!("did you mean {}? ", names.join(" or ")) }
}

/// From 0 to 1: how little must change. Swapped neighbours count as one change; case does not matter much.
fn likeness(word: &str, name: &str) -> f64 {
    // Long words are compared by their beginning, so that a file from a stranger takes no time with their product.
    let word: String = word.chars().take(80).collect();
    let exact = strsim::normalized_damerau_levenshtein(&word, name);
    let folded = strsim::normalized_damerau_levenshtein(&word.to_lowercase(), &name.to_lowercase());
    exact.max(folded - 0.01)
}
