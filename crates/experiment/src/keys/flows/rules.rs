//! Rules of a group of flows beyond those of its kind ([`super::kinds`]): what goes together.

use super::kinds::{self, FlowKind};
use crate::declare::Simple;
use crate::declare::generic::Boolean;
use crate::declare::location::Report;
use crate::model::{Direction, Flows, Transport};
use crate::value::{Table, Value};
use dumbbell_net::cc::Controller;
use dumbbell_plan::Ecn;
use dumbbell_plan::stacks::Stack;

const SHORTEST_UDP_INTERVAL: u64 = 1_000;
/// A request must fit one socket buffer.
const LONGEST_REQUEST: u64 = 16_384;

/// A distribution in the place of a size, a load in that of a rate of arrivals: keys of their own.
pub fn with_distributions(table: &Table) -> Option<Table> {
    let mut made = table.clone();
    let moved = |made: &mut Table, key: &str, to: &str, of: fn(Value) -> Option<Value>| {
        let held = made.get(key).filter(|value| value.table().is_some())?.clone();
        let held = of(held)?;
        _ = made.take(key);
        made.set(to, held);
        Some(())
    };
    let sizes = moved(&mut made, "bytes", "sizes", Some);
    let load = moved(&mut made, "arrivals", "load", |value| {
        let table = value.table()?;
        if table.0.len() == 1 { table.get("load").cloned() } else { None }
    });
    sizes.or(load).map(|()| made)
}

/// The key of a fault as the file has it: `bytes` where [`with_distributions`] moved its distribution.
pub fn as_written(key: String, document: &Value) -> String {
    let parts: Vec<_> = key.split('.').collect();
    let &["flows", number, own] = &parts[..] else { return key };
    let Some((_, written)) = [("sizes", "bytes"), ("load", "arrivals")].into_iter().find(|(each, _)| *each == own)
    else {
        return key;
    };
    let groups = document.table().and_then(|table| table.get("flows")).and_then(Value::list).unwrap_or_default();
    let group = number.parse::<usize>().ok().and_then(|number| groups.get(number)).and_then(Value::table);
    if group.is_some_and(|group| group.has(written) && !group.has(own)) {
        return format!("flows.{number}.{written}");
    }
    key
}

/// Of `ecn`, which was a boolean: true asked for ECN, false left it to the controller.
#[must_use]
pub fn word_of_ecn(value: &Value) -> Option<Ecn> {
    let is_word = Ecn::WORDS.iter().any(|word| value.text() == Some(word));
    let asks = Boolean::parse(value).ok().filter(|_| !is_word)?;
    Some(if asks { Ecn::Classic } else { Ecn::Auto })
}

/// All of them.
pub fn check(made: &Flows, report: &mut Report<'_>) {
    kinds::check(made, report);
    let (is_tcp, is_udp) = (made.kind == Transport::Tcp, made.kind == Transport::Udp);
    let starts_last = made.start + made.start_jitter;
    // Whether it is sound; the key at fault; the problem; what would be right.
    let rules = [
        (!is_tcp || made.cc.is_some(), "cc", "'cc' goes with TCP flows, and each needs one", "such as cc = \"bbr\""),
        (!is_udp || made.rate.is_some(), "rate", "a UDP flow without a rate", "such as rate = \"1mbit\""),
        (
            !is_udp || made.rate.is_none() || made.udp_interval() >= SHORTEST_UDP_INTERVAL,
            "rate",
            "UDP packets closer than 1us",
            "larger packets",
        ),
        (
            made.after.is_some() || made.stop.is_none_or(|stop| stop > starts_last),
            "stop",
            "a flow that stops before it starts",
            "stop must be after start",
        ),
        (
            made.on_time.is_some() == made.off_time.is_some(),
            if made.on_time.is_some() { "on_time" } else { "off_time" },
            "'on_time' and 'off_time' go together",
            "give both or none",
        ),
        (
            made.request.is_some() == made.response.is_some(),
            if made.request.is_some() { "request" } else { "response" },
            "'request' and 'response' go together",
            "give both",
        ),
        (
            made.request.unwrap_or(0) <= LONGEST_REQUEST,
            "request",
            "a request longer than 16384 bytes",
            "requests fit one socket buffer",
        ),
        (
            FlowKind::of(made) != FlowKind::Poisson || made.is_sized(),
            "arrivals",
            "'arrivals' without 'bytes'",
            "Poisson flows have a size",
        ),
        (
            made.load.is_none() || made.arrivals.is_none(),
            "load",
            "both a rate of arrivals and a load",
            "give one of them",
        ),
        (
            made.sizes.is_none() || made.bytes.is_none(),
            "sizes",
            "both a size and a distribution of sizes",
            "give one of them",
        ),
    ];
    let ecn_rules = [
        (
            !is_udp || made.ecn != Ecn::AccEcn,
            "ecn",
            "Accurate ECN is TCP's",
            "ecn = \"classic\": packets that a queue may mark",
        ),
        (
            made.ecn != Ecn::Off || !is_tcp || !made.cc.as_deref().is_some_and(Controller::needs_ecn),
            "ecn",
            "a controller that needs ECN, without ECN",
            "cc = \"reno\", which Linux runs in its place where ECN is refused, or leave ecn out",
        ),
    ];
    let rules = rules.into_iter().chain(ecn_rules);
    for (_, key, problem, right) in rules.into_iter().filter(|(is_sound, ..)| !is_sound) {
        report.fault(key, problem, right);
    }
    if made.direction == Direction::Reverse {
        reverse(made, report);
    }
    if made.kind == Transport::Quic {
        quic(made, report);
    }
}

/// A QUIC flow is two processes.
const MAX_QUIC_FLOWS: u32 = 64;

/// A stack has controllers of its own.
fn quic(made: &Flows, report: &mut Report<'_>) {
    if made.count > MAX_QUIC_FLOWS {
        let problem = format!("{} QUIC flows, each of which is two programs", made.count);
        report.fault("count", problem, format!("at most {MAX_QUIC_FLOWS}"));
    }
    let Some(stack) = made.stack.as_deref().and_then(Stack::named) else {
        report.fault("stack", "a QUIC flow without a stack", format!("one of {}", Stack::NAMES.join(", ")));
        return;
    };
    if let Some(cc) = made.cc.as_deref().filter(|cc| !stack.controllers.contains(cc)) {
        let problem = format!("{} has no controller '{cc}'", stack.name);
        report.fault("cc", problem, format!("one of {}", stack.controllers.join(", ")));
    }
}

/// What belongs to the sending host's route can't be set for one of the groups that send from the receivers' side.
fn reverse(made: &Flows, report: &mut Report<'_>) {
    let of_route = [
        ("initial_window", made.initial_window.is_some()),
        ("delayed_ack", !made.delayed_ack),
        ("ecn", made.ecn != Ecn::Auto && made.kind == Transport::Tcp),
    ];
    for (key, _) in of_route.into_iter().filter(|(_, is_set)| *is_set) {
        let problem =
            format!("'{key}' of a group whose data goes in reverse: the receivers share one host and its routes");
        report.fault(key, problem, "leave it out; tcp.ecn is for all groups");
    }
}

impl Flows {
    /// Whether each flow has a size.
    #[must_use]
    pub const fn is_sized(&self) -> bool {
        self.bytes.is_some() || self.sizes.is_some()
    }

    /// Time between two packets of a UDP flow; 0 for TCP.
    #[must_use]
    pub fn udp_interval(&self) -> u64 {
        self.rate.map_or(0, |rate| u64::from(self.payload) * 8 * 1_000_000_000 / rate)
    }
}
