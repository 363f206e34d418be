//! Groups whose route changes during the run.
//!
//! ```text
//!   sender3 -- fork3 --+--- router --- after1 --- exit --- receiver
//!                      |       |          |        |
//!                      +-------|--(joins) |     (leaves)
//!                              +----------+--------+--- merge3 --- receiver3
//! ```
//!
//! Such a group has hosts of its own. A host in front of its joins and one behind its leaves have a link for each place
//! where one of its routes joins or leaves the path. A change of the route replaces the routes to the group's two ends
//! at these hosts and where they are attached; addresses and sockets stay.

use super::building::Building;
use super::crossings::{Crossing, Way};
use crate::model::Path;
use dumbbell_plan::operation::{Network, Route};
use dumbbell_plan::{Link, Operation, Step};

/// The last host of a path on which a group's route changes, in front of the receivers.
pub(super) const EXIT: &str = "exit";

impl Building<'_> {
    /// The routes that changes give this group, in the order of time.
    pub fn later_routes(&self, number: usize) -> impl Iterator<Item = &[String]> {
        let name = &self.group_names[number];
        let of_group =
            self.changes.iter().map(|(_, change)| change).filter(move |each| each.group.as_ref() == Some(name));
        of_group.filter_map(|change| change.route.as_deref())
    }

    /// Whether a change gives any group another route.
    pub fn changes_routes(&self) -> bool {
        self.changes.iter().any(|(_, change)| change.route.is_some())
    }
}

/// First and last link of a route; None: the path's beginning and its end.
pub(super) fn ends_of<'a>(route: &'a [String], path: &Path) -> (Option<&'a str>, Option<&'a str>) {
    let row = path.link_names();
    let first = route.first().filter(|first| row.first() != Some(&&first[..]));
    let last = route.last().filter(|last| row.last() != Some(&&last[..]));
    (first.map(String::as_str), last.map(String::as_str))
}

/// Each position once, in the order of the ways.
pub(super) fn distinct(positions: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut found = Vec::new();
    for position in positions {
        if !found.contains(&position) {
            found.push(position);
        }
    }
    found
}

/// The routes of all groups at the start.
pub(super) fn first_routes(building: &Building<'_>) -> Vec<Step> {
    let crossings = &building.crossings;
    crossings.of_group.values().flat_map(|crossing| routes(building, crossing, crossing.ways[0])).collect()
}

/// The routes that change when a group goes another way.
pub(super) fn changed_routes(building: &Building<'_>, crossing: &Crossing, from: Way, to: Way) -> Vec<Step> {
    let before = routes(building, crossing, from);
    let after = routes(building, crossing, to).into_iter();
    after.zip(before).filter(|(after, before)| after.operation != before.operation).map(|(after, _)| after).collect()
}

/// The routes of one way, always of the same hosts in the same order.
fn routes(building: &Building<'_>, crossing: &Crossing, (join, leave): Way) -> Vec<Step> {
    let Crossing { sender, fork, merge, receiver, ways } = crossing;
    let (row, layout) = (&building.crossings.row, &building.layout);
    let link = |left: &str, right: &str| {
        let found = layout.wires.iter().find(|wire| wire.left_host == left && wire.right_host == right);
        found.expect("the layout has it")
    };
    let data = layout.lefts_of(receiver).next().map(Link::right_address).expect("a receiver has a link");
    let answers = layout.right_of(sender).left_address();
    let mut steps = Vec::new();
    let mut add = |host: &str, to, via| {
        let to = Network { address: to, prefix: 32 };
        let route = Route { replaces: true, via: Some(via), ..Route::to(to) };
        steps.push(Step::new(host, Operation::Route(route)));
    };
    add(fork, data, link(fork, &row[join]).right_address());
    for at in distinct(ways.iter().map(|way| way.0)) {
        let is_passed = join < at;
        let before = if is_passed { link(&row[at - 1], &row[at]) } else { link(fork, &row[at]) };
        add(&row[at], answers, before.left_address());
    }
    for at in distinct(ways.iter().map(|way| way.1)) {
        let is_passed = leave > at;
        let next = if is_passed { link(&row[at], &row[at + 1]) } else { link(&row[at], merge) };
        add(&row[at], data, next.right_address());
    }
    add(merge, answers, link(&row[leave], merge).left_address());
    steps
}
