//! Which key of a group goes with which kind of flow: the one list of it. A key that a kind of flow would ignore is
//! refused; the table of `docs/experiment.md` is made of this list.

use crate::declare::Declared;
use crate::declare::location::Report;
use crate::model::{Flows, Transport};
use crate::value::Table;
use std::fmt::Write as _;

/// What the flows of a group do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowKind {
    /// As fast as the controller lets them.
    Bulk,
    /// `bytes`.
    Sized,
    /// `on` and `off`.
    OnOff,
    /// `request` and `response`.
    Exchange,
    /// `arrivals`.
    Poisson,
    /// `kind = "udp"`.
    Udp,
    /// `kind = "quic"`.
    Quic,
}
use FlowKind::{Bulk, Exchange, OnOff, Poisson, Quic, Sized, Udp};

/// Every kind.
pub const KINDS: [FlowKind; 7] = [Bulk, Sized, OnOff, Exchange, Poisson, Udp, Quic];
const TCP: &[FlowKind] = &[Bulk, Sized, OnOff, Exchange, Poisson];
const NOT_EXCHANGE: &[FlowKind] = &[Bulk, Sized, OnOff, Poisson, Udp, Quic];
const NOT_QUIC: &[FlowKind] = &[Bulk, Sized, OnOff, Exchange, Poisson, Udp];

impl FlowKind {
    /// The kind of a group's flows.
    #[must_use]
    pub fn of(group: &Flows) -> Self {
        match group {
            Flows { kind: Transport::Udp, .. } => Udp,
            Flows { kind: Transport::Quic, .. } => Quic,
            _ if group.request.or(group.response).is_some() => Exchange,
            _ if group.arrivals.or(group.load).is_some() => Poisson,
            _ if group.on_time.or(group.off_time).is_some() => OnOff,
            _ if group.is_sized() => Sized,
            _ => Bulk,
        }
    }

    /// In messages and in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Bulk => "bulk",
            Sized => "sized",
            OnOff => "on/off",
            Exchange => "request/response",
            Poisson => "Poisson",
            Udp => "UDP",
            Quic => "QUIC",
        }
    }
}

/// A key that some kinds of flows don't have.
struct Refusal {
    key: &'static str,
    kinds: &'static [FlowKind],
    /// What to write instead.
    right: &'static str,
}

const fn refuse(key: &'static str, kinds: &'static [FlowKind], right: &'static str) -> Refusal {
    Refusal { key, kinds, right }
}

const STACKS_OWN: &str = "leave it out: the stack decides that";

