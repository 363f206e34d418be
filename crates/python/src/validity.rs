//! Verdicts on runs, for Python.

use crate::arrow::Arrow;
use crate::plan::{Plan, Queue};
use dumbbell::validity::{self, FlowEnd, FlowOutcome, Outcome, QueueOutcome};
use dumbbell_metrics::Table;
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// A report of a flow with the agent's keys.
#[derive(FromPyObject)]
pub struct Report {
    #[pyo3(item, default)]
    cc: Option<String>,
    #[pyo3(item)]
    started_ns: Option<u64>,
    #[pyo3(item, default)]
    connected_ns: Option<u64>,
    #[pyo3(item, default)]
    completed_ns: Option<u64>,
    #[pyo3(item, default)]
    error: Option<String>,
}

impl From<Report> for FlowEnd {
    fn from(report: Report) -> Self {
        let Report { cc, started_ns, connected_ns, completed_ns, error } = report;
        Self { cc, started_ns, connected_ns, completed_ns, error }
    }
}

/// Judges flows and queues: why the run is invalid, warnings, names of flows that had too little time to connect.
///
/// `drops`: by name of a queue. `queues`: the samples; a handshake may take as long as their longest delay.
#[pyfunction]
#[pyo3(signature = (plan, reports, named, drops, queues=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn judge_flows(
    plan: &Bound<'_, Plan>,
    reports: Vec<Report>,
    named: Vec<Bound<'_, Queue>>,
    drops: BTreeMap<String, i64>,
    queues: Option<&Bound<'_, Arrow>>,
) -> (Vec<String>, Vec<String>, Vec<String>) {
    let plan = &plan.get().plan;
    // Only handshakes that may need more time depend on the delays.
    let is_unconnected = |report: &Report| report.started_ns.is_some() && report.connected_ns.is_none();
    let queues = queues.filter(|_| reports.iter().any(is_unconnected));
    let delays = queues.map(|queues| longest_delays_ns(queues.get())).unwrap_or_default();
    let queue = |queue: &Bound<'_, Queue>| {
        let queue = &queue.get().0;
        let of = |name| drops.get(name).copied().unwrap_or(0);
        QueueOutcome::of(queue, of(&queue.name), delays.get(&queue.name[..]).copied().unwrap_or(0))
    };
    let outcome = Outcome {
        duration_ns: plan.duration_ns,
        flows: plan.flows.iter().zip(reports).map(|(flow, report)| FlowOutcome::of(flow, report.into())).collect(),
        queues: named.iter().map(queue).collect(),
    };
    let found = validity::judge(&outcome);
    (found.invalid, plan.warnings.iter().cloned().chain(found.warnings).collect(), found.too_late)
}

/// The longest queueing delay of each queue in any sample.
fn longest_delays_ns(queues: &Arrow) -> BTreeMap<&str, u64> {
    let mut longest = BTreeMap::new();
    let (Some(names), Some(delays)) = (queues.names("queue"), queues.numbers("delay_ns")) else { return longest };
    for row in 0..queues.rows() {
        if let Some(delay) = delays.get(row) {
            let most = longest.entry(&names.list[names.codes[row] as usize][..]).or_default();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a delay in nanoseconds")]
            let delay = delay as u64;
            *most = delay.max(*most);
        }
    }
    longest
}

/// A warning for each flow whose controller set a window of 0.
#[pyfunction]
pub fn closed_windows(flows: &Bound<'_, Arrow>) -> Vec<String> {
    validity::closed_windows(flows.get())
}
