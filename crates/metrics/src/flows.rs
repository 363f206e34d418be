//! Single numbers of flows and groups of flows.

use crate::facts::{Flow, Window};
use crate::run::Run;
use crate::spread::Spread;
use crate::table::Table;
use crate::{NS, float, nearest, signed_float, sum_of_known};

/// Milliseconds per nanosecond.
const MS: f64 = 1e-6;

/// Bytes that each flow's receiver got in order; None if unknown.
pub fn bytes_received(run: &Run<'_>, window: Option<Window>, bounds: Window) -> Vec<Option<f64>> {
    let flows = &run.facts.flows;
    if window.is_none() && flows.iter().all(|flow| flow.bytes_received.is_some()) {
        return flows.iter().map(|flow| flow.bytes_received.map(float)).collect();
    }
    if bounds.0 == bounds.1 {
        // A log with one sample: no two readings to count between.
        return vec![None; flows.len()];
    }
    let counters = run.bytes_counters();
    counters.iter().map(|counter| (!counter.is_empty()).then(|| counter.between(bounds))).collect()
}

/// 8 × bytes ÷ length of the window, in bit/s.
pub fn rate_bps(bytes: Option<f64>, window: Option<Window>) -> Option<f64> {
    let (from, to) = window.filter(|(from, to)| from != to)?;
    bytes.map(|bytes| 8.0 * bytes * NS / signed_float(to - from))
}

/// Retransmitted segments, and data segments sent, of each flow; None if the socket doesn't report them, as for UDP.
pub fn segments(run: &Run<'_>, window: Option<Window>, bounds: Window) -> Vec<(Option<u64>, Option<u64>)> {
    let flows = run.facts.flows.iter().enumerate();
    let within = |flow: usize, column, total: Option<u64>| {
        let counter = run.counter(flow, column, total.map(float));
        (!counter.is_empty()).then(|| nearest(counter.between(bounds)).unsigned_abs())
    };
    flows
        .map(|(index, flow)| match window {
            None => (flow.retransmits, flow.data_segs_out),
            Some(_) => {
                (within(index, "retrans_packets", flow.retransmits), within(index, "data_segs_out", flow.data_segs_out))
            }
        })
        .collect()
}

/// Part ÷ whole; None if one is unknown or the whole is 0.
pub fn ratio(part: Option<u64>, whole: Option<u64>) -> Option<f64> {
    Some(float(part?) / float(whole.filter(|whole| *whole > 0)?))
}

/// Smoothed RTT in milliseconds. The kernel reports an RTT of 0 before the first measurement; such samples are skipped.
pub fn rtt_ms(run: &Run<'_>, flow: usize, bounds: Window) -> Option<Spread> {
    spread(run, flow, bounds, "rtt_ns", |ns| (ns != 0.0).then_some(ns * MS))
}

/// Congestion window in packets.
pub fn cwnd_packets(run: &Run<'_>, flow: usize, bounds: Window) -> Option<Spread> {
    spread(run, flow, bounds, "cwnd_packets", Some)
}

/// One-way delay of a UDP or QUIC flow in milliseconds.
pub fn one_way_delay_ms(run: &Run<'_>, flow: usize, bounds: Window) -> Option<Spread> {
    spread(run, flow, bounds, "one_way_delay_ns", |ns| Some(ns * MS))
}

/// Interarrival jitter of a UDP flow in milliseconds.
pub fn jitter_ms(run: &Run<'_>, flow: usize, bounds: Window) -> Option<Spread> {
    spread(run, flow, bounds, "jitter_ns", |ns| Some(ns * MS))
}

/// Datagrams of a UDP flow that its receiver did not get; fewer than none if late ones came in the window.
pub fn lost_datagrams(run: &Run<'_>, flow: usize, bounds: Window) -> Option<i64> {
    let counter = run.counter(flow, "datagrams_lost", None);
    (!counter.is_empty()).then(|| nearest(counter.between(bounds)))
}

/// 8 × size ÷ completion time, in bit/s; None for a flow without a size, and until it completes.
pub fn completion_rate_bps(flow: &Flow) -> Option<f64> {
    let bytes = flow.bytes_asked.or(flow.bytes_received)?;
    flow.fct_s.filter(|seconds| *seconds > 0.0).map(|seconds| 8.0 * float(bytes) / seconds)
}

/// A group's rate ÷ all groups' rate; None if it is unknown, or all are 0.
pub fn shares(rates: &[Option<f64>]) -> Vec<Option<f64>> {
    let total = sum_of_known(rates.iter().copied()).unwrap_or(0.0);
    rates.iter().map(|rate| rate.filter(|_| total > 0.0).map(|rate| rate / total)).collect()
}

/// The spread of all samples in a flow's lifetime.
fn spread(
    run: &Run<'_>,
    flow: usize,
    bounds: Window,
    column: &str,
    read: impl Fn(f64) -> Option<f64>,
) -> Option<Spread> {
    let (from, to) = run.seen(&run.facts.flows[flow], bounds)?;
    let (from, to) = (signed_float(from), signed_float(to));
    let (times, values) = (run.flows.numbers("time_ns")?, run.flows.numbers(column)?);
    let inside = run.rows_of(flow).iter().map(|row| *row as usize);
    let inside = inside.filter(|row| times.get(*row).is_some_and(|time| from <= time && time <= to));
    Spread::of(inside.filter_map(|row| values.get(row).and_then(&read)).collect())
}

/// Known values of a column in the rows of a name whose time lies within a window.
pub fn during<'a>(
    table: &'a dyn Table,
    rows: impl Iterator<Item = usize> + 'a,
    (time, column): (&str, &str),
    (from, to): Window,
) -> Box<dyn Iterator<Item = f64> + 'a> {
    let (Some(times), Some(values)) = (table.numbers(time), table.numbers(column)) else {
        return Box::new(std::iter::empty());
    };
    let (from, to) = (signed_float(from), signed_float(to));
    let inside = rows.filter(move |row| times.get(*row).is_some_and(|time| from <= time && time <= to));
    Box::new(inside.filter_map(move |row| values.get(row)))
}
