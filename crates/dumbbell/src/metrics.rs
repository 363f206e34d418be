//! Single numbers of a run, with formula, unit and source; the same as `dumbbell run --json` prints.
//!
//! A number that is not known is None, never NaN.

use dumbbell_experiment::model::Transport;
use dumbbell_experiment::plan::Plan;
use dumbbell_experiment::plan::types::{Flow, Queue};
use dumbbell_sim::report::{FlowReport, QueueReport};
use dumbbell_sim::{Column, RunResult, Table};
use serde::Serialize;
use std::collections::BTreeMap;

const NS: f64 = 1e9;

/// Single numbers of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Flows in the order of the experiment.
    pub flows: Vec<FlowMetrics>,
    /// Groups by name.
    pub groups: BTreeMap<String, GroupMetrics>,
    /// The queue under test.
    pub queue: Option<QueueMetrics>,
    /// Bits that the queue under test sent ÷ bits that it could have sent; None if it has no rate.
    pub utilization: Option<f64>,
    /// Jain's index (Σx)² ÷ (n Σx²) over the throughput of TCP flows without a size that were active for at least half
    /// of the run (Jain, Chiu & Hawe 1984, DEC-TR-301).
    pub jain: Option<f64>,
}

/// Numbers of one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowMetrics {
    /// Name.
    pub name: String,
    /// Group.
    pub group: String,
    /// Congestion control; None for UDP.
    pub cc: Option<String>,
    /// 8 × bytes received in order ÷ lifetime, in Mbit/s: goodput (RFC 2647 section 3.17).
    pub throughput_mbps: Option<f64>,
    /// Bytes that the receiver got in order.
    pub bytes: u64,
    /// Completion time of a flow with a size, in seconds; None until it completes.
    pub fct_s: Option<f64>,
    /// Retransmitted segments (RFC 4898, `SegsRetrans`).
    pub retransmits: Option<u64>,
    /// Retransmitted ÷ sent data segments; sent includes retransmissions.
    pub retransmit_rate: Option<f64>,
    /// Smoothed RTT (RFC 6298) over all samples, in milliseconds.
    pub rtt_ms: Option<Spread>,
    /// Congestion window over all samples, in packets.
    pub cwnd_packets: Option<Spread>,
}

/// Numbers of one group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GroupMetrics {
    /// 8 × bytes received by its flows ÷ length of the run, in Mbit/s.
    pub throughput_mbps: Option<f64>,
    /// Its goodput ÷ all groups' goodput.
    pub share: Option<f64>,
}

/// Numbers of the queue under test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueMetrics {
    /// Backlog over all samples, in packets.
    pub packets: Option<Spread>,
    /// Dropped packets.
    pub drops: u64,
    /// Marked packets; None if its kind never marks.
    pub marks: Option<u64>,
}

/// Mean, median, 95th percentile and maximum of samples.
///
/// Percentiles interpolate linearly between the two nearest samples (type 7 of Hyndman & Fan 1996).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Maximum.
    pub max: f64,
}

impl Spread {
    /// Of samples in any order; None without samples.
    #[must_use]
    pub fn of(mut samples: Vec<f64>) -> Option<Self> {
        let mean = samples.iter().sum::<f64>() / float(samples.len() as u64);
        samples.sort_by(f64::total_cmp);
        let max = *samples.last()?;
        Some(Self { mean, p50: percentile(&samples, 0.5), p95: percentile(&samples, 0.95), max })
    }
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    let position = float(sorted.len() as u64 - 1) * share;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of the samples")]
    let index = position as usize;
    let (low, high) = (sorted[index], sorted[(index + 1).min(sorted.len() - 1)]);
    let part = position.fract();
    if part >= 0.5 { high - (high - low) * (1.0 - part) } else { low + (high - low) * part }
}

impl Metrics {
    pub(crate) fn of(plan: &Plan, result: &RunResult) -> Self {
        let report = &result.report;
        let duration_s = seconds(report.duration_ns);
        let lives: Vec<_> = report.flows.iter().map(|flow| (flow.started_ns.unwrap_or(0), flow.stopped_ns)).collect();
        let flows: Vec<_> =
            plan.flows.iter().zip(&report.flows).map(|(plan, flow)| of_flow(plan, flow, result)).collect();
        let queue = plan.bottleneck.as_ref().and_then(|name| {
            let planned = plan.queues.iter().find(|queue| queue.name == *name)?;
            Some((planned, report.queues.iter().find(|queue| queue.name == *name)?))
        });
        let bulk = plan.flows.iter().zip(&lives).zip(&flows);
        let long_lived = bulk.filter(|((plan, life), _)| {
            let length = life.1.unwrap_or(report.duration_ns).min(report.duration_ns).saturating_sub(life.0);
            plan.transport == Transport::Tcp && plan.bytes.is_none() && 2 * length >= report.duration_ns && length > 0
        });
        let rates: Vec<_> = long_lived.filter_map(|(_, flow)| flow.throughput_mbps).collect();
        Self {
            duration_s,
            groups: groups(&flows, duration_s),
            queue: queue.map(|(_, report)| of_queue(report, &result.queues)),
            utilization: queue.and_then(|(plan, report)| utilization(plan, report, duration_s)),
            jain: jain(&rates),
            flows,
        }
    }

