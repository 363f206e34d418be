//! What tc or Linux refuses: `tests/engines/test_tc_refuses.py` compares drawn commands in a guest.

use super::tree::Tree;
use super::{Command, Device, Wrong};
use std::collections::BTreeMap;

const QDISC: &str = "qdisc add dev v0 root handle 1: ";
const CHANGE: &str = "qdisc change dev v0 root handle 1: ";
const HTB_CLASS: &str = "class add dev v0 parent 1: classid 1:1 htb rate 1mbit ";
const POLICE: &str = "filter add dev v0 parent 1: matchall flowid 1:1 action police ";

fn tree(lines: &[&str]) -> Tree {
    let mut tree = Tree::new(Device { mtu: 1514, queue_length: 1000, seeds: BTreeMap::new() });
    for line in lines {
        execute(&mut tree, line).unwrap();
    }
    tree
}

fn execute(tree: &mut Tree, line: &str) -> Result<(), Wrong> {
    tree.execute(&Command::of_line(line)?).map(|_| ())
}

/// The refusal of a root qdisc; empty if it is accepted.
fn refusal(qdisc: &str) -> String {
    refusal_after(&[], &[QDISC, qdisc].concat())
}

fn refusal_after(before: &[&str], line: &str) -> String {
    let wrong = execute(&mut tree(before), line).err();
    assert!(wrong.as_ref().is_none_or(|wrong| !wrong.is_lacking), "{line}: {wrong:?}");
    wrong.map(|wrong| wrong.to_string()).unwrap_or_default()
}

fn expect(cases: &[(&str, &str)]) {
    for (qdisc, wanted) in cases {
        assert_eq!(refusal(qdisc), *wanted, "{qdisc}");
    }
}

#[test]
fn tbf_needs_one_limit_above_zero() {
    let none = "tbf needs a 'limit' or a 'latency' above 0; such as limit 225000 or latency 50ms";
    let both = "tbf takes either 'limit' or 'latency'; give one of them";
    expect(&[
        ("tbf rate 1mbit burst 5kb latency 0s", none),
        ("tbf rate 1mbit burst 5kb limit 0", none),
        ("tbf rate 1mbit burst 5kb limit 5kb latency 0s", both),
        ("tbf rate 1mbit burst 5kb limit 5kb latency 3ms", both),
        ("tbf rate 1mbit burst 5kb latency 0s limit 5kb", ""),
        ("tbf rate 1mbit burst 5kb limit 0 latency 3ms", ""),
        (
            "tbf rate 100gbit burst 5kb latency 4s",
            "tbf's limit of 50000005120 bytes by its latency does not fit 32 bits; a shorter latency",
        ),
    ]);
}

#[test]
fn tbf_has_no_option_twice_unless_the_first_is_zero() {
    expect(&[
        ("tbf rate 1mbit rate 2mbit burst 5kb limit 9kb", "tbf has 'rate' twice; give one of them"),
        ("tbf rate 1mbit burst 5kb buffer 6kb limit 9kb", "tbf has 'burst' and 'buffer'; give one of them"),
        ("tbf rate 1mbit burst 5kb limit 9kb latency 3ms latency 3ms", "tbf has 'latency' twice; give one of them"),
        ("tbf rate 1mbit burst 5kb limit 9kb mtu 5 minburst 0", "tbf has 'mtu' and 'minburst'; give one of them"),
        ("tbf rate 1mbit burst 0 burst 5kb limit 9kb mtu 0 mtu 5", ""),
        ("tbf rate 7bit burst 5kb limit 9kb rate 1mbit", ""),
        // Less than a byte per second is no peak rate.
        ("tbf rate 1mbit burst 5kb limit 9kb peakrate 7bit", ""),
    ]);
    let before = [&[QDISC, "tbf rate 1mbit burst 5kb limit 9kb"].concat()[..]];
    let change = [CHANGE, "tbf rate 1mbit burst 5kb limit 9kb peakrate 2mbit"].concat();
    assert_eq!(refusal_after(&before, &change), "tbf's 'peakrate' needs 'mtu'; such as mtu 1540");
}

