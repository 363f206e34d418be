//! Filters to the classes of htb, prio and drr, and their only action, a policer (iproute2 `tc/f_*.c`,
//! `tc/m_police.c`; `net/sched/cls_*.c`, `act_police.c`).

pub(crate) mod message;
mod route;

use super::disciplines::{POLICE, POLICE_ACTION};
use super::{Command, Object, Target, Verb};
use crate::syntax::Wrong;
use crate::syntax::grammar::Options;
use crate::syntax::location::minor;
use crate::syntax::quantity::{tick_span, transmit_micros};
use crate::syntax::rate_table::bucket_ticks;
use crate::syntax::repeated::refuse_repeated;
use dumbbell_net::queue::config::{Filter, PoliceConfig, Rule};
use dumbbell_net::rate::Rate;

const FIRST_AUTO_PRIORITY: u32 = 0xC000;
const KINDS: [&str; 5] = ["fw", "u32", "flower", "matchall", "route"];
/// Largest packet that a policer passes without `mtu`: 255 cells of 8 bytes.
const POLICE_MTU: u32 = 2_040;
/// A rate's table for smaller packets has cells of one byte, which Linux refuses (`qdisc_get_rtab`).
const LEAST_POLICE_MTU: u32 = 256;
const WANTED: &str = "fw by mark, u32 or flower by port, matchall";
const PORT_EXAMPLE: &str = "u32 match ip dport 5201 0xffff flowid 1:10";

/// The words of a filter: `parent 1: protocol ip prio 1 handle 10 fw flowid 1:10`.
#[derive(Clone, Debug)]
pub(crate) struct FilterWords<'a> {
    pub parent: Option<&'a str>,
    protocol: Option<&'a str>,
    priority: Option<&'a str>,
    handle: Option<&'a str>,
    pub kind: &'a str,
    rest: Vec<&'a str>,
}

impl<'a> FilterWords<'a> {
    /// Of a command that adds, replaces or changes a filter.
    pub fn of_new(command: &'a Command) -> Result<Self, Wrong> {
        let read = Self::of(command)?;
        if read.kind.is_empty() {
            return Err(Wrong::new("a filter without a kind", WANTED));
        }
        Ok(read)
    }

    /// Of any command; one that deletes may leave out the kind.
    pub fn of(command: &'a Command) -> Result<Self, Wrong> {
        let Target { is_root, parent, handle, protocol, priority, kind, .. } = command.target();
        if *is_root {
            return Err(no_filter("root"));
        }
        if let Some(protocol) = protocol.as_deref().filter(|protocol| !matches!(*protocol, "ip" | "all")) {
            let problem = format!("the simulator has no filter for protocol '{protocol}'");
            return Err(Wrong::lacking(problem, "protocol ip"));
        }
        if !kind.is_empty() && !KINDS.contains(&&kind[..]) {
            return Err(no_filter(kind));
        }
        let [parent, handle, protocol, priority] = [parent, handle, protocol, priority].map(Option::as_deref);
        Ok(Self { parent, protocol, priority, handle, kind, rest: command.options() })
    }
}

fn no_filter(word: &str) -> Wrong {
    Wrong::lacking(format!("the simulator has no filter with '{word}'"), WANTED)
}

/// The filters of one qdisc and of its classes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters(Vec<FilterEntry>);

#[derive(Clone, Debug)]
struct FilterEntry {
    /// Minor number of the class whose filter it is; 0: the qdisc's own.
    parent: u32,
    priority: u32,
    kind: String,
    /// `fw`'s mark.
    mark: Option<u32>,
    /// Minor number of the class that packets go to.
    target: Option<u32>,
    /// None: only a kernel has it.
    rule: Option<Rule>,
}

impl FilterWords<'_> {
    /// The simulator's filter.
    pub fn rule(&self) -> Result<Rule, Wrong> {
        if self.kind == "route" {
            return Err(no_filter(self.kind));
        }
        let (rest, police) = action(&self.rest)?;
        let minor = target(self.kind, rest)?;
        let filter = match self.kind {
            "fw" => Filter::Mark { mark: sixteen_bits(self.handle, "fw needs a handle", true)?, minor },
            "matchall" => Filter::All { minor },
            kind => Filter::Port { port: port(kind, rest)?, minor },
        };
        Ok(Rule { filter, police })
    }

    fn mark(&self) -> Result<Option<u32>, Wrong> {
        if self.kind == "fw" { self.handle.map(thirty_two_bits).transpose() } else { Ok(None) }
    }

    fn parent_minor(&self) -> Result<u32, Wrong> {
        self.parent.map_or(Ok(0), minor)
    }
}

