//! A run: facts and tables, time windows, lifetimes, and each flow's samples.

use crate::counter::Counter;
use crate::facts::{Facts, Flow, Window};
use crate::table::Table;
use std::cell::OnceCell;
use std::collections::HashMap;
use thiserror::Error as ThisError;

/// Why there are no metrics.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum Error {
    /// A window has nothing of the run.
    #[error("the window {0}..{1} ns is outside a run of {2} ns")]
    Window(i64, i64, i64),
    /// A step of no length.
    #[error("step must exceed 0 ns, got {0}")]
    Step(i64),
}

/// Facts and tables of a run.
pub struct Run<'a> {
    /// What the manifest says.
    pub facts: &'a Facts,
    /// One row per sample and flow.
    pub flows: &'a dyn Table,
    /// One row per sample and queue.
    pub queues: &'a dyn Table,
    /// One row per probe.
    pub probes: &'a dyn Table,
    rows: OnceCell<Rows>,
}

/// The rows of `flows` by flow.
struct Rows {
    /// Rows sorted by flow, otherwise in their order.
    order: Vec<u32>,
    /// Where each flow's rows start in `order`, and where the last one's end.
    starts: Vec<usize>,
}

/// Values and their times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Times in nanoseconds.
    pub times_ns: Vec<f64>,
    /// Values.
    pub values: Vec<f64>,
}

impl<'a> Run<'a> {
    /// A run with these tables.
    #[must_use]
    pub fn new(facts: &'a Facts, flows: &'a dyn Table, queues: &'a dyn Table, probes: &'a dyn Table) -> Self {
        Self { facts, flows, queues, probes, rows: OnceCell::new() }
    }

    /// The window cut to the run; the whole run without one.
    ///
    /// # Errors
    ///
    /// Nothing is left of it.
    pub fn bounds(&self, window: Option<Window>) -> Result<Window, Error> {
        let end = self.facts.duration_ns;
        let Some((from, to)) = window else { return Ok((0, end)) };
        let cut = (from.max(0), to.min(end));
        if cut.0 < cut.1 { Ok(cut) } else { Err(Error::Window(from, to, end)) }
    }

    /// The lifetime of a flow; one without a stop lives until the run's end.
    #[must_use]
    pub fn life(&self, flow: &Flow) -> Window {
        (flow.start_ns, flow.stop_ns.unwrap_or(self.facts.duration_ns))
    }

    /// The part of a flow's lifetime inside `bounds`; None if it is empty.
    #[must_use]
    pub fn clip(&self, flow: &Flow, bounds: Window) -> Option<Window> {
        let (start, stop) = self.life(flow);
        let cut = (start.max(bounds.0), stop.min(bounds.1));
        (cut.0 < cut.1).then_some(cut)
    }

    /// The same, but for a flow with a single sample in a log also that sample's time.
    #[must_use]
    pub fn seen(&self, flow: &Flow, bounds: Window) -> Option<Window> {
        let (start, stop) = self.life(flow);
        if start == stop && bounds.0 <= start && start <= bounds.1 {
            return Some((start, stop));
        }
        self.clip(flow, bounds)
    }

    /// Whether each flow's rate is comparable with the others': TCP without a size or pauses, active for at least half of
    /// the window. Sized flows end early, programs that pause send what they have, and UDP flows have a configured rate,
    /// so none of them reflects sharing.
    #[must_use]
    pub fn long_lived(&self, bounds: Window) -> Vec<bool> {
        let is_long = |flow: &Flow| {
            flow.is_bulk() && self.clip(flow, bounds).is_some_and(|life| 2 * (life.1 - life.0) >= bounds.1 - bounds.0)
        };
        self.facts.flows.iter().map(is_long).collect()
    }

    /// Names of groups in the order of their first flow, and the indices of their flows.
    #[must_use]
    pub fn groups(&self) -> Vec<(&'a str, Vec<usize>)> {
        let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
        let mut position = HashMap::new();
        for (index, flow) in self.facts.flows.iter().enumerate() {
            let group = *position.entry(flow.group.as_str()).or_insert_with(|| {
                groups.push((&flow.group, Vec::new()));
                groups.len() - 1
            });
            groups[group].1.push(index);
        }
        groups
    }

    /// The rows of a flow in `flows`, in order.
    #[must_use]
    pub fn rows_of(&self, flow: usize) -> &[u32] {
        let rows = self.rows.get_or_init(|| self.sorted());
        &rows.order[rows.starts[flow]..rows.starts[flow + 1]]
    }