#[test]
fn netem_takes_the_limits_of_a_slot_right_behind_its_times() {
    let misplaced = |name: &str| {
        let problem = "must be right behind a slot's times, packets before bytes";
        format!("netem's {name} {problem}; such as slot 5ms packets 16 bytes 20000")
    };
    expect(&[
        ("netem slot 5ms packets 5 bytes 5", ""),
        ("netem slot 5ms 7ms bytes 5", ""),
        ("netem slot 5ms bytes 5 packets 5", &misplaced("packets")),
        ("netem packets 5 slot 5ms", &misplaced("packets")),
        ("netem slot 5ms limit 5 bytes 5", &misplaced("bytes")),
        (
            "netem slot 5ms packets 2147483648",
            "netem's slot takes at most 2147483647 packets, got 2147483648; at most 2147483647, or 0 for no limit",
        ),
    ]);
}

#[test]
fn netem_refuses_what_its_clock_or_its_numbers_do_not_hold() {
    let clock = |word: &str| format!("netem's delay of {word} does not fit tc's clock; at most 274877906us");
    let overhead = "netem's overhead of 2147483648 does not fit 31 bits; at most 2147483647";
    expect(&[
        ("netem delay 274877906us", ""),
        ("netem delay 274877907us", &clock("274877907us")),
        ("netem delay 1ms 275s", &clock("275s")),
        ("netem rate 1mbit 2147483648", overhead),
        ("netem rate 1mbit 1 4294967295", ""),
        ("netem rate 1mbit 1 1 2147483648", overhead),
        ("netem delay 0s reorder 5%", "netem's reorder needs a delay; such as delay 5ms reorder 25%"),
        ("netem loss 1% drop 2%", "netem has two losses; give one 'loss'"),
        ("netem loss 0% ecn", "netem's ecn needs a loss above 0%; such as loss 1% ecn"),
    ]);
}

#[test]
fn a_later_delay_keeps_the_jitter_of_an_earlier_one() {
    let root = |qdisc: &str| format!("{:?}", tree(&[&[QDISC, qdisc].concat()]).root());
    assert_eq!(root("netem delay 1ms 2ms latency 3ms"), root("netem delay 3ms 2ms"));
    assert_ne!(root("netem delay 1ms 2ms latency 3ms"), root("netem delay 3ms"));
}

#[test]
fn numbers_without_units_and_rates_of_32_bits() {
    let rate =
        |kind: &str, name: &str| format!("{kind}'s {name} of 40gbit does not fit 32 bits; at most 34.359738360gbit");
    expect(&[
        ("fq quantum 2kb", "fq: 'quantum' takes a count, got '2kb'; such as 10"),
        ("fq_codel quantum 2kb", "fq_codel: 'quantum' takes a count, got '2kb'; such as 10"),
        ("fq maxrate 40gbit", &rate("fq", "maxrate")),
        ("fq low_rate_threshold 40gbit", &rate("fq", "low_rate_threshold")),
        ("choke limit 400 bandwidth 40gbit", &rate("choke", "bandwidth")),
        ("red limit 400000 avpkt 1000 bandwidth 40gbit", &rate("red", "bandwidth")),
        ("red limit 400000 avpkt 1000 bandwidth 7bit", ""),
        (
            "choke limit 400 bandwidth 7bit",
            "choke needs 'limit' and 'bandwidth'; such as choke limit 200 bandwidth 20mbit",
        ),
        ("fq timer_slack 4294967295ns", ""),
        ("fq timer_slack 4295ms", "fq's timer_slack of 4295ms does not fit 32 bits; at most 4294967295ns"),
        ("fq_codel flows 0", ""),
        (
            "choke burst 131071 limit 256 bandwidth 1mbit",
            "choke's thresholds are too large for its weight; a smaller burst",
        ),
        ("sfb max 4294967295", ""),
    ]);
}

#[test]
fn a_priomap_names_bands_that_are_known_before_it() {
    let late = "prio's priomap names band 3 of 3; bands are numbered from 0: write 'bands' before 'priomap'";
    expect(&[("prio priomap 1 3 bands 15", late), ("prio bands 15 priomap 1 3", "")]);
}

#[test]
fn a_guests_kernel_has_no_connection_tracking() {
    let hint = "needs a kernel that tracks connections; leave it out: there is no NAT here";
    expect(&[("cake nat", &format!("cake's 'nat' {hint}")), ("cake nonat", &format!("cake's 'nonat' {hint}"))]);
}

