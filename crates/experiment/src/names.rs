//! Names that no two groups share: one that is taken gets a number.

use std::collections::{HashMap, HashSet};

/// Each name as it is wanted, or, where it is taken, numbered after those that begin with it before a dash.
#[must_use]
pub fn numbered<'a>(wanted: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut taken: HashSet<String> = HashSet::new();
    // Of each beginning how many names have it: the first number that may be free is one more.
    let mut counts: HashMap<String, usize> = HashMap::new();
    for each in wanted {
        let first = counts.get(each).map_or(1, |count| count + 1);
        let mut name = each.to_owned();
        let mut number = first;
        while taken.contains(&name) {
            name = format!("{each}-{number}");
            number += 1;
        }
        for beginning in name.match_indices('-').map(|(at, _)| &name[..at]).chain([&name[..]]) {
            *counts.entry(beginning.to_owned()).or_default() += 1;
        }
        taken.insert(name.clone());
        names.push(name);
    }
    names
}