    /// The flow of this name.
    #[must_use]
    pub fn flow(&self, name: &str) -> Option<&FlowMetrics> {
        self.flows.iter().find(|flow| flow.name == name)
    }
}

fn of_flow(plan: &Flow, flow: &FlowReport, result: &RunResult) -> FlowMetrics {
    let duration_ns = result.report.duration_ns;
    let start_ns = flow.started_ns.unwrap_or(0);
    let life_ns = flow.stopped_ns.unwrap_or(duration_ns).min(duration_ns).saturating_sub(start_ns);
    let is_tcp = plan.transport == Transport::Tcp;
    let sample = |column: &str| samples(&result.flows, "flow", &flow.name, column);
    let rtts = sample("rtt_ns").into_iter().filter(|ns| *ns != 0.0).map(|ns| ns * 1e-6).collect();
    FlowMetrics {
        name: flow.name.clone(),
        group: plan.group.clone(),
        cc: flow.cc.clone(),
        throughput_mbps: mbps(flow.bytes_received, seconds(life_ns)),
        bytes: flow.bytes_received,
        fct_s: flow.completed_ns.map(|ns| seconds(ns.saturating_sub(start_ns))),
        retransmits: is_tcp.then_some(flow.retransmits),
        retransmit_rate: (flow.data_segs_out > 0).then(|| float(flow.retransmits) / float(flow.data_segs_out)),
        rtt_ms: Spread::of(rtts),
        cwnd_packets: Spread::of(sample("cwnd_packets")),
    }
}

fn groups(flows: &[FlowMetrics], duration_s: f64) -> BTreeMap<String, GroupMetrics> {
    let mut bytes = BTreeMap::<_, u64>::new();
    for flow in flows {
        *bytes.entry(flow.group.clone()).or_default() += flow.bytes;
    }
    let total: u64 = bytes.values().sum();
    let share = |bytes| (total > 0).then(|| float(bytes) / float(total));
    bytes
        .into_iter()
        .map(|(group, bytes)| (group, GroupMetrics { throughput_mbps: mbps(bytes, duration_s), share: share(bytes) }))
        .collect()
}

fn of_queue(queue: &QueueReport, samples_of: &Table) -> QueueMetrics {
    let packets = Spread::of(samples(samples_of, "queue", &queue.name, "backlog_packets"));
    QueueMetrics { packets, drops: queue.drops, marks: queue.marks }
}

/// 8 × sent bytes ÷ ∫ rate dt.
fn utilization(plan: &Queue, queue: &QueueReport, duration_s: f64) -> Option<f64> {
    let mut bits = 0.0;
    let starts = plan.rates.iter().map(|(ns, _)| seconds(*ns).min(duration_s));
    let ends = starts.clone().skip(1).chain([duration_s]);
    for ((start, end), (_, rate)) in starts.zip(ends).zip(&plan.rates) {
        if end > start {
            bits += float(*rate) * (end - start);
        }
    }
    (bits > 0.0).then(|| 8.0 * float(queue.sent_bytes) / bits)
}

fn jain(rates: &[f64]) -> Option<f64> {
    let max = rates.iter().copied().fold(None, |max: Option<f64>, rate| Some(max.map_or(rate, |max| max.max(rate))))?;
    if max <= 0.0 {
        return Some(1.0);
    }
    // Squares of very small rates would underflow.
    let shares = rates.iter().map(|rate| rate / max);
    let (sum, squares) = shares.fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
    Some(sum * sum / (float(rates.len() as u64) * squares))
}

/// The known values of a column in the rows where a column of names has this name.
fn samples(table: &Table, names: &str, name: &str, column: &str) -> Vec<f64> {
    let (Some(Column::Name(codes, list)), Some(values)) = (table.column(names), table.column(column)) else {
        return Vec::new();
    };
    let Some(code) = list.iter().position(|known| known == name).and_then(|code| u32::try_from(code).ok()) else {
        return Vec::new();
    };
    let rows = (0..table.rows()).filter(|row| codes.get(*row) == Some(code));
    rows.filter_map(|row| match values {
        #[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
        Column::I64(cells) => cells.get(row).map(|value| value as f64),
        Column::U32(cells) => cells.get(row).map(f64::from),
        _ => None,
    })
    .collect()
}

fn mbps(bytes: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| 8.0 * float(bytes) / seconds / 1e6)
}

fn seconds(ns: u64) -> f64 {
    float(ns) / NS
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floats")]
fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_interpolates_as_numpy_does() {
        let spread = Spread::of(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((spread.mean, spread.p50, spread.max), (2.5, 2.5, 4.0));
        assert!((spread.p95 - 3.85).abs() < 1e-12);
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn jain_is_1_for_equal_rates_and_1_in_n_for_one_flow_with_everything() {
        assert_eq!(jain(&[7.0, 7.0, 7.0]), Some(1.0));
        assert_eq!(jain(&[5.0, 0.0]), Some(0.5));
        assert_eq!(jain(&[0.0]), Some(1.0));
        assert_eq!(jain(&[]), None);
    }
}
