//! Python's values as those of documents.

use crate::errors::mistakes;
use dumbbell_experiment::diagnostic::Diagnostic;
use dumbbell_experiment::toml;
use dumbbell_experiment::value::{Key, Table, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Levels of Python's lists and dicts that are converted; a deeper document is refused.
pub(crate) const MAX_LEVELS: usize = 64;

pub(crate) fn table_from_python(dict: &Bound<'_, PyDict>, path: &str, levels: usize) -> PyResult<Table> {
    let mut pairs = Vec::with_capacity(dict.len());
    for (key, value) in dict {
        let key = text_of(&key.str()?, path)?;
        let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        pairs.push((Key::from(key), from_python(&value, &below, levels)?));
    }
    Ok(Table(pairs))
}

pub(crate) fn from_python(value: &Bound<'_, PyAny>, path: &str, levels: usize) -> PyResult<Value> {
    let py = value.py();
    let levels = levels.checked_sub(1).ok_or_else(|| mistakes(py, &[toml::too_deep()], "", ""))?;
    let list = |items: Vec<Bound<'_, PyAny>>| {
        let above = if path.is_empty() { String::new() } else { format!("{path}.") };
        let items =
            items.iter().enumerate().map(|(number, item)| from_python(item, &format!("{above}{number}"), levels));
        Ok(Value::from(items.collect::<PyResult<Vec<_>>>()?))
    };
    if value.is_none() {
        Ok(Value::default())
    } else if let Ok(boolean) = value.cast::<PyBool>() {
        Ok(boolean.is_true().into())
    } else if value.is_instance_of::<PyInt>() {
        let number: Option<i64> = value.extract().ok();
        number.map(Value::from).ok_or_else(|| mistakes(py, &[toml::too_long().key(path)], "", ""))
    } else if let Ok(number) = value.cast::<PyFloat>() {
        Ok(number.value().into())
    } else if let Ok(text) = value.cast::<PyString>() {
        Ok(text_of(text, path)?.into())
    } else if let Ok(dict) = value.cast::<PyDict>() {
        Ok(table_from_python(dict, path, levels)?.into())
    } else if let Ok(items) = value.cast::<PyList>() {
        list(items.iter().collect())
    } else if let Ok(items) = value.cast::<PyTuple>() {
        list(items.iter().collect())
    } else if value.hasattr("isoformat")? {
        Err(mistakes(py, &[toml::a_date().key(path)], "", ""))
    } else {
        Err(PyTypeError::new_err(format!("{path}: a document has no {}", value.get_type())))
    }
}

/// A text; Rust and UTF-8 have no half of a surrogate pair.
fn text_of(text: &Bound<'_, PyString>, path: &str) -> PyResult<String> {
    let lone = |_| {
        let problem = "a character that is half of a pair, which no file can hold";
        mistakes(text.py(), &[Diagnostic::new(problem, "leave it out").key(path)], "", "")
    };
    text.to_str().map(String::from).map_err(lone)
}
