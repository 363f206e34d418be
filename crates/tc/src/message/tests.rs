//! Messages against tc's own (iproute2 6.1, `strace -e sendmsg`), and any words.

use super::*;
use crate::filters::message as filters;
use proptest::prelude::*;

fn message(line: &str) -> Result<Message, Wrong> {
    Message::of(&Command::of_line(line)?)
}

fn read(line: &str) -> Message {
    message(line).unwrap_or_else(|wrong| panic!("{line}: {wrong}"))
}

/// The attributes behind `TCA_KIND`.
fn options(line: &str, kind: &str) -> Vec<u8> {
    let message = read(line);
    message.attributes.as_bytes()[(5 + kind.len()).next_multiple_of(4)..].to_vec()
}

#[test]
fn a_message_has_device_handle_and_parent() {
    let message = read("qdisc add dev v0 parent 1:1a handle 10: pfifo limit 5");
    assert_eq!((message.device.as_str(), message.kind, message.flags), ("v0", 36, 0x600));
    let header = [0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0x10, 0, 0x1a, 0, 1, 0, 0, 0, 0, 0];
    assert_eq!(message.body(7)[..20], header);
    assert_eq!(message.body(7)[20..], [10, 0, 1, 0, b'p', b'f', b'i', b'f', b'o', 0, 0, 0, 8, 0, 2, 0, 5, 0, 0, 0]);
}

#[test]
fn options_are_the_bytes_that_tc_sends() {
    let prio = [28, 0, 2, 0, 3, 0, 0, 0, 1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 4, 0, 2, 0];
    assert_eq!(options("qdisc add dev v0 root handle 1: prio", "prio"), prio);
    let netem = [
        vec![44, 0, 2, 0, 0x5a, 0x62, 2, 0, 0xe8, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x7a, 0, 0],
        vec![16, 0, 1, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0],
    ];
    assert_eq!(options("qdisc add dev v0 root handle 1: netem delay 10ms 2ms 25%", "netem"), netem.concat());
    let cake = [24, 0, 2, 0, 12, 0, 2, 0, 0xd0, 0x12, 0x13, 0, 0, 0, 0, 0, 8, 0, 9, 0, 0, 0, 0, 0];
    assert_eq!(options("qdisc add dev v0 root handle 2: cake bandwidth 10mbit", "cake"), cake);
    let fq = "qdisc add dev v0 root handle 2: fq timer_slack 10us buckets 1024 horizon 1s";
    let attributes = [8, 0, 8, 0, 10, 0, 0, 0, 8, 0, 13, 0, 0x10, 0x27, 0, 0, 8, 0, 14, 0, 0x40, 0x42, 0x0f, 0];
    assert_eq!(options(fq, "fq"), [&[28, 0, 2, 0], &attributes[..]].concat());
    assert_eq!(options("qdisc add dev v0 root handle 2: sfq", "sfq"), []);
}

#[test]
fn a_correlation_of_duplication_alone_is_not_sent() {
    let plain = options("qdisc add dev v0 root handle 1: netem duplicate 1% 25%", "netem");
    assert_eq!(plain.len(), 28);
    assert_eq!(options("qdisc add dev v0 root handle 1: netem duplicate 1% 25% corrupt 1% 5%", "netem").len(), 28 + 28);
}

