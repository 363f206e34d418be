//! The qdiscs and classes of a tc script as a tree: the rate that each lets through, and where netems are.

use super::shaping::shaped_rate;
use dumbbell_core::tc::disciplines::{KERNEL_ONLY, SIMULATED};
use dumbbell_core::tc::quantity::rate_bps;
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
    /// The tree as the script leaves it: of two commands for one location the later counts.
    pub fn read(lines: &[Vec<String>]) -> Self {
        let nodes = nodes(lines);
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

/// Whether a word is the name of a qdisc.
pub(super) fn is_kind(word: &str) -> bool {
    word == "police" || SIMULATED.iter().chain(KERNEL_ONLY).any(|(kind, _)| *kind == word)
}

/// A script's word after `name`.
pub(super) fn word_after<'a>(words: &'a [String], name: &str) -> Option<&'a str> {
    let position = words.iter().position(|word| word == name)?;
    words.get(position + 1).map(String::as_str)
}

/// A handle as tc prints it: of `01:1` tc takes `1:` (`get_qdisc_handle` in `tc/tc_util.c`).
pub(super) fn handle(word: &str) -> String {
    let major = word.split(':').next().unwrap_or_default();
    format!("{}:", hexadecimal(major))
}

/// A class id as tc prints it: `1:0` and `01:` are `1:`.
fn normal(word: &str) -> String {
    let (major, minor) = word.split_once(':').unwrap_or((word, ""));
    let minor = if minor.trim_matches('0').is_empty() { String::new() } else { hexadecimal(minor) };
    format!("{}:{minor}", hexadecimal(major))
}

fn hexadecimal(digits: &str) -> String {
    let digits = digits.trim_start_matches('0').to_ascii_lowercase();
    if digits.is_empty() { "0".into() } else { digits }
}

fn nodes(lines: &[Vec<String>]) -> Vec<Node> {
    let mut nodes = Vec::<Node>::new();
    let mut index = BTreeMap::<String, usize>::new();
    let mut put = |node: Node| {
        if let Some(known) = index.get(&node.location) {
            nodes[*known] = node;
        } else {
            index.insert(node.location.clone(), nodes.len());
            nodes.push(node);
        }
    };
    let is = |words: &[String], subject: &str| words.get(1).is_some_and(|word| word == subject);
    let mut classes = Vec::<(String, &Vec<String>)>::new();
    let mut positions = BTreeMap::<String, usize>::new();
    for words in lines.iter().filter(|words| is(words, "class")) {
        let Some(id) = word_after(words, "classid").map(normal) else { continue };
        if let Some(known) = positions.get(&id) {
            classes[*known].1 = words;
        } else {
            positions.insert(id.clone(), classes.len());
            classes.push((id, words));
        }
    }
    for words in lines.iter().filter(|words| is(words, "qdisc")) {
        let (Some(handle), Some(kind)) = (word_after(words, "handle").map(handle), kind_position(words)) else {
            continue;
        };
        put(Node {
            location: handle,
            parent: parent(words, &positions),
            is_class: false,
            is_netem: words[kind] == "netem",
            rate_bps: shaped_rate(&words[kind], words[kind + 1..].iter().map(String::as_str)),
        });
    }
    for (location, words) in classes {
        let limit = word_after(words, "ceil").or_else(|| word_after(words, "rate"));
        let rate_bps = limit.and_then(|limit| rate_bps(limit).ok());
        put(Node { location, parent: parent(words, &positions), is_class: true, is_netem: false, rate_bps });
    }
    nodes
}

/// Position of a qdisc's kind in its command.
pub(super) fn kind_position(words: &[String]) -> Option<usize> {
    words.iter().position(|word| is_kind(word))
}

/// The class above, or else the qdisc; a band such as `10:1` of a tbf belongs to `10:`.
fn parent(words: &[String], classes: &BTreeMap<String, usize>) -> String {
    let Some(location) = word_after(words, "parent").map(normal) else { return "root".into() };
    if classes.contains_key(&location) { location } else { handle(&location) }
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

/// The location and all above it, each once: a script may name a location as its own parent, which tc refuses.
fn up<'a>(nodes: &'a [Node], index: &Index<'_>, location: &str) -> impl Iterator<Item = &'a Node> {
    let mut passed = BTreeSet::new();
    let mut next = index.get(location).copied();
    std::iter::from_fn(move || {
        let position = next.filter(|position| passed.insert(*position))?;
        next = index.get(&nodes[position].parent[..]).copied();
        Some(&nodes[position])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(lines: &[&str]) -> ScriptTree {
        let lines: Vec<Vec<String>> = lines.iter().map(|line| line.split(' ').map(String::from).collect()).collect();
        ScriptTree::read(&lines)
    }

    #[test]
    fn a_handle_is_as_tc_prints_it() {
        assert_eq!(
            (handle("01:0"), handle("0"), normal("0A:10"), normal("1:0")),
            ("1:".into(), "0:".into(), "a:10".into(), "1:".into())
        );
    }

    #[test]
    fn the_lowest_limit_on_the_way_up_counts() {
        let found = tree(&[
            "tc qdisc add dev d root handle 1: htb",
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
    fn of_two_commands_for_one_location_the_later_counts() {
        let found = tree(&[
            "tc qdisc add dev d root handle 1: tbf rate 9mbit burst 3kb limit 9kb",
            "tc qdisc add dev d parent 1:1 handle 2: pfifo limit 10",
            "tc qdisc replace dev d root handle 1: tbf rate 6mbit burst 3kb limit 9kb",
        ]);
        assert_eq!(found.capped_bps("2:"), Some(6_000_000));
    }

    #[test]
    fn a_location_below_itself_ends() {
        let found = tree(&["tc qdisc add dev d parent 1:1 handle 1: tbf rate 1mbit burst 3kb limit 9kb"]);
        assert_eq!(found.capped_bps("1:"), Some(1_000_000));
    }
}
