//! Metrics of a run: `crates/metrics` over the simulator's tables, whose memory it shares, or over columns of other
//! results, which are copied.

use crate::arrow::Arrow;
use crate::loaded::Loaded;
use crate::numbers::Numbers;
use dumbbell_metrics::PLACES;
use dumbbell_metrics::columns::{Column, TABLES};
use dumbbell_metrics::cycle;
use dumbbell_metrics::names::Declared;
use dumbbell_metrics::{Error, Facts, Run, Table, Window};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::Serialize;

/// A run whose metrics can be computed. Its numbers are dicts and lists by the names of their fields.
#[pyclass(frozen, module = "dumbbell._sim")]
pub struct Metrics {
    facts: Facts,
    flows: Held,
    queues: Held,
    probes: Held,
}

/// Names, starts and stops of a flow's states, and which are inferred.
type States = (Vec<String>, Numbers, Numbers, Vec<bool>);

/// A table from Python.
#[derive(FromPyObject)]
pub enum Given {
    /// The simulator's.
    Arrow(Py<Arrow>),
    /// Another result's (`dumbbell.results.columns.Table`).
    Other(Py<PyAny>),
}

enum Held {
    Arrow(Py<Arrow>),
    Other(Loaded),
}

#[pymethods]
impl Metrics {
    /// A run, by the facts of its manifest, and its tables, of which columns are read when they are needed.
    #[new]
    fn new(facts: &Bound<'_, PyAny>, flows: Given, queues: Given, probes: Given) -> PyResult<Self> {
        let [flows, queues, probes] =
            [("flows", flows), ("queues", queues), ("probes", probes)].map(|(name, given)| Held::of(name, given));
        Ok(Self { facts: depythonize(facts)?, flows, queues, probes })
    }

    /// All single numbers but the cycle, of the run or of a window. Raises `ValueError` for a window outside the run.
    #[pyo3(signature = (window=None))]
    fn summary<'py>(&self, py: Python<'py>, window: Option<Window>) -> PyResult<Bound<'py, PyAny>> {
        self.plain(py, |run| run.metrics(window))
    }

    /// The period of the two largest groups' rates, or null.
    #[pyo3(signature = (window=None))]
    fn cycle<'py>(&self, py: Python<'py>, window: Option<Window>) -> PyResult<Bound<'py, PyAny>> {
        self.plain(py, |run| run.cycle(window))
    }

    /// The time until the last long-lived flow converges, or null.
    fn convergence_s(&self, py: Python<'_>, step_ns: i64, epsilon: f64) -> PyResult<Option<f64>> {
        self.compute(py, |run| run.convergence_s(step_ns, epsilon))
    }

    /// Whether each flow is long-lived.
    #[pyo3(signature = (window=None))]
    fn long_lived(&self, py: Python<'_>, window: Option<Window>) -> PyResult<Vec<bool>> {
        self.compute(py, |run| Ok(run.long_lived(run.bounds(window)?)))
    }

    /// Completion times and response times by group.
    fn completion<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.plain(py, |run| {
            let named = |(name, times): (&str, _)| (name.to_owned(), times);
            let completions: Vec<_> = run.completion_times().into_iter().map(named).collect();
            let named = |(name, times): (&str, _)| (name.to_owned(), times);
            Ok((completions, run.answer_times().into_iter().map(named).collect::<Vec<_>>()))
        })
    }

    /// Every flow's goodput in every bin, in bit/s.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn goodput_bps(&self, py: Python<'_>, edges_ns: PyBuffer<i64>) -> PyResult<Vec<Numbers>> {
        let edges = edges_ns.to_vec(py)?;
        let rates = self.compute(py, |run| Ok(run.goodput_bps(&edges)))?;
        Ok(rates.into_iter().map(Numbers::from).collect())
    }

    /// Every flow's goodput counter: times and bytes.
    fn bytes_counters(&self, py: Python<'_>) -> PyResult<Vec<(Numbers, Numbers)>> {
        let counters = self.compute(py, |run| Ok(run.bytes_counters()))?;
        let readings = counters.iter().map(dumbbell_metrics::Counter::readings);
        Ok(readings.map(|(times, bytes)| (times.to_vec().into(), bytes.to_vec().into())).collect())
    }

    /// The counter of a queue: times and values.
    #[pyo3(signature = (queue, column, total=None))]
    fn queue_counter(
        &self,
        py: Python<'_>,
        queue: &str,
        column: &str,
        total: Option<f64>,
    ) -> PyResult<(Numbers, Numbers)> {
        let counter = self.compute(py, |run| Ok(run.queue_counter(queue, column, total)))?;
        let (times, values) = counter.readings();
        Ok((times.to_vec().into(), values.to_vec().into()))
    }

    /// Every flow's intervals: edges, bytes, retransmissions.
    #[pyo3(signature = (step_ns, window=None))]
    fn intervals(
        &self,
        py: Python<'_>,
        step_ns: i64,
        window: Option<Window>,
    ) -> PyResult<Vec<(Numbers, Numbers, Numbers)>> {
        let intervals = self.compute(py, |run| run.intervals(step_ns, window))?;
        let arrays = intervals.into_iter().map(|of| (of.edges_ns.into(), of.bytes.into(), of.retransmits.into()));
        Ok(arrays.collect())
    }

    /// The share of each flow's intervals in which its receiver got no byte.
    #[pyo3(signature = (step_ns, window=None))]
    fn no_data_shares(&self, py: Python<'_>, step_ns: i64, window: Option<Window>) -> PyResult<Vec<Option<f64>>> {
        self.compute(py, |run| run.no_data_shares(step_ns, window))
    }

    /// Every flow's states.
    fn phases(&self, py: Python<'_>) -> PyResult<Vec<States>> {
        self.compute(py, |run| {
            let names = |names: Vec<&str>| names.into_iter().map(String::from).collect();
            let states = run.phases().into_iter();
            Ok(states.map(|of| (names(of.names), of.starts_ns.into(), of.stops_ns.into(), of.inferred)).collect())
        })
    }
}

