//! tc commands verbatim, made harmless.
//!
//! What adds, changes, replaces or deletes disciplines, classes and filters is kept, word for word but for the
//! interface's name and a handle where it has none; devices of kind ifb are created; an iptables rule that marks by port becomes a mark on the sockets of
//! the flows to that port; what only shows is left out, and a deletion of the root before the first command, since a run
//! starts empty. Anything else, what can't be applied to the tree that the lines before it leave, and any word that
//! could reach a file or a program, is an error with its line.

use crate::qdisc::{POLICE, check, grammar, kinds};
use crate::script_lines::{bare, instead, joined};
use crate::shell_words::split;
use dumbbell_tc::filters::Mirror;
use dumbbell_tc::grammar::Grammar;
#[cfg(feature = "messages")]
use dumbbell_tc::message::Message;
use dumbbell_tc::tree::Tree;
use dumbbell_tc::{self as tc, Object, Target, Verb, Wrong, classes, disciplines};

/// Stands for the device in the lines of a [`Script`].
pub const DEVICE: &str = "{device}";

const FIRST_HANDLE: usize = 0xDB00;
/// Characters of a line in a message.
const MAX_SHOWN: usize = 80;
const FILTER_KINDS: &str = "fw, u32, matchall, flower, route";
const FILTER_WORDS: &[&str] = &[
    "dev", "parent", "root", "protocol", "ip", "ipv6", "all", "prio", "pref", "handle", "fw", "u32", "matchall",
    "flower", "route", "ingress", "egress", "match", "sport", "dport", "src", "dst", "tos", "ip_proto", "tcp", "udp",
    "icmp", "src_ip", "dst_ip", "src_port", "dst_port", "flowid", "classid", "from", "to", "divisor", "offset", "at",
    "nexthdr", "0xffff", "0xff", "0xfc",
];
/// What a filter's `action police` takes.
const POLICE_OPTIONS: Grammar = &[disciplines::POLICE, disciplines::POLICE_ACTION];

/// What is left of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Its tc commands, with [`DEVICE`] for the interface; those of an ifb have its name.
    pub commands: Vec<tc::Command>,
    /// Devices of kind ifb that it uses.
    pub ifbs: Vec<String>,
    /// Destination port and mark.
    pub marks: Vec<(u16, u32)>,
    /// Lines that only show, or delete what a run does not have.
    pub left_out: Vec<String>,
    /// Lines without effect on a run, each with the key that an experiment has instead.
    pub ignored: Vec<String>,
}

enum Command {
    Tc(Box<tc::Command>),
    Mark(u16, u32),
    Ifb(String),
    LeftOut,
    Ignored(&'static str),
}

/// Reads commands.
///
/// # Errors
///
/// A line that is no command of setup; the error names it.
pub fn read<'a>(lines: impl IntoIterator<Item = &'a str>, interface: &str) -> Result<Script, Wrong> {
    let mut script = Script::default();
    let mut trees = Trees::default();
    let mut handles = Handles::default();
    for (number, line) in joined(lines) {
        let line = &line[..];
        let shown: String = line.trim().chars().take(MAX_SHOWN).collect();
        let named = |wrong: Wrong| Wrong::new(format!("line {number} ('{shown}'): {}", wrong.problem), wrong.hint);
        match command(line, interface, &script).map_err(named)? {
            None => {}
            Some(Command::Tc(command)) => {
                script.use_ifb(command.device());
                command.mirrors_to().into_iter().for_each(|device| script.use_ifb(device));
                let tree = trees.of(command.device());
                let command = handles.complete(*command, tree).map_err(named)?;
                tree.execute(&command).map_err(named)?;
                script.commands.push(command);
            }
            Some(Command::Ifb(name)) => script.use_ifb(&name),
            Some(Command::Mark(port, mark)) => script.marks.push((port, mark)),
            Some(Command::LeftOut | Command::Ignored("")) => script.left_out.push(line.trim().to_owned()),
            Some(Command::Ignored(key)) => {
                script.ignored.push(format!("line {number} ('{shown}') has no effect: {key}"));
            }
        }
    }
    Ok(script)
}

