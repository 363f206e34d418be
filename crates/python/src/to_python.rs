//! Values of documents as Python's.

use dumbbell_experiment::value::{Node, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};

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
