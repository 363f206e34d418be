//! QUIC stacks: `crates/plan`'s declaration.

use pyo3::prelude::*;
use pythonize::pythonize;

/// Every QUIC stack that can be built.
#[pyfunction]
pub fn stacks(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    Ok(pythonize(py, dumbbell_plan::STACKS)?)
}
