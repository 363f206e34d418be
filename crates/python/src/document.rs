//! Values of documents between Python and Rust; the mistakes of documents as an exception.

use dumbbell_experiment::diagnostic::Diagnostic;
use dumbbell_experiment::value::{Key, Node, Table, Value};
use dumbbell_experiment::{render, toml};
use pyo3::create_exception;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

create_exception!(
    dumbbell._sim,
    Mistakes,
    PyValueError,
    "A document is no experiment: a list of mistakes, and a text."
);

/// Levels of Python's lists and dicts that are converted; a deeper document is refused.
pub(crate) const MAX_LEVELS: usize = 64;

/// Each mistake as a dict, and all of them as one text with excerpts.
pub(crate) fn mistakes(py: Python<'_>, faults: &[Diagnostic], text: &str, file: &str) -> PyErr {
    let faults: Vec<_> = faults.iter().map(|fault| fault.clone().located(text)).collect();
    let build = || -> PyResult<PyErr> {
        let list = PyList::empty(py);
        for fault in &faults {
            let each = PyDict::new(py);
            each.set_item("problem", &fault.problem)?;
            each.set_item("key", &fault.key)?;
            each.set_item("value", fault.value.as_ref().map(|value| to_python(py, value)).transpose()?)?;
            each.set_item("has_value", fault.value.is_some())?;
            each.set_item("right", &fault.right)?;
            each.set_item("case", &fault.case)?;
            each.set_item("span", fault.span.as_ref().map(|span| (span.start, span.end)))?;
            each.set_item("line", fault.line)?;
            each.set_item("column", fault.column)?;
            list.append(each)?;
        }
        let shown = render::render(&faults, text, file, false);
        Ok(Mistakes::new_err((list.unbind(), shown)))
    };
    build().unwrap_or_else(|error| error)
}

pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match &value.node {
        Node::Null => py.None().into_bound(py),
        Node::Boolean(value) => PyBool::new(py, *value).to_owned().into_any(),
        Node::Integer(value) => value.into_pyobject(py)?.into_any(),
        Node::Float(value) => PyFloat::new(py, *value).into_any(),
        Node::Text(text) => PyString::new(py, text).into_any(),
        Node::List(items) => {
            let items = items.iter().map(|item| to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Node::Table(table) => {
            let dict = PyDict::new(py);
            for (key, value) in &table.0 {
                dict.set_item(&key.text, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

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
