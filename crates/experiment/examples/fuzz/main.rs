//! Searches for a text that makes the parser panic, hang, use too much memory, or lose a value when it is written.
//!
//!     cargo run --release -p dumbbell-experiment --example fuzz -- [INPUTS] [SEED]
//!
//! Structure-aware and on stable Rust: an input is a random valid experiment or sweep whose values, keys or characters
//! are then damaged, a tc script of known words, or one of known commands with their options. The first failure ends the
//! search with the input; the same seed finds it again.
//!
//! Measured on 24 November 2026, with overflow checks and debug assertions: 10,000,000 inputs (`5000000 1`, then
//! `5000000 5000001`), 512,027 of them valid, no failure; at most 131,184 bytes at once, 0.85 s for the longest.

mod sweeps;
mod tc;

use dumbbell_experiment::declare::Kind;
use dumbbell_experiment::draw::{Draw, bytes_of_seed};
use dumbbell_experiment::value::{Key, Node, Table, Value};
use dumbbell_experiment::{Experiment, Options, parse, random, script, write};
use peak_alloc::PeakAlloc;
use std::io::Write as _;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Bytes that reading a text may hold at once: a fixed part, and so many for each byte of the text.
const FIXED_MEMORY: usize = 4 << 20;
const MEMORY_A_BYTE: usize = 4_000;
/// Longer is a hang.
const MAX_TIME: Duration = Duration::from_secs(5);
const WORDS: &[&str] = &[
    "",
    "0",
    "-1",
    "1",
    "nan",
    "inf",
    "9223372036854775807",
    "1e999999999s",
    "0x7f",
    "1.5bdp",
    "10ms",
    "80mbit",
    "100%",
    "every 0",
    "pfifo limit",
    "fq_codel",
    "netem loss",
    "bottleneck",
    "sender",
    "a.b",
    "*",
    "..",
    "\u{202e}",
    "١s",
    "\n",
];
const SIGNS: &[&str] =
    &["[", "]", "{", "}", "=", ".", ",", "\"", "'", "#", "\n", "\\", "\"\"\"", "[[", "]]", "\0", "é", "-"];
const TC_WORDS: &[&str] = &[
    "tc",
    "qdisc",
    "class",
    "filter",
    "add",
    "change",
    "del",
    "show",
    "dev",
    "eth0",
    "root",
    "parent",
    "1:",
    "1:10",
    "handle",
    "classid",
    "htb",
    "prio",
    "pfifo",
    "tbf",
    "netem",
    "rate",
    "10mbit",
    "burst",
    "20kb",
    "limit",
    "100",
    "loss",
    "1%",
    "matchall",
    "fw",
    "u32",
    "match",
    "ip",
    "dport",
    "5201",
    "0xffff",
    "flowid",
    "action",
    "police",
    "drop",
    "sudo",
    "iptables",
    "--dport",
    "-j",
    "MARK",
    "--set-mark",
    "7",
    "#",
    "'",
    "\"",
    "\\",
    "\n",
    "..",
    "$(x)",
];

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse().ok());
    let (inputs, first): (u64, u64) = (numbers.next().unwrap_or(100_000), numbers.next().unwrap_or(0));
    let (mut valid, mut most, mut longest) = (0_u64, 0_usize, Duration::ZERO);
    for seed in first..first + inputs {
        let bytes = bytes_of_seed(seed, 600);
        let (text, read) = input(&bytes);
        let (started, before) = (Instant::now(), MEMORY.current_usage());
        MEMORY.reset_peak_usage();
        let outcome = catch_unwind(|| read(&text));
        let used = MEMORY.peak_usage().saturating_sub(before);
        (most, longest) = (most.max(used), longest.max(started.elapsed()));
        let problem = match outcome {
            Err(_) => Some("a panic".to_owned()),
            Ok(Err(problem)) => Some(problem),
            Ok(Ok(_)) if used > FIXED_MEMORY + MEMORY_A_BYTE * text.len() => Some(format!("{used} bytes of memory")),
            Ok(Ok(_)) if started.elapsed() > MAX_TIME => Some(format!("{:?}", started.elapsed())),
            Ok(Ok(is_valid)) => {
                valid += u64::from(is_valid);
                None
            }
        };
        if let Some(problem) = problem {
            report(&format!("seed {seed}: {problem}\n{text}"));
            return ExitCode::FAILURE;
        }
    }
    report(&format!("{inputs} inputs, {valid} valid; most memory {most} bytes, longest {longest:?}"));
    ExitCode::SUCCESS
}

fn report(text: &str) {
    // Without standard output there is nobody to report to.
    _ = writeln!(std::io::stdout(), "{text}");
}

/// Whether a text is valid; an error if it is read wrongly.
type Check = fn(&str) -> Result<bool, String>;

