//! The hosts of groups whose route changes: [`super::routes`] says what they are for.

use std::collections::BTreeMap;

/// Where a route joins the path and where it leaves it, as positions in the row of hosts.
pub(super) type Way = (usize, usize);

/// The hosts of a group whose route changes.
#[derive(Clone, Debug)]
pub(super) struct Crossing {
    pub sender: String,
    pub fork: String,
    pub merge: String,
    pub receiver: String,
    /// Its ways: at first, then as the changes name them.
    pub ways: Vec<Way>,
}

/// All of them, and the row of hosts from left to right.
#[derive(Clone, Debug, Default)]
pub(super) struct Crossings {
    pub row: Vec<String>,
    /// By number of the group.
    pub of_group: BTreeMap<usize, Crossing>,
}