const REFUSALS: &[Refusal] = &[
    refuse("cc", &[Udp], "leave it out: a UDP flow has no controller, it sends at 'rate'"),
    refuse("cc_parameters", &[Udp], "leave it out: a UDP flow has no controller"),
    refuse("bytes", &[Udp], "end a UDP flow with stop"),
    refuse("sizes", &[Udp], "end a UDP flow with stop"),
    refuse("bytes", &[Exchange], "response is the size of each answer"),
    refuse("sizes", &[Exchange], "response is the size of each answer"),
    refuse("on_time", &[Exchange], "think is the pause between a response and the next request"),
    refuse("off_time", &[Exchange], "think is the pause between a response and the next request"),
    refuse("request", &[Udp], "on_time and off_time for a UDP flow with pauses, or a TCP flow"),
    refuse("response", &[Udp], "on_time and off_time for a UDP flow with pauses, or a TCP flow"),
    refuse("think", NOT_EXCHANGE, "on_time and off_time for a flow with pauses, or request and response"),
    refuse("barrier", NOT_EXCHANGE, "request and response, whose flows can wait for each other"),
    refuse("arrivals", &[Exchange, Udp], "count and stagger for several such flows"),
    refuse("load", &[Exchange, Udp], "count and stagger for several such flows"),
    refuse("stagger", &[Poisson], "leave it out: arrivals are random"),
    refuse("start_jitter", &[Poisson], "leave it out: arrivals are random already"),
    refuse("rate", TCP, "pacing_rate limits a TCP flow"),
    refuse("payload", TCP, "path.mtu sets the size of TCP's packets"),
    refuse("initial_window", &[Udp], "leave it out: a UDP flow has no window, it sends at 'rate'"),
    refuse("delayed_ack", &[Udp], "leave it out: UDP has no acknowledgements"),
    refuse("prompt_reads", &[Exchange, Udp], "leave it out: such a flow's receiver always reads what arrives at once"),
    refuse("pacing_rate", &[Udp], "rate is the rate of a UDP flow"),
    refuse("stack", NOT_QUIC, "kind = \"quic\", or leave it out: Linux's TCP is the stack"),
    refuse("cc_parameters", &[Quic], STACKS_OWN),
    refuse("after", &[Quic], "start: a QUIC flow's programs start at a time"),
    refuse("on_time", &[Quic], "several groups with start and stop"),
    refuse("off_time", &[Quic], "several groups with start and stop"),
    refuse("request", &[Quic], "bytes, or a TCP flow"),
    refuse("response", &[Quic], "bytes, or a TCP flow"),
    refuse("arrivals", &[Quic], "count and stagger for several such flows"),
    refuse("load", &[Quic], "count and stagger for several such flows"),
    refuse("rate", &[Quic], "leave it out: the stack's controller decides"),
    refuse("payload", &[Quic], "path.mtu limits a stack's packets"),
    refuse("ecn", &[Quic], STACKS_OWN),
    refuse("sndbuf", &[Quic], STACKS_OWN),
    refuse("rcvbuf", &[Quic], STACKS_OWN),
    refuse("initial_window", &[Quic], STACKS_OWN),
    refuse("delayed_ack", &[Quic], STACKS_OWN),
    refuse("prompt_reads", &[Quic], STACKS_OWN),
    refuse("pacing_rate", &[Quic], STACKS_OWN),
];

/// Keys that an engine refuses, and why; the others are obeyed on every engine. [`crate::plan::remote`] and the engine
/// `host` refuse them.
const REFUSED_ON: &[(&str, [bool; 2])] = &[
    ("cc_parameters", [true, true]),
    ("initial_window", [false, true]),
    ("ecn", [false, true]),
    ("delayed_ack", [false, true]),
    ("route", [false, true]),
    ("enter", [false, true]),
    ("leave", [false, true]),
    ("access", [false, true]),
    ("host_qdisc", [false, true]),
    ("direction", [false, true]),
];

/// Refuses the keys that a group's kind of flow would ignore.
pub fn check(made: &Flows, report: &mut Report<'_>) {
    let mut set = Table::default();
    made.write_into(&mut set);
    let kind = FlowKind::of(made);
    for Refusal { key, right, .. } in REFUSALS.iter().filter(|each| each.kinds.contains(&kind) && set.has(each.key)) {
        report.fault(key, format!("'{key}' has no effect on a {} flow", kind.name()), *right);
    }
}

/// The keys that some kind of flow or some engine refuses, in Markdown; the others go with all.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from("| key |");
    for kind in KINDS {
        _ = write!(text, " {} |", kind.name());
    }
    text.push_str(" `sim`, `kernel` | `host`: namespaces | `host`: real hosts |\n| --- |");
    text.push_str(&" --- |".repeat(KINDS.len() + 3));
    text.push('\n');
    for key in Flows::SPEC.keys {
        let is_refused =
            |kind: FlowKind| REFUSALS.iter().any(|each| each.key == key.name && each.kinds.contains(&kind));
        let engines = REFUSED_ON.iter().find(|(name, _)| *name == key.name).map_or([false; 2], |(_, engines)| *engines);
        let cells = KINDS.map(is_refused).into_iter().chain([false]).chain(engines);
        let cells: Vec<_> = cells.map(|refused| if refused { "–" } else { "✓" }).collect();
        _ = writeln!(text, "| `{}` | {} |", key.name, cells.join(" | "));
    }
    text
}
