//! The result of a run: columns of samples, totals, metrics, series, validity.

use crate::metrics;
use crate::validity::{self, Verdict};
use dumbbell_figures::Figure;
use dumbbell_metrics::{Facts, Metrics};
use dumbbell_plan::Plan;
use dumbbell_sim::packet_trace::TraceResult;
use dumbbell_sim::report::Report;
use dumbbell_sim::{RunResult, Table};

/// The result of a run.
#[derive(Debug)]
pub struct Run {
    plan: Plan,
    facts: Facts,
    result: RunResult,
    metrics: Metrics,
}

/// Counts of one flow over time, in even bins from the start of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Goodput in bit/s (see `dumbbell_metrics::Run::goodput_bps`).
    pub goodput_bps: Vec<f64>,
    /// Retransmitted segments; empty for a flow without such a counter.
    pub retransmits: Vec<f64>,
}

/// A state of a flow's controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Start.
    pub start_ns: i64,
    /// Stop.
    pub stop_ns: i64,
    /// Whether it is inferred from other columns.
    pub is_inferred: bool,
}

impl Run {
    pub(crate) fn new(plan: Plan, result: RunResult) -> Self {
        let facts = metrics::facts(&plan, &result);
        let metrics = metrics::with(&facts, &result, metrics::all);
        Self { plan, facts, result, metrics }
    }

    /// What was run: flows, queues, bottleneck.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether the run measured what the experiment specifies.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        validity::judge_simulated(&self.plan, &self.result)
    }

    /// Each flow's counts in all complete bins of `step_ns`, in the order of the plan.
    ///
    /// # Errors
    ///
    /// The step is 0 or less.
    pub fn series(&self, step_ns: i64) -> Result<Vec<Series>, dumbbell_metrics::Error> {
        metrics::with(&self.facts, &self.result, |run| {
            let edges = run.edges(step_ns, None)?;
            let goodput = run.goodput_bps(&edges).into_iter().enumerate();
            let of = |(flow, goodput_bps): (usize, Vec<f64>)| {
                #[expect(clippy::cast_precision_loss, reason = "a number of segments")]
                let total = self.facts.flows[flow].retransmits.map(|count| count as f64);
                let counter = run.counter(flow, "retrans_packets", total);
                let retransmits = if counter.is_empty() { Vec::new() } else { counter.differences(&edges) };
                Series { goodput_bps, retransmits }
            };
            Ok(goodput.map(of).collect())
        })
    }

    /// The length of the bins of a figure with at most so many: see [`dumbbell_metrics::step_ns`].
    #[must_use]
    pub fn step_ns(&self, bins: u32) -> i64 {
        #[expect(clippy::cast_precision_loss, reason = "a duration")]
        dumbbell_metrics::step_ns(self.facts.duration_ns as f64, bins)
    }

    /// Those of the named panels for which the run has data, and columns of the first flow's samples: see
    /// [`dumbbell_figures::page`].
    #[must_use]
    pub fn figure(&self, names: &[&str], points: usize, columns: &[&str]) -> Figure {
        metrics::with(&self.facts, &self.result, |run| dumbbell_figures::page(run, names, points, columns))
    }

    /// The states of each flow's controller, in the order of the plan.
    #[must_use]
    pub fn phases(&self) -> Vec<Vec<Phase>> {
        metrics::with(&self.facts, &self.result, |run| {
            let of = |found: &dumbbell_metrics::Phases<'_>| {
                let phase = |index: usize| Phase {
                    name: found.names[index].to_owned(),
                    start_ns: found.starts_ns[index],
                    stop_ns: found.stops_ns[index],
                    is_inferred: found.inferred[index],
                };
                (0..found.names.len()).map(phase).collect()
            };
            run.phases().iter().map(of).collect()
        })
    }

    /// Single numbers of flows, groups and the queue under test.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// One row per sample and flow: `time_ns`, `flow`, `cwnd_packets`, `rtt_ns`, `bytes_received` and so on.
    #[must_use]
    pub fn flows(&self) -> &Table {
        &self.result.flows
    }

    /// One row per sample and queue: `time_ns`, `queue`, `backlog_bytes`, `drops_packets` and so on.
    #[must_use]
    pub fn queues(&self) -> &Table {
        &self.result.queues
    }

    /// One row per ping or UDP probe: `time_ns`, `rtt_ns` and so on.
    #[must_use]
    pub fn probes(&self) -> &Table {
        &self.result.probes
    }

    /// The path of every packet of a window, one row per packet, and how many did not fit; None without
    /// [`crate::Experiment::start_recording`].
    #[must_use]
    pub fn packets(&self) -> Option<&TraceResult> {
        self.result.packet_trace.as_ref()
    }

    /// Totals: bytes, retransmissions and times of flows, counters of queues, drops of devices.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.result.report
    }
}
