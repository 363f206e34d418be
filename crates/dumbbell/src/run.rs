//! The result of a run: columns of samples, totals, metrics.

use crate::metrics;
use dumbbell_experiment::plan::Plan;
use dumbbell_metrics::Metrics;
use dumbbell_sim::packet_trace::TraceResult;
use dumbbell_sim::report::Report;
use dumbbell_sim::{RunResult, Table};

/// The result of a run.
#[derive(Debug)]
pub struct Run {
    result: RunResult,
    metrics: Metrics,
}

impl Run {
    pub(crate) fn new(plan: &Plan, result: RunResult) -> Self {
        Self { metrics: metrics::of(plan, &result), result }
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

    /// One row per ping or UDP probe: `sent_ns`, `rtt_ns` and so on.
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
