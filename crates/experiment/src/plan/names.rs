//! Names that differ: a duplicate gets a number.

use super::error::Error;
use dumbbell_plan::Queue;
use std::collections::BTreeSet;

/// The name itself, or if it is taken the first of NAME-`first`, NAME-`first + 1` and so on that is not.
pub(super) fn free_name(wanted: &str, is_taken: impl Fn(&str) -> bool, first: usize) -> String {
    if !is_taken(wanted) {
        return wanted.into();
    }
    (first..=usize::MAX).map(|number| format!("{wanted}-{number}")).find(|name| !is_taken(name)).unwrap_or_default()
}

/// Refuses two queues with the same name.
///
/// # Errors
///
/// Two queues have the same name.
pub(super) fn refuse_duplicates(queues: &[Queue]) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for queue in queues {
        if !seen.insert(&queue.name) {
            let problem = "two queues of one name: the path has one that is called so by itself";
            return Err(Error::at("path.links", problem, "another name for the link").with(queue.name.as_str()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_gets_the_first_free_number() {
        let taken = ["a", "a-2"];
        assert_eq!(free_name("a", |name| taken.contains(&name), 2), "a-3");
        assert_eq!(free_name("b", |name| taken.contains(&name), 2), "b");
    }
}
