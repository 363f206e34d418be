//! Rules of the path: delays must add up, netem needs a delay for some options, one source of the rate.

use crate::declare::location::Report;
use crate::model::{Bottleneck, Impairment, Link, PacketFate, Path, Position, Segment, Verbatim};
use crate::units::milliseconds;
use std::collections::{HashMap, HashSet};

/// Each is a netem that all packets cross.
const MOST_PACKET_FATES: usize = 16;

/// netem delays only what has a delay.
pub fn impairment(made: &Impairment, report: &mut Report<'_>) {
    let divides_rtt = |key| report.value.table().is_some_and(|table| table.has(key));
    let has_delay = made.mean_delay() > 0 || ["forward_delay", "reverse_delay"].into_iter().any(divides_rtt);
    if made.reorder.is_some() && !has_delay {
        let hint = "netem needs a delay for reorder: add delay = \"5ms\"";
        report.fault("reorder", "'reorder' without a delay", hint);
    }
    if made.distribution.is_some() && made.jitter == 0 {
        report.fault("distribution", "'distribution' without a jitter", "add jitter = \"1ms\"");
    }
}

/// A trace, a rate, or a discipline that shapes.
pub fn bottleneck(made: &Bottleneck, report: &mut Report<'_>) {
    let has_trace = made.rate_trace.as_ref().is_some_and(|name| !name.is_empty());
    if has_trace && made.rate.is_some() {
        report.fault("rate_trace", "both a rate and a trace", "give one of them");
    }
    if !has_trace && made.rate.is_none() && made.qdisc.shaped_rate().is_none() {
        let hint = "such as rate = \"80mbit\", or a qdisc that shapes by itself, such as \"tbf rate …\"";
        report.fault("rate", "no rate", hint);
    }
}

/// A trace or a rate.
pub fn segment(made: &Segment, report: &mut Report<'_>) {
    if made.rate_trace.is_some() && made.rate.is_some() {
        report.fault("rate_trace", "both a rate and a trace", "give one of them");
    }
}

/// Commands or a file of them.
pub fn verbatim(made: &Verbatim, report: &mut Report<'_>) {
    let has_script = made.script.as_ref().is_some_and(|name| !name.is_empty());
    if made.commands.is_empty() != has_script {
        let key = if has_script { "script" } else { "commands" };
        report.fault(key, "tc commands must come from one place", "give either 'commands' or 'script'");
    }
}

/// Delays add up to the path's, and names of links differ.
pub fn path(made: &Path, report: &mut Report<'_>) {
    if made.telemetry && !made.tc.is_empty() {
        let hint = "links with a rate stamp packets: [path.bottleneck], links, access";
        report.fault("telemetry", "'telemetry' with tc commands", hint);
    }
    delays(made, report);
    let mut names = HashSet::from(["bottleneck"]);
    for (number, link) in made.links.iter().enumerate() {
        if !names.insert(&link.name) {
            let hint = "name each link differently, and none 'bottleneck'";
            report.fault(&format!("links.{number}.name"), "two links of one name", hint);
        }
    }
    packets(&made.packets, report);
}

/// Both directions' delays, however they are spelled, are parts of the RTT.
fn delays(made: &Path, report: &mut Report<'_>) {
    let (rtt, shown) = (made.rtt, milliseconds(made.rtt));
    let old_back = made.reverse.as_ref().map_or(0, |reverse| reverse.impairment.delay);
    let forward = (made.forward_delay, made.impairment.delay, "forward_delay", "delay");
    let back = (made.reverse_delay, old_back, "reverse_delay", "reverse.delay");
    for (new, old, name, old_name) in [forward, back] {
        if new.is_some() && old > 0 {
            report.fault(old_name, format!("both '{name}' and '{old_name}'"), format!("'{name}' alone"));
        }
        let (key, delay) = if new.is_some() { (name, new.unwrap_or(0)) } else { (old_name, old) };
        if delay > rtt {
            let problem = format!("path.{key} ({}) exceeds path.rtt ({shown})", milliseconds(delay));
            report.fault(key, problem, format!("{key} at most rtt"));
        }
    }
    let (forward, back) = (made.stated_forward_delay(), made.stated_reverse_delay());
    if let (Some(forward), Some(back)) = (forward, back)
        && forward.max(back) <= rtt
        && forward + back != rtt
    {
        let key = if made.reverse_delay.is_some() { "reverse_delay" } else { "reverse.delay" };
        let other = if made.forward_delay.is_some() { "forward_delay" } else { "delay" };
        report.fault(
            key,
            format!("{other} and {key} don't add up to rtt"),
            "give one of them; the other is rtt minus it",
        );
    }
    let jitter = made.impairment.jitter;
    if forward.is_none() && back.is_none() && jitter > rtt {
        let problem = format!("path.jitter ({}) exceeds path.rtt ({shown})", milliseconds(jitter));
        report.fault(
            "jitter",
            problem,
            "a jitter of at most rtt, or a larger rtt: without forward_delay the mean delay is the jitter",
        );
    }
}