impl Script {
    /// The trees that it leaves, by device: the interface ([`DEVICE`]) and ifbs.
    ///
    /// # Errors
    ///
    /// Linux refuses a line; [`read`] returns no such script.
    pub fn trees(&self) -> Result<Vec<(String, Tree)>, Wrong> {
        let mut trees = Trees::default();
        self.commands.iter().try_for_each(|command| trees.of(command.device()).execute(command).map(|_| ()))?;
        Ok(trees.0)
    }

    /// Whether no command of a device was kept yet.
    fn begins(&self, device: &str, interface: &str) -> bool {
        let device = if device == interface { DEVICE } else { device };
        self.commands.iter().all(|command| command.device() != device)
    }

    fn use_ifb(&mut self, device: &str) {
        if device != DEVICE && !self.ifbs.iter().any(|known| known == device) {
            self.ifbs.push(device.to_owned());
        }
    }

    /// Whether a device is an ifb: by its name, or because the script adds it as one.
    fn is_ifb(&self, device: &str) -> bool {
        device.starts_with("ifb") || self.ifbs.iter().any(|known| known == device)
    }
}

/// Trees by device, in the order of their first commands.
#[derive(Debug, Default)]
struct Trees(Vec<(String, Tree)>);

impl Trees {
    fn of(&mut self, device: &str) -> &mut Tree {
        let index = self.0.iter().position(|(name, _)| name == device).unwrap_or_else(|| {
            self.0.push((device.to_owned(), Tree::of_script()));
            self.0.len() - 1
        });
        &mut self.0[index].1
    }
}

/// Handles of disciplines that are written without one, so that their statistics are distinct.
#[derive(Debug, Default)]
struct Handles {
    /// Disciplines that were added.
    count: usize,
}

impl Handles {
    /// A command with a handle: its own, that of the discipline that it changes, or a new one.
    fn complete(&mut self, command: tc::Command, tree: &Tree) -> Result<tc::Command, Wrong> {
        if command.object() != Object::Qdisc || command.verb() == Verb::Delete {
            return Ok(command);
        }
        if command.target().is_of_arrivals() {
            return Ok(command);
        }
        let there = tree.handle_at(&command)?;
        let kind_there = tree.places().find(|place| Some(&place.location) == there.as_ref()).map(|place| place.kind);
        let is_changed = kind_there == Some(&command.target().kind[..]) && command.verb() != Verb::Add;
        let handle = if is_changed { there } else { Some(self.next(tree)) };
        let is_named = command.target().handle.is_some();
        Ok(match handle.filter(|_| !is_named) {
            Some(handle) => command.with_handle(handle),
            None => command,
        })
    }

    fn next(&mut self, tree: &Tree) -> String {
        let taken: Vec<_> = tree.places().map(|place| place.location).collect();
        let mut free = (FIRST_HANDLE + self.count..).map(|number| format!("{number:x}:"));
        self.count += 1;
        free.find(|handle| !taken.contains(handle)).unwrap_or_default()
    }
}

fn command(line: &str, interface: &str, script: &Script) -> Result<Option<Command>, Wrong> {
    let words = split(line, true).map_err(|problem| Wrong::new(problem, "plain words, without quotes"))?;
    let words = bare(&words);
    let plain: Vec<_> = words.iter().map(String::as_str).collect();
    if let Some(command) = ifb(&plain, script) {
        return command.map(Some);
    }
    if let Some(key) = instead(&plain) {
        return Ok(Some(Command::Ignored(key)));
    }
    let is_plain = |word: &String| {
        let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:,%/-".contains(&byte);
        !word.is_empty() && word.bytes().all(is_safe) && !word.contains("..")
    };
    if let Some(word) = words.iter().find(|word| !is_plain(word)) {
        let problem = format!("'{word}' has characters that tc commands don't need");
        return Err(Wrong::new(problem, "letters, digits and _ . : , % / - only"));
    }
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let words = &words[..];
    match words.first() {
        None => Ok(None),
        Some(&"iptables") => mark(words).map(Some),
        Some(&"tc") => tc(&words[1..], interface, script).map(Some),
        Some(other) => {
            let problem = format!("'{other}' is not a command that an experiment may hold");
            Err(Wrong::new(
                problem,
                "only tc, iptables … -j MARK, and what sets up an interface (ip link set, ethtool -K, modprobe)",
            ))
        }
    }
}