impl Filters {
    /// Adds a filter behind those of its priority, or puts it in the place of one with its priority and mark.
    pub fn apply(&mut self, verb: Verb, words: &FilterWords<'_>, rule: Option<Rule>) -> Result<(), Wrong> {
        let parent = words.parent_minor()?;
        let mark = words.mark()?;
        let mut of_parent = self.0.iter().filter(|each| each.parent == parent);
        let priority = match words.priority {
            Some(word) => priority(word)?,
            // The kernel puts it before all others (`tcf_auto_prio`).
            None => of_parent.next().map_or(FIRST_AUTO_PRIORITY, |first| first.priority.saturating_sub(1)),
        };
        let same = |each: &FilterEntry| each.parent == parent && each.priority == priority;
        if let Some(other) = self.0.iter().find(|each| same(each) && each.kind != words.kind) {
            // `tc_new_tfilter`
            let problem = format!("priority {priority} has filters of kind {} already", other.kind);
            return Err(Wrong::new(problem, "another prio"));
        }
        let rest = split_action(&words.rest)?.0;
        if let Some(target) = words.rest.iter().position(|word| *word == "mirred").map(|at| &words.rest[at..]) {
            Mirror::read(target)?;
        }
        let target = target(words.kind, rest).ok();
        let entry = FilterEntry { parent, priority, kind: words.kind.into(), mark, target, rule };
        // Linux has one matchall of each priority (`mall_change`).
        let is_alone = |each: &FilterEntry| (mark.is_some() && each.mark == mark) || words.kind == "matchall";
        let known = self.0.iter().position(|each| same(each) && is_alone(each));
        match (verb, known) {
            (Verb::Add, Some(_)) => {
                let problem = format!("there is such a filter of priority {priority} already");
                Err(Wrong::new(problem, "tc filter replace, or tc filter del first"))
            }
            (_, Some(index)) => {
                self.0[index] = entry;
                Ok(())
            }
            (Verb::Change, None) => {
                Err(Wrong::new("no filter to change here", "tc filter add, or its prio and handle"))
            }
            (_, None) => {
                let end = self.0.partition_point(|each| each.priority <= priority);
                self.0.insert(end, entry);
                Ok(())
            }
        }
    }

    /// Deletes those that `tc filter del` names: all of a parent, of one priority, or of one mark.
    pub fn delete(&mut self, words: &FilterWords<'_>) -> Result<(), Wrong> {
        let parent = words.parent_minor()?;
        let priority = words.priority.map(priority).transpose()?;
        if priority.is_none() && (words.handle.is_some() || !words.kind.is_empty() || words.protocol.is_some()) {
            // `tc_del_tfilter`
            return Err(Wrong::new("a filter to delete without its priority", "such as prio 1"));
        }
        if !words.rest.is_empty() {
            let problem = format!("'{}' does not say which filter is deleted", words.rest.join(" "));
            return Err(Wrong::new(problem, "parent, prio, and handle MARK fw for one of several"));
        }
        if words.handle.is_some() && words.kind != "fw" {
            return Err(Wrong::lacking("filters are deleted by handle only if they are by mark", "prio alone"));
        }
        let mark = words.mark()?;
        let is_meant = |each: &FilterEntry| {
            let fits_kind = words.kind.is_empty() || each.kind == words.kind;
            let fits_priority = priority.is_none_or(|priority| each.priority == priority);
            each.parent == parent && fits_priority && fits_kind && (mark.is_none() || each.mark == mark)
        };
        let count = self.0.len();
        self.0.retain(|each| !is_meant(each));
        // Without a priority Linux flushes, and nothing to flush is no error.
        if self.0.len() == count && priority.is_some() {
            return Err(Wrong::new("there is no such filter to delete", "a filter that was added before"));
        }
        Ok(())
    }

    /// Whether a filter gives its packets to this class.
    pub fn name(&self, minor: u32) -> bool {
        self.0.iter().any(|each| each.target == Some(minor))
    }

    /// Forgets those of a class that is deleted.
    pub fn forget(&mut self, minor: u32) {
        self.0.retain(|each| each.parent != minor);
    }

    /// In the order in which the kernel tries them.
    pub fn rules(&self) -> Vec<Rule> {
        self.0.iter().filter_map(|each| each.rule).collect()
    }

    /// Whether any of them polices.
    pub fn have_policer(&self) -> bool {
        self.rules().iter().any(|rule| rule.police.is_some())
    }
}