#[test]
fn a_change_that_sends_nothing_is_accepted() {
    for (kind, option) in [("drr", ""), ("pfifo_fast", ""), ("sfq", " limit 100")] {
        let before = [&[QDISC, kind].concat()[..]];
        assert_eq!(refusal_after(&before, &[CHANGE, kind].concat()), "", "{kind}");
        if !option.is_empty() {
            assert_ne!(refusal_after(&before, &[CHANGE, kind, option].concat()), "", "{kind}");
        }
    }
}

#[test]
fn a_class_of_htb_takes_plain_numbers_and_buckets_that_fit_the_clock() {
    let before = [&[QDISC, "htb"].concat()[..]];
    let refused = |words: &str| refusal_after(&before, &[HTB_CLASS, words].concat());
    assert_eq!(refused("quantum 2kb"), "htb: 'quantum' takes a count, got '2kb'; such as 10");
    assert_eq!(refused("mtu 2kb"), "htb: 'mtu' takes a count, got '2kb'; such as 10");
    assert_eq!(
        refused("burst 40mb"),
        "htb's burst of 41943040 bytes at 125000 bytes per second does not fit tc's clock; at most 34359738 bytes, which last 274 s"
    );
    assert_eq!(refused("ceil 1mbit ceil 2mbit"), "htb has 'ceil' twice; give one of them");
    let mut tree = tree(&before);
    let refused = execute(&mut tree, &[HTB_CLASS, "mpu 65536"].concat()).unwrap_err();
    assert_eq!(refused.to_string(), "htb's mpu of 65536 does not fit 16 bits; at most 65535");
}

#[test]
fn a_policer_needs_a_table_of_cells_of_two_bytes() {
    let before = [&[QDISC, "prio"].concat()[..]];
    let refused = |words: &str| refusal_after(&before, &[POLICE, words].concat());
    assert_eq!(
        refused("rate 1mbit burst 5kb mtu 255"),
        "police's mtu of 255 is too small for the kernel; at least 256"
    );
    assert_eq!(refused("rate 1mbit burst 5kb mtu 256 drop"), "");
    assert_eq!(refused("rate 1mbit burst 5kb burst 6kb"), "police has 'burst' twice; give one of them");
    assert_eq!(refused("rate 1mbit burst 5kb peakrate 2mbit"), "police's 'peakrate' needs 'mtu'; such as mtu 1514");
    assert_eq!(
        refused("rate 1kbit burst 3mb drop"),
        "police's burst of 3145728 bytes at 125 bytes per second does not fit tc's clock; at most 34359 bytes, which last 274 s"
    );
}

/// An htb with two classes, a netem in the first, and filters by mark.
const TWO_CLASSES: [&str; 6] = [
    "qdisc add dev v0 root handle 1: htb default 20",
    "class add dev v0 parent 1: classid 1:10 htb rate 1mbit",
    "class add dev v0 parent 1: classid 1:20 htb rate 2mbit",
    "qdisc add dev v0 parent 1:10 handle 10: netem loss 10%",
    "filter add dev v0 parent 1: prio 1 handle 1 fw flowid 1:10",
    "filter add dev v0 parent 1: prio 1 handle 2 fw flowid 1:20",
];

fn same(lines: &[&str], others: &[&str]) {
    let shown = |lines: &[&str]| format!("{:?}", tree(&[&TWO_CLASSES, lines].concat()).root());
    assert_eq!(shown(lines), format!("{:?}", tree(others).root()), "{lines:?}");
    assert_ne!(shown(lines), shown(&[]), "{lines:?}");
}

#[test]
fn what_is_deleted_leaves_the_tree_as_if_it_had_not_been_added() {
    let [htb, first, second, _, one, two] = TWO_CLASSES;
    same(&["qdisc del dev v0 parent 1:10"], &[htb, first, second, one, two]);
    same(&["qdisc del dev v0 parent 1:10 handle 10: netem loss 10%"], &[htb, first, second, one, two]);
    same(&["filter del dev v0 parent 1: prio 1", "class del dev v0 classid 1:10"], &[htb, second]);
    same(&["filter del dev v0 parent 1:", "class del dev v0 classid 1:10"], &[htb, second]);
    same(&["filter del dev v0 parent 1: prio 1 handle 1 fw", "class del dev v0 classid 1:10"], &[htb, second, two]);
    same(&["qdisc del dev v0 root"], &[]);
    let pfifo = "qdisc add dev v0 root handle 5: pfifo";
    same(&["qdisc del dev v0 root handle 1: htb", pfifo], &[pfifo]);
    let other = "filter replace dev v0 parent 1: prio 1 handle 2 fw flowid 1:10";
    same(&[other], &[&TWO_CLASSES[..5], &[&other.replace("replace", "add")[..]]].concat());
}

