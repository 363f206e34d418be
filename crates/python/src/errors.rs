//! Errors of the crates as exceptions of `dumbbell.errors`.

use crate::to_python::to_python;
use dumbbell_experiment::Diagnostic;
use dumbbell_experiment::plan::error::Error;
use dumbbell_experiment::render::render;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pyo3::import_exception!(dumbbell.errors, EngineError);
pyo3::import_exception!(dumbbell.errors, PlanError);
pyo3::import_exception!(dumbbell.errors, ResultError);
pyo3::import_exception!(dumbbell.errors, Wrong);

/// `PlanError` for an experiment that no engine can run, `ExperimentError` for a value that does not fit the others.
pub fn refused(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::Plan(text) => PlanError::new_err(text),
        Error::Experiment(fault) => mistakes(py, &[*fault], "", ""),
    }
}

/// `ExperimentError` for the first mistake of a document from `file`, with all of them as a text with excerpts.
pub fn mistakes(py: Python<'_>, faults: &[Diagnostic], text: &str, file: &str) -> PyErr {
    exception(py, faults, text, file).map_or_else(|failed| failed, PyErr::from_value)
}

fn exception<'py>(py: Python<'py>, faults: &[Diagnostic], text: &str, file: &str) -> PyResult<Bound<'py, PyAny>> {
    let faults: Vec<_> = faults.iter().map(|fault| fault.clone().located(text)).collect();
    let has = |key| faults.iter().any(|fault| fault.key == key);
    let first = if has("axes") && has("experiment") {
        Diagnostic::new("this is a sweep", format!("dumbbell sweep {file}"))
    } else {
        faults.first().cloned().unwrap_or_default()
    };
    let case = if first.case.is_empty() { String::new() } else { format!(" (case '{}')", first.case) };
    let keywords = PyDict::new(py);
    keywords.set_item("file", format!("{file}{case}"))?;
    keywords.set_item("key", &first.key)?;
    keywords.set_item("value", first.value.as_ref().map(|value| to_python(py, value)).transpose()?)?;
    keywords.set_item("right", &first.hint)?;
    keywords.set_item("line", (first.line > 0).then_some(first.line))?;
    if first.line > 0 || (faults.len() > 1 && !first.key.is_empty()) {
        keywords.set_item("report", render(&faults, text, file, false))?;
    }
    py.import("dumbbell.errors")?.getattr("ExperimentError")?.call((first.problem,), Some(&keywords))
}

/// A value is none of its kind, or a command is refused.
pub fn wrong(wrong: dumbbell_tc::Wrong) -> PyErr {
    Wrong::new_err((wrong.problem, wrong.hint, wrong.is_lacking))
}