    /// Known values of a column of `flows` at known times, for one flow, in the order of the rows.
    #[must_use]
    pub fn series(&self, flow: usize, column: &str) -> Series {
        let mut found = Series::default();
        let (Some(times), Some(values)) = (self.flows.numbers("time_ns"), self.flows.numbers(column)) else {
            return found;
        };
        for &row in self.rows_of(flow) {
            if let (Some(time), Some(value)) = (times.get(row as usize), values.get(row as usize)) {
                found.times_ns.push(time);
                found.values.push(value);
            }
        }
        found
    }

    /// A column of `flows` as a counter of a flow, with 0 at the flow's start, and the given total at its end. Empty
    /// without samples and total.
    #[must_use]
    pub fn counter(&self, flow: usize, column: &str, total: Option<f64>) -> Counter {
        let Series { times_ns, values } = self.series(flow, column);
        let counter = Counter::new(times_ns, values);
        if counter.is_empty() && total.is_none() {
            return counter;
        }
        counter.anchored(self.life(&self.facts.flows[flow]), total)
    }

    /// The goodput counter of every flow: bytes that the receiver's socket got in order.
    ///
    /// Without samples of the receiver (an imported `ss` log), bytes acknowledged at the sender replace it: the same
    /// bytes, half a round trip later. Without samples of the sender's socket (an iperf client's log), bytes that the
    /// program sent.
    #[must_use]
    pub fn bytes_counters(&self) -> Vec<Counter> {
        let flows = 0..self.facts.flows.len();
        let total = |flow: usize| self.facts.flows[flow].bytes_received.map(crate::float);
        let received: Vec<_> = flows.clone().map(|flow| self.counter(flow, "bytes_received", total(flow))).collect();
        if received.iter().all(|counter| !counter.is_empty()) {
            return received;
        }
        let other = |(flow, counter): (usize, Counter)| {
            let columns = ["bytes_acked", "bytes_sent"];
            let others = columns.iter().map(|column| self.counter(flow, column, None));
            std::iter::once(counter).chain(others).find(|counter| !counter.is_empty()).unwrap_or_default()
        };
        received.into_iter().enumerate().map(other).collect()
    }

    /// The counter of delivered bytes of every flow: acknowledged in order and selectively, at the sender
    /// (`tcpi_bytes_acked` + `tcpi_sacked` × MSS). Flows without samples of these have their goodput counter.
    #[must_use]
    pub fn delivered_counters(&self) -> Vec<Counter> {
        let columns = ["time_ns", "bytes_acked", "sacked_packets", "mss_bytes"].map(|name| self.flows.numbers(name));
        let [Some(times), Some(acked), Some(sacked), Some(mss)] = columns else { return self.bytes_counters() };
        let counter = |(flow, goodput): (usize, Counter)| {
            let mut most = 0.0_f64;
            let mut found = Series::default();
            for row in self.rows_of(flow).iter().map(|row| *row as usize) {
                if let (Some(time), Some(acked)) = (times.get(row), acked.get(row)) {
                    let sacked = sacked.get(row).unwrap_or(0.0) * mss.get(row).unwrap_or(0.0);
                    // What was delivered stays so, even if a receiver takes a SACK back.
                    most = most.max(acked + sacked);
                    found.times_ns.push(time);
                    found.values.push(most);
                }
            }
            if found.values.is_empty() {
                return goodput;
            }
            Counter::new(found.times_ns, found.values).anchored(self.life(&self.facts.flows[flow]), None)
        };
        self.bytes_counters().into_iter().enumerate().map(counter).collect()
    }

    fn sorted(&self) -> Rows {
        let count = self.facts.flows.len();
        let mut starts = vec![0; count + 1];
        let Some(names) = self.flows.names("flow") else { return Rows { order: Vec::new(), starts } };
        let position: HashMap<_, _> =
            self.facts.flows.iter().enumerate().map(|(index, flow)| (flow.name.as_str(), index)).collect();
        let flow_of: Vec<_> = names.list.iter().map(|name| position.get(name.as_str()).copied()).collect();
        let flow = |row: usize| names.code(row).and_then(|code| flow_of[code]);
        for row in 0..self.flows.rows() {
            if let Some(flow) = flow(row) {
                starts[flow + 1] += 1;
            }
        }
        for flow in 0..count {
            starts[flow + 1] += starts[flow];
        }
        let mut next = starts.clone();
        let mut order = vec![0; starts[count]];
        for row in 0..self.flows.rows() {
            if let Some(flow) = flow(row) {
                order[next[flow]] = u32::try_from(row).expect("fewer than 2^32 rows");
                next[flow] += 1;
            }
        }
        Rows { order, starts }
    }
}
