//! What a simulated run means: its facts, of which `crates/metrics` computes the numbers that `dumbbell run --json`
//! prints.

use dumbbell_experiment::model::Transport;
use dumbbell_metrics::{Facts, Flow, Known, Metrics, Names, Numbers, Queue, Run, Table, Values};
use dumbbell_plan::{self as types, Plan};
use dumbbell_sim::report::FlowReport;
use dumbbell_sim::{Column, RunResult};
use dumbbell_table::{Bits, Cells};

const NS: f64 = 1e9;
/// The manifest has whole microseconds.
const MICROSECOND_NS: u64 = 1_000;

/// What `find` finds in a run.
pub fn with<T>(facts: &Facts, result: &RunResult, find: impl FnOnce(&Run<'_>) -> T) -> T {
    let [flows, queues, probes] = [&result.flows, &result.queues, &result.probes].map(Columns);
    find(&Run::new(facts, &flows, &queues, &probes))
}

/// All single numbers of a run.
pub fn all(run: &Run<'_>) -> Metrics {
    let whole = "the whole run is no window outside it";
    Metrics { cycle: run.cycle(None).expect(whole), ..run.metrics(None).expect(whole) }
}

/// What the run is made of, as its manifest says it.
pub fn facts(plan: &Plan, result: &RunResult) -> Facts {
    let report = &result.report;
    let under_test = plan.bottleneck.as_ref().and_then(|name| plan.queues.iter().find(|queue| queue.name == *name));
    let duration_ns = report.duration_ns / MICROSECOND_NS * MICROSECOND_NS;
    Facts {
        duration_ns: duration_ns.cast_signed(),
        flows: plan.flows.iter().zip(&report.flows).map(|(plan, report)| flow(plan, report, duration_ns)).collect(),
        queue: under_test.map(|planned| queue(planned, result)),
        queues: plan.queues.iter().map(|planned| queue(planned, result)).collect(),
        holds_super_packets: plan.net.offloads || plan.queues.iter().any(|queue| queue.key.starts_with("path.tc")),
        is_import: false,
    }
}

fn flow(plan: &types::Flow, report: &FlowReport, duration_ns: u64) -> Flow {
    let is_udp = plan.transport == Transport::Udp;
    let times = || report.completed_ns.zip(report.started_ns);
    Flow {
        name: plan.name.clone(),
        group: plan.group.clone(),
        cc: report.cc.clone().filter(|_| !is_udp),
        is_udp,
        is_intermittent: plan.on_off_ns.is_some() || plan.exchange.is_some(),
        start_ns: report.started_ns.unwrap_or(duration_ns).cast_signed(),
        stop_ns: if report.started_ns.is_some() { report.stopped_ns } else { Some(duration_ns) }.map(u64::cast_signed),
        bytes_asked: plan.bytes,
        bytes_received: Some(report.bytes_received),
        retransmits: Some(report.retransmits).filter(|_| !is_udp),
        data_segs_out: Some(report.data_segs_out).filter(|_| !is_udp),
        fct_s: times().map(|(completed, started)| seconds(completed) - seconds(started)),
        handshake_s: None,
        exchanges_s: plan.exchange.map(|_| report.exchanges_ns.iter().copied().map(seconds).collect()),
    }
}

fn queue(plan: &types::Queue, result: &RunResult) -> Queue {
    let last = |column| {
        let queues = Columns(&result.queues);
        let row = queues.names("queue")?.rows_of(&plan.name).last()?;
        let Column::I64(cells) = result.queues.column(column)? else { return None };
        cells.get(row).map(i64::cast_unsigned)
    };
    #[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
    let rates = plan.limits().iter().map(|(start, rate)| (seconds(*start), Some(*rate as f64))).collect();
    Queue {
        name: plan.name.clone(),
        qdisc: plan.text.clone(),
        is_under_test: plan.under_test,
        rates,
        drops: last("drops_packets"),
        marks: last("marks_packets"),
        sent_bytes: last("sent_bytes"),
        sent_packets: last("sent_packets"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
fn seconds(ns: u64) -> f64 {
    ns as f64 / NS
}

/// The simulator's columns as `crates/metrics` reads them.
pub struct Columns<'a>(pub &'a dumbbell_sim::Table);

impl Table for Columns<'_> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn numbers(&self, column: &str) -> Option<Numbers<'_>> {
        let (values, known) = match self.0.column(column)? {
            Column::I64(cells) => (Values::I64(cells.values()), known(cells)),
            Column::U32(cells) => (Values::U32(cells.values()), known(cells)),
            Column::U8(cells) => (Values::U8(cells.values()), known(cells)),
            Column::F64(cells) => (Values::F64(cells.values()), known(cells)),
            Column::U16(_) | Column::Bool(_) | Column::Name(..) => return None,
        };
        Some(Numbers { values, known })
    }

    fn names(&self, column: &str) -> Option<Names<'_>> {
        let Column::Name(codes, list) = self.0.column(column)? else { return None };
        Some(Names { codes: codes.values(), known: known(codes), list })
    }
}

fn known<T: Copy + Default>(cells: &Cells<T>) -> Option<Known<'_>> {
    cells.known().map(|bits: &Bits| Known { bytes: bits.as_bytes(), offset: 0 })
}