#[test]
fn a_port_is_matched_in_network_byte_order() {
    let line = "filter add dev v0 parent 1: protocol ip prio 1 u32 match ip dport 5201 0xffff flowid 1:1";
    assert_eq!(read(line).info, 1 << 16 | u32::from(0x0800_u16.to_be()));
    let key = [0, 0, 0xff, 0xff, 0, 0, 0x14, 0x51, 20, 0, 0, 0, 0, 0, 0, 0];
    let selector = [&[36, 0, 5, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &key[..]].concat();
    let class = [8, 0, 1, 0, 1, 0, 1, 0];
    assert_eq!(options(line, "u32"), [&[48, 0, 2, 0], &class[..], &selector[..]].concat());
}

#[test]
fn handles_are_those_that_tc_sends() {
    for (words, handle) in [
        ("route to 5", 0xFFFF_0005_u32),
        ("route from 5", 0x0005_8000),
        ("route to 0x10 from 010", 0x0008_0010),
        ("handle 5 route to 5", 5),
        ("handle 0x5 flower", 5),
        ("handle 5 matchall", 5),
        ("handle 800: u32 match ip dport 1 0xffff", 0x8000_0000),
        ("handle 0x800::7 u32 match ip dport 1 0xffff", 0x8000_0007),
        ("handle 1:2:3 u32 match ip dport 1 0xffff", 0x0010_2003),
        ("handle ::5 u32 match ip dport 1 0xffff", 5),
    ] {
        let message = read(&format!("filter add dev v0 parent 1: protocol ip prio 1 {words} flowid 1:1"));
        assert_eq!(message.body(1)[8..12], handle.to_ne_bytes(), "{words}");
    }
}

#[test]
fn what_only_tc_can_send_is_left_to_it() {
    for line in [
        "qdisc add dev v0 root handle 1: qfq",
        "qdisc change dev v0 root handle 1: netem delay 1ms 1ms distribution uniform",
        "qdisc add dev v0 root handle 1: netem loss 1% every 5",
        "qdisc add dev v0 handle 1: pfifo",
        "qdisc add root handle 1: pfifo",
        "qdisc add dev v0 root handle 10000: pfifo",
        "qdisc link dev v0 root",
        "filter del dev v0 parent 1: prio 1 handle 5 matchall",
        "filter add dev v0 parent 1: protocol ip prio 1 route to cosmos flowid 1:1",
        "filter add dev v0 parent 1: protocol ip prio 1 route to 5 order 3 flowid 1:1",
        "filter add dev v0 parent 1: protocol ip prio 1 u32 match u16 5 0xff at 8 flowid 1:1",
        "filter add dev v0 parent 1: protocol ip prio 1 handle 1 u32 match ip dport 1 0xffff flowid 1:1",
        "filter add dev v0 parent 1: protocol ip prio 1 handle 1000::1 u32 match ip dport 1 0xffff flowid 1:1",
    ] {
        assert!(message(line).is_err(), "{line}");
    }
}

#[test]
fn a_deletion_names_its_place_and_nothing_else() {
    let message = read("qdisc del dev v0 parent 1:10 handle 20: netem delay 1ms");
    assert_eq!((message.kind, message.flags, message.handle, message.parent), (37, 0, 0x20_0000, 0x1_0010));
    assert_eq!(message.attributes.as_bytes(), [10, 0, 1, 0, b'n', b'e', b't', b'e', b'm', 0, 0, 0]);
    let message = read("qdisc del dev v0 root");
    assert_eq!((message.parent, message.attributes.as_bytes().len()), (ROOT, 0));
    let message = read("class del dev v0 classid 1:10");
    assert_eq!((message.kind, message.handle, message.parent), (41, 0x1_0010, 0));
    let message = read("filter del dev v0 parent 1: prio 3 handle 7 fw");
    assert_eq!((message.kind, message.handle, message.parent, message.info), (45, 7, 0x1_0000, 3 << 16));
    assert_eq!(read("filter del dev v0 parent 1: protocol ip prio 3").info, 3 << 16 | u32::from(0x0800_u16.to_be()));
}

#[test]
fn an_ingress_has_its_own_place_and_filters_that_redirect() {
    let ingress = read("qdisc add dev v0 handle ffff: ingress");
    assert_eq!((ingress.handle, ingress.parent), (0xFFFF_0000, 0xFFFF_FFF1));
    let deleted = read("qdisc del dev v0 ingress");
    assert_eq!((deleted.handle, deleted.parent), (0xFFFF_0000, 0xFFFF_FFF1));
    let line = "filter add dev v0 parent ffff: protocol ip u32 match u32 0 0 action mirred egress redirect dev ifb0";
    let filter = read(line);
    assert_eq!((filter.parent, filter.mirrors_to()), (0xFFFF_0000, Some("ifb0")));
    let body = filter.body_to(7, 9);
    let parameters: Vec<u8> = [0_u32, 0, 4, 0, 0, 1, 9].iter().flat_map(|number| number.to_ne_bytes()).collect();
    let sent = [&[32, 0, 2, 0], &parameters[..]].concat();
    assert!(body.windows(sent.len()).any(|bytes| bytes == sent), "{body:?}");
    assert_eq!(read("filter add dev v0 ingress matchall action mirred egress mirror dev ifb0").parent, 0xFFFF_FFF2);
}

#[test]
fn curves_and_sizes_are_the_bytes_that_tc_sends() {
    assert_eq!(options("qdisc add dev v0 root handle 1: hfsc default 1a", "hfsc"), [6, 0, 2, 0, 0x1a, 0, 0, 0]);
    let class = "class add dev v0 parent 1: classid 1:1 hfsc ls m2 8mbit";
    assert_eq!(options(class, "hfsc"), [20, 0, 2, 0, 16, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x42, 0x0f, 0]);
    let sizes = options("qdisc add dev v0 root handle 1: stab overhead 24 pfifo limit 5", "pfifo");
    let base = [[0_u8, 0, 0, 0, 24, 0, 0, 0], [0; 8], [0; 8]].concat();
    assert_eq!(sizes, [&[8, 0, 2, 0, 5, 0, 0, 0, 32, 0, 8, 0, 28, 0, 1, 0], &base[..]].concat());
    assert!(message("class add dev v0 parent 1: classid 1:1 hfsc ul m2 8mbit").is_err());
}

const WORDS: &[&str] = &[
    "qdisc",
    "class",
    "filter",
    "add",
    "change",
    "replace",
    "dev",
    "v0",
    "root",
    "parent",
    "1:",
    "1:1",
    "handle",
    "10:",
    "ffff:ffff",
    "classid",
    "flowid",
    "protocol",
    "ip",
    "all",
    "prio",
    "fw",
    "u32",
    "flower",
    "matchall",
    "action",
    "police",
    "match",
    "src",
    "dst",
    "sport",
    "dport",
    "tos",
    "ip_proto",
    "tcp",
    "udp",
    "src_ip",
    "dst_port",
    "route",
    "from",
    "800::5",
    "drop",
    "10.0.0.0/0",
    "10.0.0.1/32",
    "0xffffffff",
    "1%",
    "100%",
    "1ms",
    "1000000s",
    "1kbit",
    "1tbit",
    "99999999999",
    "0",
    "1",
    "4294967295",
    "1gb",
    "0.5",
];

/// A word of tc's grammar, a number, or any text.
fn word() -> impl Strategy<Value = String> {
    let known = disciplines::SIMULATED.iter().chain(disciplines::KERNEL_ONLY).chain(classes::KINDS);
    let options = known.flat_map(|(kind, grammar)| {
        core::iter::once(*kind).chain(crate::grammar::keywords(grammar).map(|keyword| keyword.name))
    });
    let all: Vec<&'static str> = options.chain(WORDS.iter().copied()).collect();
    prop_oneof![6 => prop::sample::select(all).prop_map(String::from), 3 => "[0-9]{1,6}(ms|us|kb|mbit|%|)", 1 => ".{0,70}"]
}

/// A command with more words.
fn followed(line: &str, words: &[String]) -> Command {
    let words = line.split(' ').map(String::from).chain(words.iter().cloned());
    Command::read(words.collect()).expect("it begins as a command")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(word(), 0..24)) {
        if let Ok(message) = Command::read(words).and_then(|command| Message::of(&command)) {
            prop_assert!(message.body(1).len() >= 20);
        }
    }

    #[test]
    fn any_options_are_read_or_refused(
        kind in prop::sample::select(disciplines::SIMULATED.iter().map(|(kind, _)| *kind).collect::<Vec<_>>()),
        words in prop::collection::vec(word(), 0..12),
    ) {
        for before in [&format!("qdisc add dev v0 root handle 1: {kind}"), "class add dev v0 parent 1: classid 1:1 htb rate"] {
            let _ = Message::of(&followed(before, &words));
        }
    }

    #[test]
    fn any_filter_is_read_or_refused(words in prop::collection::vec(word(), 0..16)) {
        for kind in ["fw", "u32", "flower", "matchall", "route"] {
            let command = followed(&format!("filter add dev v0 parent 1: protocol ip {kind}"), &words);
            if let Ok(words) = FilterWords::of_new(&command) {
                let _ = filters::send(&words, &mut AttributeBytes::default());
            }
        }
    }
}