impl Metrics {
    /// Computes without the GIL. Raises what reading a column raises.
    pub fn compute<T: Send>(
        &self,
        py: Python<'_>,
        question: impl Fn(&Run<'_>) -> Result<T, Error> + Sync,
    ) -> PyResult<T> {
        let tables = [&self.flows, &self.queues, &self.probes];
        let answer = py.detach(|| {
            let [flows, queues, probes] = tables.map(Held::table);
            question(&Run::new(&self.facts, flows, queues, probes))
        });
        if let Some(error) = tables.into_iter().find_map(Held::take_error) {
            return Err(error);
        }
        answer.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn plain<'py, T: Send + Serialize>(
        &self,
        py: Python<'py>,
        question: impl Fn(&Run<'_>) -> Result<T, Error> + Sync,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.compute(py, question)?)?)
    }
}

/// The state of a live socket's controller, inferred from its gains, window and threshold; None if unknown.
#[pyfunction]
pub fn infer_phase(
    cc: Option<&str>,
    pacing_gain: Option<f64>,
    cwnd_gain: Option<f64>,
    cwnd: Option<f64>,
    ssthresh: Option<f64>,
) -> Option<&'static str> {
    let grows = cc.is_some_and(|cc| dumbbell_metrics::SLOW_STARTERS.contains(&cc));
    dumbbell_metrics::Signs { pacing_gain, cwnd_gain, cwnd, ssthresh }.phase(grows, true)
}

/// The period of an evenly sampled signal, or None.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn period(py: Python<'_>, signal: PyBuffer<f64>, step_s: f64) -> PyResult<Bound<'_, PyAny>> {
    let signal = signal.to_vec(py)?;
    let found = py.detach(|| cycle::period(&signal, step_s));
    Ok(pythonize(py, &found)?)
}

/// The phase of a second signal behind the first, 0 to 1.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn follows(py: Python<'_>, first: PyBuffer<f64>, second: PyBuffer<f64>, period_steps: f64) -> PyResult<f64> {
    Ok(cycle::follows(&first.to_vec(py)?, &second.to_vec(py)?, period_steps))
}

/// How two rates move, Pearson's r, and the share of the bins in which the second one leads.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn movement(
    py: Python<'_>,
    first: PyBuffer<f64>,
    second: PyBuffer<f64>,
    half_periods: f64,
) -> PyResult<(String, f64, f64)> {
    let moves = cycle::movement(&first.to_vec(py)?, &second.to_vec(py)?, half_periods);
    let cycle::Movement { kind, correlation, second_leads } = moves;
    Ok((kind.name().into(), correlation, second_leads))
}

/// The spread of samples, in the order of `SPREAD_PARTS`; None without any.
#[pyfunction]
pub fn spread(samples: Vec<f64>) -> Option<[f64; 6]> {
    dumbbell_metrics::Spread::of(samples).map(Into::into)
}

/// A declared metric: name, unit, meaning, keys of its numbers.
type DeclaredMetric = (&'static str, &'static str, &'static str, Vec<&'static str>);

/// Every metric by the place of its name.
pub fn metric_names() -> Vec<(&'static str, Vec<DeclaredMetric>)> {
    let entry = |of: &Declared| (of.name, of.unit, of.about.trim(), of.parts.to_vec());
    PLACES.iter().map(|(place, declared)| (*place, declared.iter().map(entry).collect())).collect()
}

/// Jain's index of some rates; None without any.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn jain_index(rates: Vec<f64>) -> Option<f64> {
    dumbbell_metrics::jain_index(&rates)
}

impl Held {
    fn of(name: &'static str, given: Given) -> Self {
        match given {
            Given::Arrow(table) => Self::Arrow(table),
            Given::Other(table) => Self::Other(Loaded::of(name, table)),
        }
    }

    fn table(&self) -> &dyn Table {
        match self {
            Self::Arrow(table) => table.get(),
            Self::Other(table) => table,
        }
    }

    fn take_error(&self) -> Option<PyErr> {
        match self {
            Self::Arrow(_) => None,
            Self::Other(table) => table.take_error(),
        }
    }
}

/// A table of a result: its name, columns (name, type, unit, meaning), the columns that are never null, and whether
/// every result has it.
type DeclaredTable = (&'static str, Vec<[&'static str; 4]>, Vec<&'static str>, bool);

/// Every table of a result.
pub fn declared() -> Vec<DeclaredTable> {
    let columns = |of: &[Column]| of.iter().map(|one| [one.name, one.kind.name(), one.unit, one.about]).collect();
    TABLES.iter().map(|of| (of.name, columns(of.columns), of.identity.to_vec(), of.is_always)).collect()
}

/// The length of the bins of a figure with at most so many.
#[pyfunction]
pub fn step_ns(length_ns: f64, bins: u32) -> i64 {
    dumbbell_metrics::step_ns(length_ns, bins)
}
