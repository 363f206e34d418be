//! The panels of a run's figure as data: lines, bands and marks with their colours, of the tables and facts that
//! `crates/metrics` reads.
//!
//! Reports, `dumbbell plot`, the server and the page in a browser draw what this crate returns: nothing about a figure is
//! computed elsewhere. A [`Figure`] is a description, in JSON for a page, and columns of numbers that it names by offset
//! and length.

#![forbid(unsafe_code)]

pub mod colours;
mod lines;
mod panel;
mod panels;
mod states;

pub use lines::{FLOWS_MAX, POINTS, kept};
pub use panel::{Axis, Curve, Entry, Figure, Layer, Line, OF_FLOWS_OPACITY, Of, Panel, Span};
pub use panels::written_limit;

use colours::Member;
use dumbbell_metrics::{Numbers, Run};
use lines::{Lines, is_known};
use panel::Columns;
use panels::Drawing;
use std::collections::BTreeMap;

/// A panel that a figure can have.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    /// The name that `--panels` accepts.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Columns (`table.column`), of which one must have values; none: any run has it.
    pub needs: &'static [&'static str],
    /// Why a run may lack them.
    pub why: &'static str,
    /// Whether it has a line for each flow, which a group can have alone.
    pub is_of_flows: bool,
    draw: fn(&mut Drawing<'_>) -> Panel,
}

const BBR: &str = "only BBR reports it, and no flow ran BBR";

macro_rules! panels {
    ($($name:literal, $draw:ident, $of_flows:literal, [$($needs:literal),*], $why:expr, $about:literal;)*) => {
        [$(Declared {
            name: $name,
            about: $about,
            needs: &[$($needs),*],
            why: $why,
            is_of_flows: $of_flows,
            draw: |drawing| drawing.$draw(),
        }),*]
    };
}

/// All panels: name, function, whether of flows, what it needs, why it may be missing, what it shows.
pub const PANELS: [Declared; 17] = panels![
    "delivered", delivered, true, [], "", "data of each flow that was delivered, in order or not";
    "throughput", throughput, true, [], "", "goodput of each flow at its receiver: data in order";
    "cwnd", cwnd, true, ["flows.cwnd_packets", "flows.cwnd_bytes"], "", "congestion window";
    "rtt", rtt, true, ["flows.rtt_ns"], "", "smoothed round-trip time";
    "queue", queue, false, ["queues.backlog_packets"], "",
        "packets in the bottleneck's queue, its limit, drops and marks";
    "rates", rates, true, ["flows.delivery_rate_bps"], "", "delivery rate, and pacing rate behind it";
    "retransmits", retransmits, true, ["flows.retrans_packets"], "", "retransmitted segments per second";
    "inflight", inflight, true, ["flows.inflight_packets"], "", "packets in flight against the path's BDP";
    "ping", ping, false, ["probes.rtt_ns"], "the run had no ping probe", "round-trip time of pings";
    "groups", groups, false, [], "", "goodput of each group: the sum of its flows";
    "states", states, false, ["flows.cc_phase", "flows.bbr_pacing_gain"],
        "reported by the simulator, and by a kernel for BBR", "bands: state of each flow's controller";
    "bandwidth", bandwidth, true, ["flows.bbr_bw_bps"], BBR,
        "BBR's estimate of its bandwidth against the link's rate";
    "gains", gains, true, ["flows.bbr_pacing_gain"], BBR, "BBR's pacing gain and cwnd gain";
    "loss", loss, false, ["flows.retrans_packets", "flows.datagrams_lost"], "",
        "ticks: retransmissions of each flow, lost datagrams of UDP, drops and marks of the queue";
    "jitter", jitter, true, ["flows.jitter_ns"], "no UDP flow ran", "jitter of UDP flows at their receivers";
    "loss-rate", loss_rate, false, ["queues.drops_packets"], "", "share of the packets that the bottleneck dropped";
    "fairness", fairness, false, [], "fewer than two long-lived flows ran", "Jain's index of the long-lived flows";
];

/// The declared panel of this name.
#[must_use]
pub fn declared(name: &str) -> Option<&'static Declared> {
    PANELS.iter().find(|panel| panel.name == name)
}

/// The named panels of a run, with lines of so many points; `cwnd_in_bytes` sets the unit of windows, else it is what more
/// flows have. Names that are not declared are left out.
#[must_use]
pub fn figure(run: &Run<'_>, names: &[&str], points: usize, cwnd_in_bytes: Option<bool>) -> Figure {
    let mut drawing = drawing(run, points, cwnd_in_bytes);
    let draw = |panel: &Declared| Panel { name: panel.name, ..(panel.draw)(&mut drawing) };
    let panels = names.iter().filter_map(|name| declared(name)).map(draw).collect();
    Figure { panels, samples: BTreeMap::new(), numbers: drawing.columns.into_numbers() }
}