/// The device to which a filter gives every packet that arrives; None: it is a filter of packets that leave.
///
/// # Errors
///
/// A filter of packets that arrive which does anything else: the simulator has no such one.
pub fn redirection(command: &Command) -> Result<Option<&str>, Wrong> {
    let parent = command.target().parent.as_deref().unwrap_or_default();
    if command.object() != Object::Filter || !parent.starts_with("ffff:") {
        return Ok(None);
    }
    let lacking = |problem: &str| Wrong::lacking(problem, "matchall action mirred egress redirect dev ifb0");
    if command.verb() != Verb::Add || !matches!(parent, "ffff:" | "ffff:0" | "ffff:fff2") {
        return Err(lacking("the simulator has filters on packets that arrive, added once"));
    }
    let words = FilterWords::of_new(command)?;
    let (rest, action) = split_action(&words.rest)?;
    let Some(Action::Mirror(Mirror { redirects: true, arrive: false })) = action else {
        return Err(lacking("the simulator redirects packets that arrive to an ifb, and does nothing else to them"));
    };
    let flow = rest.iter().position(|word| matches!(*word, "flowid" | "classid")).unwrap_or(rest.len());
    let matches = (words.kind, &rest[..flow]);
    if !matches!(
        matches,
        ("matchall", []) | ("u32", ["match", "u32", "0", "0"] | ["match", "u32", "0", "0", "at", "0"])
    ) {
        return Err(lacking("the simulator redirects all packets that arrive, not some"));
    }
    Ok(command.mirrors_to())
}

/// The words before `action`, and its policer.
fn action<'a>(words: &'a [&'a str]) -> Result<(&'a [&'a str], Option<PoliceConfig>), Wrong> {
    match split_action(words)? {
        (words, Some(Action::Police(police))) => Ok((words, Some(police.config()?))),
        (words, None) => Ok((words, None)),
        (_, Some(Action::Mirror(_))) => Err(Wrong::lacking("the simulator has no action mirred here", "")),
    }
}

/// What a filter does with a packet, as tc sends it.
#[derive(Clone, Copy, Debug)]
enum Action {
    Police(Police),
    Mirror(Mirror),
}

/// `mirred`: gives packets, or copies of them, to another device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// Whether it gives the packets themselves.
    pub redirects: bool,
    /// Whether they arrive at the other device instead of leaving by it.
    pub arrive: bool,
}

impl Mirror {
    /// Reads the words from `mirred` on.
    ///
    /// # Errors
    ///
    /// They are not the action alone.
    pub fn read(words: &[&str]) -> Result<Self, Wrong> {
        let hint = "action mirred egress redirect dev ifb0";
        let wrong = || Wrong::new(format!("'{}' is no action of a filter", words.join(" ")), hint);
        let ["mirred", way @ ("egress" | "ingress"), what @ ("redirect" | "mirror"), "dev", _] = words else {
            return Err(wrong());
        };
        Ok(Self { redirects: *what == "redirect", arrive: *way == "ingress" })
    }
}

