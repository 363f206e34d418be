//! Values of an experiment, one by one: quantities, expectations, metrics, tc scripts, traces.

use crate::errors::wrong;
use crate::from_python::{MAX_LEVELS, from_python};
use crate::to_python::to_python;
use dumbbell_experiment::declare::read_value;
use dumbbell_experiment::expectation::{self, Condition, Expectation};
use dumbbell_experiment::value::Value;
use dumbbell_experiment::{figures, suggest as suggestion, units};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A value of a kind such as `rate`, as a person wrote it, in the units of the code. Raises `Wrong`.
#[pyfunction]
pub fn parse_value<'py>(kind: &str, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let written = from_python(value, "", MAX_LEVELS).unwrap_or_default();
    let read = read_value(kind, &written).ok_or_else(|| PyValueError::new_err(format!("no kind '{kind}'")))?;
    to_python(py, &read.map_err(wrong)?)
}

/// An expectation: name, start and end of its metric, operator, value, and the upper end of a range. Raises `Wrong`.
#[pyfunction]
pub fn parse_expectation<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyTuple>> {
    let Expectation { metric, condition } = expectation::parse(text).map_err(wrong)?;
    let (operator, value, high) = match condition {
        Condition::Below(value) => ("<", value.into(), None),
        Condition::AtMost(value) => ("<=", value.into(), None),
        Condition::Above(value) => (">", value.into(), None),
        Condition::AtLeast(value) => (">=", value.into(), None),
        Condition::Equal(value) => ("==", value.into(), None),
        Condition::Is(value) => ("==", value.into(), None),
        Condition::Unknown => ("==", Value::default(), None),
        Condition::Within(low, high) => ("in", low.into(), Some(high)),
    };
    (metric.name, metric.from, metric.to, operator, to_python(py, &value)?, high).into_pyobject(py)
}

/// A metric: its name, and start and end of its part of the run in nanoseconds. Raises `Wrong`.
#[pyfunction]
pub fn parse_metric(text: &str) -> PyResult<(String, Option<u64>, Option<u64>)> {
    expectation::metric(text).map(|metric| (metric.name, metric.from, metric.to)).map_err(wrong)
}

/// The units of a metric, its own first. Raises `Wrong`.
#[pyfunction]
pub fn units_of(metric: &str) -> PyResult<Vec<(&'static str, f64)>> {
    expectation::metric(metric).map_err(wrong)?;
    Ok(figures::units_of(metric).unwrap_or_default().to_vec())
}

/// A rate in the shortest exact spelling of tc.
#[pyfunction]
pub fn rate_text(rate: u64) -> String {
    units::rate_text(rate)
}

/// A time in the shortest exact spelling of tc.
#[pyfunction]
pub fn time_text(time: u64) -> String {
    units::time_text(time)
}

/// What a misspelt name could mean, and which names there are.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn suggest(word: &str, known: Vec<String>) -> String {
    suggestion::suggest(word, &known.iter().map(String::as_str).collect::<Vec<_>>())
}
