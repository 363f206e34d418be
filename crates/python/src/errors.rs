//! Errors of a plan as exceptions of `dumbbell.errors`.

use dumbbell_experiment::plan::error::{Error, Fault, Table, Value};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// `PlanError` for an experiment that no engine can run, `ExperimentError` for a value that does not fit the others.
pub fn refused(py: Python<'_>, error: Error) -> PyErr {
    exception(py, error).map_or_else(|failed| failed, PyErr::from_value)
}

fn exception(py: Python<'_>, error: Error) -> PyResult<Bound<'_, PyAny>> {
    let errors = py.import("dumbbell.errors")?;
    match error {
        Error::Plan { plan } => errors.getattr("PlanError")?.call1((plan,)),
        Error::Experiment(fault) => {
            let Fault { problem, key, value, right } = *fault;
            let keywords = PyDict::new(py);
            keywords.set_item("key", key)?;
            keywords.set_item("value", value.map(|value| to_python(py, &value)).transpose()?)?;
            keywords.set_item("right", right)?;
            errors.getattr("ExperimentError")?.call((problem,), Some(&keywords))
        }
    }
}

fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Flag(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => number.into_pyobject(py)?.into_any(),
        Value::Text(text) => text.into_pyobject(py)?.into_any(),
        Value::Table(Table(pairs)) => {
            let dict = PyDict::new(py);
            for (key, value) in pairs {
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}