/// The same, with the action as tc sends it.
fn split_action<'a>(words: &'a [&'a str]) -> Result<(&'a [&'a str], Option<Action>), Wrong> {
    let Some(end) = words.iter().position(|word| *word == "action") else { return Ok((words, None)) };
    match words[end + 1..].split_first() {
        Some((&"police", rest)) => {
            let options = Options::read("police", rest, &[POLICE, POLICE_ACTION])?;
            Ok((&words[..end], Some(Action::Police(Police::parse(&options)?))))
        }
        Some((&"mirred", _)) => Ok((&words[..end], Some(Action::Mirror(Mirror::read(&words[end + 1..])?)))),
        _ => Err(Wrong::lacking("the simulator has no action but police", "action police rate … burst … drop")),
    }
}

/// What tc sends for a policer.
#[derive(Clone, Copy, Debug)]
struct Police {
    rate: Rate,
    burst: u32,
    /// The burst in ticks.
    bucket: u32,
    mtu: Option<u32>,
    peak: Option<Rate>,
    /// Drops what exceeds the rate; without the word Linux classifies such packets again.
    drops: bool,
}

impl Police {
    fn parse(options: &Options<'_>) -> Result<Self, Wrong> {
        refuse_repeated("police", options, &[&["rate"], &["burst"], &["mtu"], &["peakrate"]])?;
        let rate = options.rate("rate")?.filter(|rate| *rate != Rate::ZERO);
        let size = |name| Ok(options.size(&[name])?.filter(|bytes| *bytes > 0));
        let (burst, mtu) = (size("burst")?, size("mtu")?);
        let peak = options.rate("peakrate")?.filter(|rate| *rate != Rate::ZERO);
        if rate.is_none() && mtu.is_some() && peak.is_none() {
            return Err(Wrong::lacking("a policer by packet size alone", "such as police rate 10mbit burst 20kb"));
        }
        let (Some(rate), Some(burst)) = (rate, burst) else {
            return Err(Wrong::new("police needs 'rate' and 'burst'", "such as police rate 10mbit burst 20kb"));
        };
        let drops = options.has("drop") || options.has("conform-exceed");
        if peak.is_some() && mtu.is_none() {
            return Err(Wrong::new("police's 'peakrate' needs 'mtu'", "such as mtu 1514"));
        }
        if let Some(mtu) = mtu.filter(|mtu| *mtu < LEAST_POLICE_MTU) {
            return Err(Wrong::new(format!("police's mtu of {mtu} is too small for the kernel"), "at least 256"));
        }
        let bucket = bucket_ticks("police", "burst", u64::from(burst), rate)?;
        Ok(Self { rate, burst, bucket, mtu, peak, drops })
    }

    fn config(self) -> Result<PoliceConfig, Wrong> {
        let Self { rate, burst, mtu, peak, drops, .. } = self;
        if !drops {
            return Err(Wrong::lacking("a policer without 'drop': Linux classifies such packets again", "add drop"));
        }
        let burst = tick_span(transmit_micros(u64::from(burst), rate));
        Ok(PoliceConfig { rate, burst, mtu: mtu.unwrap_or(POLICE_MTU), peak })
    }
}

/// The class that a filter gives its packets to.
fn target(kind: &str, words: &[&str]) -> Result<u32, Wrong> {
    let after = |name: &str| {
        let index = words.iter().position(|word| *word == name)?;
        words.get(index + 1)
    };
    match after("flowid").or_else(|| after("classid")).filter(|class| class.contains(':')) {
        Some(class) => minor(class),
        // Of these kinds only fw needs one (`fw_change`).
        None if kind == "fw" => Err(Wrong::new("a filter that names no class", "flowid 1:10")),
        None => Err(Wrong::lacking("a filter that names no class", "flowid 1:10")),
    }
}

/// The server's port, the only match of u32 and flower that the simulator has.
fn port(kind: &str, words: &[&str]) -> Result<u16, Wrong> {
    let patterns: &[&[&str]] = match kind {
        "u32" => &[&["match", "ip", "dport", "*", "0xffff"]],
        _ => &[&["ip_proto", "tcp"], &["dst_port", "*"]],
    };
    let mut rest: Vec<&str> = words.to_vec();
    for name in ["flowid", "classid"] {
        if let Some(index) = rest.iter().position(|word| *word == name) {
            rest.drain(index..(index + 2).min(rest.len()));
        }
    }
    let mut ports = Vec::new();
    for pattern in patterns {
        let matches =
            |window: &[&str]| window.iter().zip(*pattern).all(|(word, wanted)| *wanted == "*" || wanted == word);
        if let Some(index) = rest.windows(pattern.len()).position(matches) {
            ports.extend(pattern.iter().position(|wanted| *wanted == "*").map(|offset| rest[index + offset]));
            rest.drain(index..index + pattern.len());
        }
    }
    match ports[..] {
        [port] if rest.is_empty() => sixteen_bits(Some(port), "not a port", false),
        _ => {
            let words = words.join(" ");
            let problem = format!("the simulator's filters match a server's port only, not '{words}'");
            Err(Wrong::lacking(problem, PORT_EXAMPLE))
        }
    }
}

fn priority(word: &str) -> Result<u32, Wrong> {
    let priority = number(word).and_then(|priority| u32::try_from(priority).ok());
    priority.ok_or_else(|| Wrong::new(format!("'{word}' is not a priority"), "such as prio 1"))
}

/// A number as C writes it: decimal, `0x` hexadecimal, `0` octal.
fn number(word: &str) -> Option<u64> {
    match (word.strip_prefix("0x"), word.strip_prefix('0')) {
        (Some(hexadecimal), _) => u64::from_str_radix(hexadecimal, 16).ok(),
        (None, Some(octal)) if !octal.is_empty() => u64::from_str_radix(octal, 8).ok(),
        _ => word.parse().ok(),
    }
}

fn thirty_two_bits(word: &str) -> Result<u32, Wrong> {
    number(word)
        .and_then(|number| u32::try_from(number).ok())
        .ok_or_else(|| Wrong::new(format!("'{word}' is not a number of 32 bits"), "such as 10 or 0x10"))
}

/// A port, or a mark, which has 32 bits in Linux.
fn sixteen_bits(word: Option<&str>, problem: &str, is_mark: bool) -> Result<u16, Wrong> {
    let number = word.and_then(number).ok_or_else(|| Wrong::new(problem, PORT_EXAMPLE))?;
    u16::try_from(number).map_err(|_| Wrong {
        problem: format!("a mark or port of {number} does not fit 16 bits"),
        hint: "0 to 65535".to_string(),
        is_lacking: is_mark && u32::try_from(number).is_ok(),
    })
}
