//! Verdicts on runs, for Python.

use dumbbell::validity::{Outcome, judge};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Judges a run. Takes JSON of an `Outcome`, returns JSON of a `Verdict`.
#[pyfunction]
pub fn judge_run(outcome: &str) -> PyResult<String> {
    let outcome: Outcome = serde_json::from_str(outcome).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(serde_json::to_string(&judge(&outcome)).expect("a verdict is texts"))
}
