//! Random tc scripts of known commands and options, most of whose arguments fit.

use dumbbell_experiment::draw::Draw;
use dumbbell_experiment::script;
use dumbbell_tc::grammar::{Argument, Grammar, keywords};
use dumbbell_tc::message::Message;
use dumbbell_tc::tree::Tree;
use dumbbell_tc::{Command, Device, classes, disciplines};
use std::collections::BTreeMap;

const INTERFACE: &str = "eth0";
/// Numbers at which a field of the kernel or of tc ends.
const NUMBERS: &[u64] =
    &[0, 1, 2, 15, 16, 17, 255, 256, 1_514, 65_535, 65_536, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1_0000_0000];
const WRONG: &[&str] = &["", "-1", "nan", "1e99", "18446744073709551616", "0x", "/", ":", "1:", "5p", "é"];
const MATCHES: &[&str] = &[
    "matchall",
    "handle 7 fw",
    "handle 7/0xff fw",
    "u32 match ip dport 5201 0xffff",
    "u32 match ip src 10.0.0.0/33 match ip tos 4 0xfc",
    "handle 800::5 u32 match ip protocol 6 0xff",
    "flower ip_proto tcp dst_port 5201",
    "flower src_ip 10.0.0.1 ip_proto udp src_port 9",
    "route to 3 from 300",
];

/// A few commands, one a line.
pub fn script(draw: &mut Draw<'_>) -> String {
    let lines: Vec<_> = (0..=draw.below(6)).map(|_| command(draw)).collect();
    lines.join("\n")
}

fn command(draw: &mut Draw<'_>) -> String {
    let verb = draw.pick(&["add", "add", "change", "replace"]);
    let parent = draw.pick(&["root", "parent 1:", "parent 1:1", "parent 2:1", "parent 1:ffff"]);
    let mut line = match draw.below(4) {
        0 | 1 => {
            let (kind, grammar) = draw.pick(disciplines::SIMULATED);
            let handle = draw.pick(&["handle 1:", "handle 2:", "handle ffff:", ""]);
            format!("tc qdisc {verb} dev {INTERFACE} {parent} {handle} {kind} {}", options(grammar, draw))
        }
        2 => {
            let (kind, grammar) = draw.pick(classes::KINDS);
            let id = draw.pick(&["1:1", "1:2", "1:0", "2:1"]);
            format!("tc class {verb} dev {INTERFACE} {parent} classid {id} {kind} {}", options(grammar, draw))
        }
        _ => {
            let grammar: Grammar = &[disciplines::POLICE, disciplines::POLICE_ACTION];
            let action = if draw.below(2) == 0 { String::new() } else { options(grammar, draw) };
            let action = if action.is_empty() { action } else { format!("action police {action}") };
            let (matches, class) = (draw.pick(MATCHES), draw.pick(&["flowid 1:1", "classid 1:2", ""]));
            format!("tc filter {verb} dev {INTERFACE} {parent} protocol ip prio 1 {matches} {class} {action}")
        }
    };
    if draw.is_rare(4) {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let at = usize::try_from(draw.below(words.len() as u64)).unwrap_or(0);
        match draw.below(3) {
            0 => words[at] = draw.pick(WRONG),
            1 => _ = words.remove(at),
            _ => words.insert(at, words[at]),
        }
        line = words.join(" ");
    }
    line
}

fn options(grammar: Grammar, draw: &mut Draw<'_>) -> String {
    let known: Vec<_> = keywords(grammar).collect();
    let mut words = Vec::new();
    for _ in 0..if known.is_empty() { 0 } else { draw.below(6) } {
        let keyword = draw.pick(&known);
        words.push(keyword.name.to_owned());
        words.extend(keyword.required.iter().map(|wanted| argument(*wanted, draw)));
        let kept = usize::try_from(draw.below(keyword.optional.len() as u64 + 1)).unwrap_or(0);
        words.extend(keyword.optional[..kept].iter().map(|wanted| argument(*wanted, draw)));
    }
    words.join(" ")
}

fn argument(wanted: Argument, draw: &mut Draw<'_>) -> String {
    let number = if draw.below(2) == 0 { draw.pick(NUMBERS) } else { draw.below(1 << 16) };
    match wanted {
        Argument::Time => format!("{number}{}", draw.pick(&["us", "ms", "s", "ns"])),
        Argument::Rate => format!("{number}{}", draw.pick(&["bit", "kbit", "mbit", "gbps", "tibps"])),
        Argument::Size => format!("{number}{}", draw.pick(&["", "b", "kb", "mbit", "gb", "bdp"])),
        Argument::Packets | Argument::Count => number.to_string(),
        Argument::Share => format!("{}%", draw.pick(&["0", "0.0000001", "1", "99.99", "100", "101"])),
        Argument::Fraction => draw.pick(&["0", "1e-9", "0.02", "1", "1.5", "1000000000"]).to_owned(),
        Argument::Minor => format!("{:x}", draw.below(1 << 17)),
        Argument::ValueAndMask => format!("0x{:x}/0x{:x}", draw.below(300), draw.below(256)),
        Argument::TimeOrPackets => draw.pick(&["1ms", "5p", "0p", "0"]).to_owned(),
        Argument::OneOf(choices) => draw.pick(choices).to_owned(),
    }
}

/// Whether all commands are accepted; an error if the tree accepts one that has no message.
pub fn check(text: &str) -> Result<bool, String> {
    let is_script = script::read(text.lines(), INTERFACE).is_ok();
    let mut tree = Tree::new(Device { mtu: 1_514, queue_length: 1_000, seeds: BTreeMap::new() });
    let mut all = true;
    for line in text.lines() {
        let words = line.split_whitespace().skip(1).map(String::from);
        let Ok(command) = Command::read(words.collect()) else { return Ok(false) };
        let (message, accepted) = (Message::of(&command), tree.execute(&command).is_ok());
        if let Some(wrong) = message.err().filter(|wrong| accepted && !wrong.is_lacking) {
            return Err(format!("the tree accepts '{line}', but: {wrong}"));
        }
        all &= accepted;
    }
    // The settings of all qdiscs, as the simulator takes them.
    _ = tree.root();
    Ok(all && is_script)
}