/// A text, and what reads it.
fn input(bytes: &[u8]) -> (String, Check) {
    let (for_document, for_damage) = bytes.split_at(bytes.len() / 2);
    let mut draw = Draw::new(for_damage);
    match draw.below(10) {
        4 | 5 => {
            let words: Vec<_> = (0..draw.below(40)).map(|_| draw.pick(TC_WORDS)).collect();
            return (words.join(" "), check_script);
        }
        6 | 7 => return (tc::script(&mut draw), tc::check),
        8 | 9 => return (damaged(sweeps::document(for_document, &mut draw), &mut draw), sweeps::check),
        _ => {}
    }
    let (document, _) = random::document(for_document, &[]);
    let document = if draw.below(3) == 2 { with_cases(document, &mut draw) } else { document };
    (damaged(document, &mut draw), check)
}

/// The text of a document after a few mistakes.
fn damaged(document: Table, draw: &mut Draw<'_>) -> String {
    let mut tree = Value::from(document);
    for _ in 0..draw.below(4) {
        damage(&mut tree, draw);
    }
    let mut text = tree.table().map_or_else(|| tree.to_string(), write::document);
    for _ in 0..draw.below(3) {
        replace(&mut text, draw);
    }
    text
}

/// The document with crossed cases.
fn with_cases(document: Table, draw: &mut Draw<'_>) -> Table {
    let keys = ["flows.*.count", "path.rtt", "flows.0.cc", "path.bottleneck.qdisc", "duration", "a.b.c"];
    let values = [Value::from(1), "10ms".into(), "bbr".into(), "fq_codel".into(), "1s".into(), wrong(draw)];
    let mut set = Table::default();
    for _ in 0..draw.below(3) {
        let list: Vec<_> =
            (0..draw.below(12)).map(|_| values[usize::try_from(draw.below(6)).unwrap_or(0)].clone()).collect();
        set.set(draw.pick(&keys), list.into());
    }
    let name = draw.pick(&["", "{path.rtt}", "{flows.0.cc} {", "case"]);
    let case = Table::from_iter([("name", Value::from(name)), ("set", set.into())]);
    document.or("cases", || vec![Value::from(case)].into())
}

/// Replaces, removes, doubles or renames a value somewhere below.
fn damage(value: &mut Value, draw: &mut Draw<'_>) {
    let count = match &value.node {
        Node::Table(table) => table.0.len(),
        Node::List(items) => items.len(),
        _ => 0,
    };
    if count == 0 {
        *value = wrong(draw);
        return;
    }
    let at = usize::try_from(draw.below(count as u64)).unwrap_or(0);
    let deeper = draw.below(3) > 0;
    match &mut value.node {
        Node::Table(table) if deeper => damage(&mut table.0[at].1, draw),
        Node::List(items) if deeper => damage(&mut items[at], draw),
        Node::Table(table) => match draw.below(4) {
            0 => table.0[at].1 = wrong(draw),
            1 => _ = table.0.remove(at),
            2 => table.0[at].0 = Key::from(draw.pick(WORDS)),
            _ => table.0.push((Key::from(draw.pick(WORDS)), wrong(draw))),
        },
        Node::List(items) => match draw.below(3) {
            0 => items[at] = wrong(draw),
            1 => _ = items.remove(at),
            _ => items.push(items[at].clone()),
        },
        _ => {}
    }
}

fn wrong(draw: &mut Draw<'_>) -> Value {
    match draw.below(7) {
        0 => draw.pick(WORDS).into(),
        1 => draw.pick(&[0, -1, i64::MIN, i64::MAX, 65_536]).into(),
        2 => draw.pick(&[0.5, f64::NAN, f64::INFINITY, -0.0, 1e308]).into(),
        3 => true.into(),
        4 => Vec::new().into(),
        5 => Table::default().into(),
        _ => vec![Value::from(draw.pick(WORDS)), Value::from(1)].into(),
    }
}

/// Replaces a few characters.
fn replace(text: &mut String, draw: &mut Draw<'_>) {
    let start = usize::try_from(draw.below(text.len() as u64 + 1)).unwrap_or(0);
    let end = (start + usize::try_from(draw.below(4)).unwrap_or(0)).min(text.len());
    if text.is_char_boundary(start) && text.is_char_boundary(end) {
        text.replace_range(start..end, draw.pick(SIGNS));
    }
}

/// Whether the text is an experiment; an error if it is one, but not the same after writing.
fn check(text: &str) -> Result<bool, String> {
    let Ok(cases) = parse(text, &Options::default()) else { return Ok(false) };
    for case in cases {
        let Node::Table(table) = Experiment::write(&case.experiment).node else { return Err("no table".into()) };
        let written = write::document(&table);
        let again = parse(&written, &Options { title: case.experiment.title.clone(), ..Options::default() });
        match again.as_deref() {
            Ok([again]) if again.experiment == case.experiment => {}
            other => return Err(format!("written as\n{written}\nand read as\n{other:#?}")),
        }
    }
    Ok(true)
}

/// Whether the text is a script; an error if what is left of it is none.
fn check_script(text: &str) -> Result<bool, String> {
    let Ok(read) = script::read(text.lines(), "eth0") else { return Ok(false) };
    let lines: Vec<_> = read.commands.iter().map(|command| command.on("eth0").to_string()).collect();
    let again = script::read(lines.iter().map(String::as_str), "eth0").map_err(|wrong| wrong.to_string())?;
    if again.commands == read.commands {
        Ok(true)
    } else {
        Err(format!("{:?} became {:?}", read.commands, again.commands))
    }
}
