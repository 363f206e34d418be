//! Bytes of each flow in every interval, as iperf3 reports them during a test.

use crate::counter::Counter;
use crate::facts::Window;
use crate::run::{Error, Run};
use crate::{nearest, signed_float};

/// A flow's intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals {
    /// Where each begins, and where the last one ends; empty for a flow without lifetime in the window.
    pub edges_ns: Vec<i64>,
    /// Bytes received in order; whole numbers that add up to those of the window. NaN: unknown.
    pub bytes: Vec<f64>,
    /// Retransmitted segments, likewise.
    pub retransmits: Vec<f64>,
}

impl Run<'_> {
    /// The intervals of each flow. They begin at multiples of the step after the window's start and are cut to the
    /// flow's lifetime, so the first and the last may be shorter.
    ///
    /// # Errors
    ///
    /// The step is 0 or less, or the window is outside the run.
    pub fn intervals(&self, step_ns: i64, window: Option<Window>) -> Result<Vec<Intervals>, Error> {
        let received = self.bytes_counters();
        let of_flow = |(flow, received): (usize, &Counter)| {
            let edges_ns = self.interval_edges(flow, step_ns, window, received)?;
            let total = self.facts.flows[flow].retransmits.map(crate::float);
            let retransmitted = self.counter(flow, "retrans_packets", total);
            let (bytes, retransmits) = (whole_counts(received, &edges_ns), whole_counts(&retransmitted, &edges_ns));
            Ok(Intervals { edges_ns, bytes, retransmits })
        };
        received.iter().enumerate().map(of_flow).collect()
    }

    /// Time of the intervals in which a flow's receiver got no byte ÷ time of all its intervals in the window, by flow:
    /// the first and the last interval may be short. None for a flow without an interval or with unknown bytes.
    ///
    /// # Errors
    ///
    /// As [`Run::intervals`].
    pub fn no_data_shares(&self, step_ns: i64, window: Option<Window>) -> Result<Vec<Option<f64>>, Error> {
        let share = |(flow, received): (usize, &Counter)| {
            let edges = self.interval_edges(flow, step_ns, window, received)?;
            let counts = whole_counts(received, &edges);
            let lengths = edges.windows(2).map(|pair| pair[1] - pair[0]);
            let silent: i64 = counts.iter().zip(lengths).filter(|(bytes, _)| **bytes == 0.0).map(|(_, ns)| ns).sum();
            let is_known = !received.is_empty() && !counts.is_empty();
            Ok(is_known.then(|| signed_float(silent) / signed_float(edges[edges.len() - 1] - edges[0])))
        };
        self.bytes_counters().iter().enumerate().map(share).collect()
    }

    fn interval_edges(
        &self,
        flow: usize,
        step_ns: i64,
        window: Option<Window>,
        received: &Counter,
    ) -> Result<Vec<i64>, Error> {
        if step_ns <= 0 {
            return Err(Error::Step(step_ns));
        }
        let bounds = self.bounds(window)?;
        let Some((start, mut stop)) = self.clip(&self.facts.flows[flow], bounds) else { return Ok(Vec::new()) };
        // The manifest's duration is truncated to microseconds: the last reading may be up to one after it.
        if let Some(last) = received.last_ns().filter(|_| window.is_none() && stop == bounds.1) {
            stop = stop.max(nearest(last));
        }
        let first = bounds.0 + (start - bounds.0) / step_ns * step_ns + step_ns;
        let inner =
            std::iter::successors(Some(first), |edge| edge.checked_add(step_ns)).take_while(|edge| *edge < stop);
        Ok([start].into_iter().chain(inner).chain([stop]).collect())
    }
}

/// Whole counts for each interval that add up to the count from the first edge to the last; NaN: unknown.
fn whole_counts(counter: &Counter, edges: &[i64]) -> Vec<f64> {
    if counter.is_empty() || edges.is_empty() {
        return vec![f64::NAN; edges.len().saturating_sub(1)];
    }
    let first = counter.at(signed_float(edges[0]));
    let counts: Vec<_> = edges.iter().map(|edge| (counter.at(signed_float(*edge)) - first).round_ties_even()).collect();
    counts.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// The step of the intervals that `no_data_share` counts, as iperf3's.
pub const SECOND_NS: i64 = 1_000_000_000;