#[test]
fn only_what_is_there_is_deleted_or_changed() {
    let none = "the place of one that was added before";
    for (line, wanted) in [
        ("qdisc del dev v0 parent 1:20", format!("there is no discipline at '1:20' to delete; {none}")),
        ("qdisc del dev v0 parent 1:30", "no class 1:30; add it first".into()),
        ("qdisc del dev v0 parent 7:1", "no discipline of handle 7:; set up the parent first".into()),
        (
            "qdisc del dev v0 handle 10:",
            "a discipline to delete without its place; root or parent: tc qdisc del … parent 1:10".into(),
        ),
        ("qdisc del dev v0 root handle 2:", "the discipline at 'root' is 1:, not 2:; handle 1:, or no handle".into()),
        ("qdisc del dev v0 root prio", "the discipline at 'root' is a htb; its kind, or no kind".into()),
        ("class del dev v0 classid 1:30", "there is no class 1:30 to delete; a class that was added before".into()),
        ("class del dev v0 classid 1:10", "filters give packets to class 1:10; tc filter del them first".into()),
        (
            "filter del dev v0 parent 1: prio 2",
            "there is no such filter to delete; a filter that was added before".into(),
        ),
        (
            "filter del dev v0 parent 1: prio 1 handle 3 fw",
            "there is no such filter to delete; a filter that was added before".into(),
        ),
        ("filter del dev v0 parent 1: handle 1 fw", "a filter to delete without its priority; such as prio 1".into()),
        (
            "filter add dev v0 parent 1: prio 1 handle 2 fw flowid 1:10",
            "there is such a filter of priority 1 already; tc filter replace, or tc filter del first".into(),
        ),
        ("qdisc change dev v0 root handle 1: prio", "no prio to change at 'root'; tc qdisc add or replace".into()),
        (
            "qdisc change dev v0 parent 1:20 handle 9: pfifo",
            "no pfifo to change at '1:20'; tc qdisc add or replace".into(),
        ),
        (
            "qdisc replace dev v0 root handle 1: prio",
            "1: is a htb, not a prio; tc qdisc del first, or replace with another handle".into(),
        ),
        ("class change dev v0 parent 1: classid 1:30 htb rate 1mbit", "no class 1:30 to change; tc class add".into()),
    ] {
        assert_eq!(refusal_after(&TWO_CLASSES, line), wanted, "{line}");
    }
    let inner = [&TWO_CLASSES[..1], &["class add dev v0 parent 1: classid 1:1 htb rate 5mbit"]].concat();
    let inner = [&inner[..], &["class add dev v0 parent 1:1 classid 1:2 htb rate 5mbit"]].concat();
    let refused = refusal_after(&inner, "class del dev v0 classid 1:1");
    assert_eq!(refused, "class 1:1 has classes below it; tc class del those first");
}

#[test]
fn a_script_may_hold_what_only_a_kernel_has() {
    let mut tree = Tree::of_script();
    for line in [
        "qdisc add dev v0 root handle 1: prio",
        "qdisc add dev v0 parent 1:1 handle 2: skbprio limit 5",
        "qdisc add dev v0 parent 1:2 handle 3: tbf rate 1mbit burst 5kb limit 9kb",
        "qdisc add dev v0 parent 3:1 handle 4: netem loss 1% ecn",
        "filter add dev v0 parent 1: prio 1 u32 match ip dst 10.0.0.1/32 flowid 1:1",
        "qdisc change dev v0 root handle 1: prio bands 5",
        "qdisc del dev v0 parent 3:1",
        "filter del dev v0 parent 1:",
    ] {
        execute(&mut tree, line).expect(line);
    }
    let kinds: Vec<_> = tree.places().map(|place| place.kind.to_string()).collect();
    assert_eq!(kinds, ["prio", "skbprio", "tbf"]);
    assert!(execute(&mut tree, "qdisc del dev v0 parent 2:1").is_err());
}
