//! Options that tc takes once.

use super::Wrong;
use super::grammar::Options;
use super::quantity::{bytes, rate, time_ns};
use dumbbell_net::rate::Rate;

/// Refuses an option that is written again; the names in a row are synonyms. A zero counts as not written.
///
/// # Errors
///
/// Such an option.
pub(crate) fn refuse_repeated(kind: &str, options: &Options<'_>, once: &[&[&str]]) -> Result<(), Wrong> {
    for names in once {
        let mut written = options.iter().filter(|(name, _)| names.contains(name));
        let first = written.find(|(_, arguments)| !is_zero(arguments));
        if let (Some((first, _)), Some((again, _))) = (first, written.next()) {
            let twice = if first == again { format!("'{first}' twice") } else { format!("'{first}' and '{again}'") };
            return Err(Wrong::new(format!("{kind} has {twice}"), "give one of them"));
        }
    }
    Ok(())
}

fn is_zero(arguments: &[&str]) -> bool {
    let word = arguments.first().copied().unwrap_or_default();
    rate(word) == Ok(Rate::ZERO) || time_ns(word) == Ok(0) || bytes(word) == Ok(0)
}
