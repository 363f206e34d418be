//! Rules of the path: delays must add up, netem needs a delay for some options, one source of the rate.

use crate::declare::location::Report;
use crate::model::{Bottleneck, Impairment, Link, PacketFate, Path, Position, Verbatim};
use crate::units::milliseconds;
use std::collections::{HashMap, HashSet};

/// Each is a netem that all packets cross.
const MOST_PACKET_FATES: usize = 16;

/// netem delays only what has a delay.
pub fn impairment(made: &Impairment, report: &mut Report<'_>) {
    let needs_delay = [
        ("jitter", made.jitter > 0),
        ("reorder", made.reorder.is_some()),
        ("distribution", made.distribution.is_some()),
    ];
    for (key, is_set) in needs_delay {
        if is_set && made.delay == 0 {
            let right = format!("netem needs a delay for {key}: add delay = \"5ms\"");
            report.fault(key, format!("'{key}' without a delay"), right);
        }
    }
    if made.distribution.is_some() && made.jitter == 0 {
        report.fault("distribution", "'distribution' without a jitter", "add jitter = \"1ms\"");
    }
}

/// A trace, a rate, or a discipline that shapes.
pub fn bottleneck(made: &Bottleneck, report: &mut Report<'_>) {
    let has_trace = made.trace.as_ref().is_some_and(|name| !name.is_empty());
    if has_trace && made.rate.is_some() {
        report.fault("trace", "both a rate and a trace", "give one of them");
    }
    if !has_trace && made.rate.is_none() && made.qdisc.shaped_rate().is_none() {
        let right = "such as rate = \"80mbit\", or a qdisc that shapes by itself, such as \"tbf rate …\"";
        report.fault("rate", "no rate", right);
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
    if made.telemetry && made.tc.is_some() {
        let right = "links with a rate stamp packets: [path.bottleneck], links, access";
        report.fault("telemetry", "'telemetry' with tc commands", right);
    }
    let (delay, rtt) = (made.impairment.delay, made.rtt);
    let shown = milliseconds(rtt);
    if delay > rtt {
        let problem = format!("path.delay ({}) exceeds path.rtt ({shown})", milliseconds(delay));
        report.fault("delay", problem, "delay at most rtt");
    }
    let back = made.reverse.as_ref().map_or(0, |reverse| reverse.impairment.delay);
    if back > rtt {
        let problem = format!("path.reverse.delay ({}) exceeds path.rtt ({shown})", milliseconds(back));
        report.fault("reverse.delay", problem, "reverse.delay at most rtt");
    } else if back > 0 && delay > 0 && delay + back != rtt {
        let right = "give one of them; the other is rtt minus it";
        report.fault("reverse.delay", "delay and reverse.delay don't add up to rtt", right);
    }
    let mut names = HashSet::from(["bottleneck"]);
    for (number, link) in made.links.iter().enumerate() {
        if !names.insert(&link.name) {
            let right = "name each link differently, and none 'bottleneck'";
            report.fault(&format!("links.{number}.name"), "two links of one name", right);
        }
    }
    packets(&made.packets, report);
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
    /// Whether there is anything for netem to do.
    #[must_use]
    pub const fn impairs(&self) -> bool {
        self.delay > 0
            || self.loss.is_some()
            || self.duplicate.is_some()
            || self.corrupt.is_some()
            || self.slot.is_some()
    }
}

impl Path {
    /// The links in the order in which data crosses them, the bottleneck among them.
    #[must_use]
    pub fn link_names(&self) -> Vec<&str> {
        let is_there = |link: &&Link| {
            link.segment.rate.is_some() || link.segment.qdisc.is_some() || link.segment.impairment.impairs()
        };
        let side = |position| {
            self.links.iter().filter(is_there).filter(move |link| link.position == position).map(|link| &link.name[..])
        };
        let bottleneck = self.bottleneck.as_ref().map(|_| "bottleneck");
        side(Position::Before).chain(bottleneck).chain(side(Position::After)).collect()
    }
}
