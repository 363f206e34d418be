//! The qdiscs and classes of a tc script as a tree: the rate that each lets through, and where netems are.

use super::shaping::shaped_rate;
use dumbbell_tc::quantity::rate_bps;
use dumbbell_tc::tree::{Place, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// A qdisc (`1:`) or an htb class (`1:10`).
#[derive(Debug)]
struct Node {
    location: String,
    parent: String,
    is_class: bool,
    is_netem: bool,
    /// Its own limit: `ceil` of a class, or else its `rate`.
    rate_bps: Option<u64>,
}

/// What is known of each location, by handle.
#[derive(Debug, Default)]
pub(super) struct ScriptTree {
    caps_bps: BTreeMap<String, Option<u64>>,
    netems: BTreeSet<String>,
}

impl ScriptTree {
    /// What a tree lets through.
    pub fn of(tree: &Tree) -> Self {
        let nodes: Vec<_> = tree.places().map(node).collect();
        let index = nodes.iter().enumerate().map(|(index, node)| (&node.location[..], index)).collect();
        let mut tree = Self { caps_bps: caps(&nodes, &index), netems: BTreeSet::new() };
        for node in nodes.iter().filter(|node| node.is_netem) {
            tree.netems.extend(up(&nodes, &index, &node.location).map(|above| above.location.clone()));
        }
        tree
    }

    /// The lowest limit of a qdisc, of the sum of its classes, and of all above it; None: no limit.
    ///
    /// Traffic that no filter assigns to a class passes htb without a limit, and is not counted.
    pub fn capped_bps(&self, handle: &str) -> Option<u64> {
        self.caps_bps.get(handle).copied().flatten()
    }

    /// Whether there is a netem at this location or below it.
    pub fn holds_netem(&self, handle: &str) -> bool {
        self.netems.contains(handle)
    }
}

fn node(place: Place<'_>) -> Node {
    let words = || place.options.iter().map(String::as_str);
    let after = |name: &str| words().skip_while(|word| *word != name).nth(1);
    // Of hfsc only the upper limit limits.
    let upper = || words().skip_while(|word| *word != "ul").skip_while(|word| !matches!(*word, "m2" | "rate")).nth(1);
    let limit = || if place.kind == "hfsc" { upper() } else { after("ceil").or_else(|| after("rate")) };
    let class_rate = || limit().and_then(|limit| rate_bps(limit).ok());
    Node {
        rate_bps: if place.is_class { class_rate() } else { shaped_rate(place.kind, words()) },
        is_netem: place.kind == "netem",
        is_class: place.is_class,
        parent: place.parent.unwrap_or_default(),
        location: place.location,
    }
}

type Index<'a> = BTreeMap<&'a str, usize>;

/// Every location's limit: its own, the sum of its classes if it is a qdisc, its parent's.
fn caps(nodes: &[Node], index: &Index<'_>) -> BTreeMap<String, Option<u64>> {
    let mut classes = BTreeMap::<&str, Option<u64>>::new();
    for class in nodes.iter().filter(|node| node.is_class) {
        let sum = classes.entry(&class.parent).or_insert(Some(0));
        *sum = sum.zip(class.rate_bps).map(|(sum, rate)| sum.saturating_add(rate));
    }
    let mut caps = BTreeMap::<String, Option<u64>>::new();
    for node in nodes {
        let way: Vec<_> =
            up(nodes, index, &node.location).take_while(|above| !caps.contains_key(&above.location)).collect();
        for each in way.into_iter().rev() {
            let sum = if each.is_class { None } else { classes.get(&each.location[..]).copied().flatten() };
            let above = caps.get(&each.parent).copied().flatten();
            let cap = [each.rate_bps, sum, above].into_iter().flatten().min();
            caps.insert(each.location.clone(), cap);
        }
    }
    caps
}

/// The location and all above it.
fn up<'a>(nodes: &'a [Node], index: &Index<'_>, location: &str) -> impl Iterator<Item = &'a Node> {
    let find = |location: &str| index.get(location).map(|position| &nodes[*position]);
    std::iter::successors(find(location), move |node| find(&node.parent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_tc::Command;

    fn tree(lines: &[&str]) -> ScriptTree {
        let mut tree = Tree::of_script();
        for line in lines {
            tree.execute(&Command::of_line(line.trim_start_matches("tc ")).expect(line)).expect(line);
        }
        ScriptTree::of(&tree)
    }

    #[test]
    fn the_lowest_limit_on_the_way_up_counts() {
        let found = tree(&[
            "tc qdisc add dev d root handle 01: htb",
            "tc class add dev d parent 1: classid 1:1 htb rate 10mbit",
            "tc class add dev d parent 1: classid 1:2 htb rate 1mbit ceil 2mbit",
            "tc qdisc add dev d parent 1:2 handle 20: netem delay 1ms",
        ]);
        assert_eq!(found.capped_bps("1:"), Some(12_000_000));
        assert_eq!(found.capped_bps("20:"), Some(2_000_000));
        assert!(found.holds_netem("1:") && found.holds_netem("20:"));
        assert!(!found.holds_netem("1:1"));
    }

    #[test]
    fn what_was_deleted_limits_nothing() {
        let found = tree(&[
            "tc qdisc add dev d root handle 1: htb",
            "tc class add dev d parent 1: classid 1:1 htb rate 9mbit",
            "tc class add dev d parent 1: classid 1:2 htb rate 1mbit",
            "tc qdisc add dev d parent 1:1 handle 20: netem delay 1ms",
            "tc class change dev d classid 1:1 htb rate 6mbit",
            "tc qdisc del dev d parent 1:1",
            "tc class del dev d classid 1:2",
        ]);
        assert_eq!(found.capped_bps("1:"), Some(6_000_000));
        assert!(!found.holds_netem("1:"));
    }
}