/// `ip link add NAME type ifb`, or `ip link del` of one that a run does not have yet.
fn ifb(words: &[&str], script: &Script) -> Option<Result<Command, Wrong>> {
    let ["ip", "link" | "l", verb, rest @ ..] = words else { return None };
    let rest: Vec<_> = rest.iter().filter(|word| !matches!(**word, "name" | "dev")).copied().collect();
    match (*verb, &rest[..]) {
        ("add" | "a", [name, .., "type", "ifb"] | [name, "type", "ifb", ..]) => {
            let is_name = |name: &str| {
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
                name.len() < 16 && name.bytes().all(is_plain) && name != DEVICE
            };
            let wrong = || Wrong::new(format!("'{name}' is no name of a device"), "such as ifb0");
            Some(if is_name(name) { Ok(Command::Ifb((*name).into())) } else { Err(wrong()) })
        }
        ("del" | "delete" | "d", [name, ..]) if script.is_ifb(name) => {
            let is_unused =
                script.commands.iter().all(|command| command.device() != *name && command.mirrors_to() != Some(name));
            let wrong = || Wrong::new(format!("deletes {name}, which the lines before it use"), "leave it out");
            Some(if is_unused { Ok(Command::LeftOut) } else { Err(wrong()) })
        }
        _ => None,
    }
}

/// The word after another.
fn after<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1)).copied()
}

/// `iptables … --dport PORT … -j MARK --set-mark MARK`.
fn mark(words: &[&str]) -> Result<Command, Wrong> {
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    let read = || {
        let port = after(words, "--dport")?.parse().ok().filter(|port| *port > 0)?;
        let mark = number(after(words, "--set-mark")?)?;
        (after(words, "-j")? == "MARK").then_some(Command::Mark(port, mark))
    };
    let problem = "an iptables rule that is not a mark by destination port";
    read().ok_or_else(|| Wrong::new(problem, "--dport PORT -j MARK --set-mark NUMBER"))
}

/// The command with its interface replaced.
fn tc(words: &[&str], interface: &str, script: &Script) -> Result<Command, Wrong> {
    let flags = words.iter().take_while(|word| word.starts_with('-')).count();
    let words = &words[flags..];
    if matches!(words, ["qdisc" | "class" | "filter", "show" | "list" | "ls" | "lst", ..]) {
        return Ok(Command::LeftOut);
    }
    let command = tc::Command::read(words.iter().map(ToString::to_string).collect())?;
    let (object, is_deletion) = (command.object(), command.verb() == Verb::Delete);
    let is_ours = |device: &str| device == interface || script.is_ifb(device);
    // Of another device, or of a root that was there before the script.
    if is_deletion && (script.begins(command.device(), interface) || !is_ours(command.device())) {
        let is_cleanup = object == Object::Qdisc && words.iter().any(|word| matches!(*word, "root" | "ingress"));
        if is_cleanup {
            return Ok(Command::LeftOut);
        }
    }
    if !is_ours(command.device()) {
        let hint = format!("each command names dev {interface} or an ifb, or set path.tc.interface");
        return Err(Wrong::new(format!("not for the interface {interface}"), hint));
    }
    check_place(&command)?;
    match object {
        Object::Filter => check_filter(words)?,
        _ if is_deletion && command.target().kind.is_empty() => {}
        Object::Qdisc => check_qdisc(&command)?,
        Object::Class => check_class(&command)?,
    }
    if let Some(device) = command.mirrors_to().filter(|device| !script.is_ifb(device)) {
        let problem = format!("mirred gives packets to '{device}', which is no ifb");
        return Err(Wrong::new(problem, "action mirred egress redirect dev ifb0"));
    }
    #[cfg(feature = "messages")]
    if !is_deletion {
        // What tc refuses of it; what only tc can send is left to tc.
        Message::of(&command).map(|_| ()).or_else(|wrong| if wrong.is_lacking { Ok(()) } else { Err(wrong) })?;
    }
    Ok(Command::Tc(Box::new(if command.device() == interface { command.on(DEVICE) } else { command })))
}