/// What a page shows of a run: those of the named panels for which it has data, and columns of the first flow's samples,
/// with their times in `time_s`; NaN: unknown.
#[must_use]
pub fn page(run: &Run<'_>, names: &[&str], points: usize, columns: &[&str]) -> Figure {
    let names: Vec<_> =
        names.iter().copied().filter(|name| declared(name).is_some_and(|panel| lacks(run, panel).is_none())).collect();
    let mut figure = figure(run, &names, points, None);
    let rows = if run.facts.flows.is_empty() || columns.is_empty() { &[][..] } else { run.rows_of(0) };
    let read = |column: Numbers<'_>, per: f64| -> Vec<f64> {
        rows.iter().map(|row| column.get(*row as usize).map_or(f64::NAN, |value| value / per)).collect()
    };
    let known = columns.iter().filter_map(|name| run.flows.numbers(name).map(|column| (*name, read(column, 1.0))));
    let times =
        run.flows.numbers("time_ns").filter(|_| !columns.is_empty()).map(|times| ("time_s", read(times, lines::NS)));
    for (name, values) in times.into_iter().chain(known) {
        figure.samples.insert(name.to_owned(), (figure.numbers.len(), values.len()));
        figure.numbers.extend(values);
    }
    figure
}

/// The lines of a run's legend: its flows, or with more than [`FLOWS_MAX`] its groups, at most so many.
#[must_use]
pub fn members(run: &Run<'_>) -> Vec<Member> {
    Lines { run, points: POINTS }.members()
}

/// All groups of a run, with the controller that all of its flows have.
#[must_use]
pub fn groups(run: &Run<'_>) -> Vec<Member> {
    Lines { run, points: POINTS }.groups()
}

/// The data that a run lacks for a declared panel, with a possible reason; None if it can be drawn.
#[must_use]
pub fn lacks(run: &Run<'_>, panel: &Declared) -> Option<String> {
    let drawing = drawing(run, POINTS, None);
    let is_import = run.facts.is_import;
    if is_import && ["delivered", "throughput", "groups"].contains(&panel.name) && !drawing.has_goodput() {
        return Some("the logs have no byte counts over time".into());
    }
    if panel.name == "fairness" {
        return drawing.jain().s.is_empty().then(|| panel.why.to_owned());
    }
    if panel.name == "states" && run.phases().iter().any(|phases| !phases.names.is_empty()) {
        return None; // Reported or inferred.
    }
    if panel.needs.is_empty() || panel.needs.iter().any(|column| has_values(run, column)) {
        return None;
    }
    let why = if is_import { "the logs don't record it" } else { panel.why };
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    Some(format!("the run has no values in {}{why}", panel.needs.join(" and ")))
}

fn drawing<'a>(run: &'a Run<'a>, points: usize, cwnd_in_bytes: Option<bool>) -> Drawing<'a> {
    let lines = Lines { run, points };
    let columns = Columns::new(lines.duration_s());
    Drawing { lines, columns, cwnd_in_bytes }
}

fn has_values(run: &Run<'_>, column: &str) -> bool {
    let (table, name) = column.split_once('.').expect("table.column");
    let facts = run.facts;
    let bottleneck = |queue: &str| facts.queue.as_ref().is_some_and(|known| known.name == queue);
    match table {
        // 0: no measurement yet.
        "flows" if name == "rtt_ns" => {
            let rtts = run.flows.numbers(name);
            (0..run.flows.rows()).any(|row| rtts.and_then(|rtts| rtts.get(row)).is_some_and(|rtt| rtt > 0.0))
        }
        "flows" if name == "cc_phase" => {
            run.flows.names(name).is_some_and(|names| (0..run.flows.rows()).any(|row| names.get(row).is_some()))
        }
        "flows" => is_known(run.flows.numbers(name), run.flows.rows()),
        // Other queues are not drawn; drops are drawn only for the bottleneck.
        "queues" => {
            let (Some(names), Some(values)) = (run.queues.names("queue"), run.queues.numbers(name)) else {
                return false;
            };
            let sent = run.queues.numbers("sent_packets");
            let is_drawn = |row: usize, queue: &str| {
                if name == "drops_packets" {
                    return bottleneck(queue) && sent.is_some_and(|sent| sent.get(row).is_some());
                }
                bottleneck(queue) || facts.queues.iter().any(|known| known.name == queue && known.is_under_test)
            };
            (0..run.queues.rows())
                .any(|row| values.get(row).is_some() && names.get(row).is_some_and(|queue| is_drawn(row, queue)))
        }
        // A capture's RTT samples are probes too.
        _ => run
            .probes
            .names("kind")
            .zip(run.probes.numbers(name))
            .is_some_and(|(kinds, values)| kinds.rows_of("ping").any(|row| values.get(row).is_some())),
    }
}