/// Not too many, and not dropped and delayed at once; an item may be repeated.
fn packets(packets: &[PacketFate], report: &mut Report<'_>) {
    if packets.len() > MOST_PACKET_FATES {
        let problem = format!("{} packets to drop or delay, more than {MOST_PACKET_FATES}", packets.len());
        report.fault("packets", problem, "fewer, or a loss: path.loss");
    }
    let mut delays = HashMap::new();
    for (index, packet) in packets.iter().enumerate() {
        if *delays.entry(packet.number).or_insert(packet.delay) != packet.delay {
            let problem = format!("packet {} twice, with different delays", packet.number);
            report.fault(&format!("packets.{index}.number"), problem, "name each packet once");
        }
    }
}

impl Impairment {
    /// The mean delay: with a jitter alone, the jitter, so that no packet is early.
    #[must_use]
    pub const fn mean_delay(&self) -> u64 {
        if self.delay == 0 { self.jitter } else { self.delay }
    }

    /// Whether there is anything for netem to do.
    #[must_use]
    pub const fn impairs(&self) -> bool {
        self.mean_delay() > 0
            || self.loss.is_some()
            || self.duplicate.is_some()
            || self.corrupt.is_some()
            || self.slot.is_some()
    }
}

impl Verbatim {
    /// Whether it is for the own devices of all senders.
    #[must_use]
    pub fn is_on_senders(&self) -> bool {
        self.host == "sender"
    }
}

impl Segment {
    /// Whether it has a queue of its own.
    #[must_use]
    pub const fn has_queue(&self) -> bool {
        self.rate.is_some() || self.qdisc.is_some() || self.rate_trace.is_some()
    }
}

impl Path {
    /// The forward part of `rtt` that the file states, if it states one.
    #[must_use]
    pub fn stated_forward_delay(&self) -> Option<u64> {
        self.forward_delay.or_else(|| (self.impairment.delay > 0).then_some(self.impairment.delay))
    }

    /// The same of the reverse part.
    #[must_use]
    pub fn stated_reverse_delay(&self) -> Option<u64> {
        let old = self.reverse.as_ref().map_or(0, |reverse| reverse.impairment.delay);
        self.reverse_delay.or_else(|| (old > 0).then_some(old))
    }

    /// The delay of the forward direction, a part of `rtt`: as stated, or what the reverse direction leaves; with a jitter
    /// alone, the jitter.
    #[must_use]
    pub fn forward(&self) -> u64 {
        let left = || self.stated_reverse_delay().map(|back| self.rtt.saturating_sub(back));
        self.stated_forward_delay().or_else(left).unwrap_or_else(|| self.impairment.jitter.min(self.rtt))
    }

    /// The links in the order in which data crosses them, the bottleneck among them.
    #[must_use]
    pub fn link_names(&self) -> Vec<&str> {
        let is_there = |link: &&Link| link.segment.has_queue() || link.segment.impairment.impairs();
        let side = |position| {
            self.links.iter().filter(is_there).filter(move |link| link.position == position).map(|link| &link.name[..])
        };
        let bottleneck = self.bottleneck.as_ref().map(|_| "bottleneck");
        side(Position::Before).chain(bottleneck).chain(side(Position::After)).collect()
    }
}