fn check_qdisc(command: &tc::Command) -> Result<(), Wrong> {
    let kind = &command.target().kind[..];
    let scripted = disciplines::SCRIPTED.iter().find(|(name, _)| *name == kind).map(|(_, grammar)| *grammar);
    let Some(grammar) = grammar(kind).or(scripted) else {
        let known: Vec<_> = kinds().map(|(name, _)| name).filter(|name| *name != POLICE).collect();
        let problem = format!("no queueing discipline is called '{kind}'");
        return Err(Wrong::new(problem, crate::suggest::suggest(kind, &known)));
    };
    if !check(kind, &command.options(), grammar)?.is_empty() {
        return Err(Wrong::new("tc has no sizes in bdp", "bytes or packets"));
    }
    if kind == POLICE {
        let hint = "tc filter add … matchall flowid 1:1 action police rate 10mbit burst 20kb drop";
        return Err(Wrong::new("in tc, police is an action of a filter", hint));
    }
    Ok(())
}

fn check_class(command: &tc::Command) -> Result<(), Wrong> {
    let kind = &command.target().kind[..];
    let Some((_, grammar)) = classes::KINDS.iter().find(|(name, _)| *name == kind) else {
        let known: Vec<_> = classes::KINDS.iter().map(|(name, _)| *name).collect();
        let hint = format!("there is: {}", known.join(", "));
        return Err(Wrong::new(format!("classes of '{kind}' are not known here"), hint));
    };
    check(kind, &command.options(), grammar).map(|_| ())
}

/// Refuses a place that tc would refuse.
fn check_place(command: &tc::Command) -> Result<(), Wrong> {
    let Target { parent, handle, classid, kind, .. } = command.target();
    if command.object() == Object::Filter {
        return Ok(());
    }
    let is_handle = |value: &str| {
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        value.split_once(':').is_some_and(|(major, minor)| !major.is_empty() && is_hex(major) && is_hex(minor))
    };
    for (name, value) in [("parent", parent), ("handle", handle), ("classid", classid)] {
        if let Some(value) = value.as_deref().filter(|value| !is_handle(value)) {
            return Err(Wrong::new(format!("'{value}' is not a {name}"), "such as 1: or 1:10"));
        }
    }
    if matches!(&kind[..], "dev" | "parent" | "handle" | "classid") {
        return Err(Wrong::new(format!("'{kind}' without a value"), "such as parent 1:1"));
    }
    Ok(())
}

fn check_filter(words: &[&str]) -> Result<(), Wrong> {
    let end = words.iter().position(|word| *word == "action").unwrap_or(words.len());
    if words.get(end + 1) == Some(&"mirred") {
        Mirror::read(&words[end + 1..])?;
    } else if end < words.len() {
        if words.get(end + 1) != Some(&POLICE) {
            let problem = "the actions that a filter may have here are police and mirred";
            let hint = "action police rate … burst … drop, or action mirred egress redirect dev ifb0";
            return Err(Wrong::new(problem, hint));
        }
        if !check(POLICE, &words[end + 2..], POLICE_OPTIONS)?.is_empty() {
            return Err(Wrong::new("tc has no sizes in bdp", "bytes"));
        }
    }
    let is_known = |word: &str| FILTER_WORDS.contains(&word) || is_number(word);
    let device = words.iter().position(|word| *word == "dev").map(|at| at + 1);
    let others = words.iter().enumerate().take(end).skip(2).filter(|(at, _)| Some(*at) != device).map(|(_, word)| word);
    match others.into_iter().find(|word| !is_known(word)) {
        None => Ok(()),
        Some(word) => {
            let hint = format!("filters of kind {FILTER_KINDS}, by mark, port or address");
            Err(Wrong::new(format!("filters can't have '{word}' here"), hint))
        }
    }
}

/// A handle, a number in hexadecimal, or an IPv4 address with a prefix length.
fn is_number(word: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let (major, minor) = digits.split_once(':').unwrap_or((digits, ""));
    let is_decimal = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (address, length) = word.split_once('/').unwrap_or((word, "0"));
    let octets: Vec<_> = address.split('.').collect();
    (is_hex(major) && is_hex(minor)) || (octets.len() == 4 && octets.into_iter().chain([length]).all(is_decimal))
}
