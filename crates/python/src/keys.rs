//! Experiments, and the tables of experiments and sweeps, as frozen Python values: an attribute for each declared key.
//! `python/dumbbell/spec/keys.pyi`, made of the same declarations, has their types.

use crate::errors::wrong;
use crate::to_python::to_python;
use dumbbell_experiment::declare::spec::{KeySpec, TableSpec};
use dumbbell_experiment::declare::{Declared, Kind};
use dumbbell_experiment::plan::{attachments, rtt};
use dumbbell_experiment::renames::Renamed;
use dumbbell_experiment::value::{Node, Value};
use dumbbell_experiment::{model, qdisc};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::collections::BTreeMap;

/// One table: its values in the units of the code (bits per second, nanoseconds, bytes) by key.
#[pyclass(frozen, module = "dumbbell._sim")]
pub struct Keys {
    name: &'static str,
    values: Py<PyDict>,
}

#[pymethods]
impl Keys {
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = self.values.bind(py).get_item(name)?;
        found.ok_or_else(|| PyAttributeError::new_err(format!("'{}' has no key '{name}'", self.name)))
    }

    fn __eq__(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        Ok(self.name == other.name && self.values.bind(py).eq(other.values.bind(py))?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let values = self.values.bind(py).iter().map(|(key, value)| Ok(format!("{key}={}", value.repr()?)));
        Ok(format!("{}({})", self.name, values.collect::<PyResult<Vec<_>>>()?.join(", ")))
    }

    fn __dir__(&self, py: Python<'_>) -> Vec<String> {
        let names = self.values.bind(py).keys().iter().map(|name| name.to_string()).collect::<Vec<_>>();
        [names, vec!["as_dict".into()]].concat()
    }

    /// The values by key; tables below are dicts, too.
    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let plain = PyDict::new(py);
        for (key, value) in self.values.bind(py) {
            plain.set_item(key, as_plain(&value)?)?;
        }
        Ok(plain)
    }
}

fn as_plain<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(keys) = value.cast::<Keys>() {
        return Ok(keys.get().as_dict(value.py())?.into_any());
    }
    let Ok(items) = value.cast::<PyTuple>() else { return Ok(value.clone()) };
    let items = items.iter().map(|item| as_plain(&item)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(value.py(), items)?.into_any())
}

/// The values that [`Kind::data`] gave for a table.
pub fn table<'py>(py: Python<'py>, spec: &'static TableSpec, data: &Value) -> PyResult<Bound<'py, PyAny>> {
    let Node::Table(table) = &data.node else { return to_python(py, data) };
    let values = PyDict::new(py);
    for (key, value) in &table.0 {
        let spec = spec.key(&key.text);
        values.set_item(&key.text, spec.map_or_else(|| to_python(py, value), |spec| held(py, spec, value))?)?;
    }
    Ok(Bound::new(py, Keys { name: spec.name, values: values.unbind() })?.into_any())
}

fn held<'py>(py: Python<'py>, spec: &KeySpec, data: &Value) -> PyResult<Bound<'py, PyAny>> {
    let python = || (spec.shape)().python;
    match (&data.node, spec.table) {
        (Node::Table(_), Some(spec)) => table(py, spec, data),
        (Node::List(items), Some(spec)) => {
            let items = items.iter().map(|item| table(py, spec, item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyTuple::new(py, items)?.into_any())
        }
        (Node::Text(text), None) if python() == "Qdisc" => Ok(Bound::new(py, Qdisc::parse(text)?)?.into_any()),
        (Node::List(_), None) => tuples(py, data, python().matches("tuple[").count()),
        _ => to_python(py, data),
    }
}

/// Lists as tuples, so many levels deep.
fn tuples<'py>(py: Python<'py>, data: &Value, levels: usize) -> PyResult<Bound<'py, PyAny>> {
    match &data.node {
        Node::List(items) if levels > 0 => {
            let items = items.iter().map(|item| tuples(py, item, levels - 1)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyTuple::new(py, items)?.into_any())
        }
        _ => to_python(py, data),
    }
}

/// One experiment: one case of a file. Its attributes are its keys.
#[pyclass(frozen, module = "dumbbell._sim")]
pub struct Experiment {
    pub model: model::Experiment,
    renamed: Vec<Renamed>,
    keys: PyOnceLock<Py<PyAny>>,
}

impl Experiment {
    /// An experiment, and the older spellings that its document has.
    pub fn new(model: model::Experiment, renamed: Vec<Renamed>) -> Self {
        Self { model, renamed, keys: PyOnceLock::new() }
    }
}

#[pymethods]
impl Experiment {
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let make = || table(py, model::Experiment::SPEC, &model::Experiment::data(&self.model)).map(Bound::unbind);
        self.keys.get_or_try_init(py, make)?.bind(py).getattr(name)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.model == other.model
    }

    fn __repr__(&self) -> String {
        format!("<Experiment {:?}>", self.model.title)
    }

    /// A name for each group: its own, or its controller's, numbered when taken.
    #[getter]
    fn group_names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.model.group_names())
    }

    /// The experiment as a document: without keys that have their default value; with all keys if `complete`.
    #[pyo3(signature = (complete = false))]
    fn document<'py>(&self, py: Python<'py>, complete: bool) -> PyResult<Bound<'py, PyAny>> {
        let write = if complete { model::Experiment::complete } else { model::Experiment::write };
        to_python(py, &write(&self.model))
    }

    /// The values of all keys as a document, in the units of the code.
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &model::Experiment::data(&self.model))
    }

    /// Older spellings in the document that it was read from, each with today's.
    #[getter]
    fn renamed(&self) -> Vec<(&str, &str)> {
        self.renamed.iter().map(|each| (&each.old[..], &each.new[..])).collect()
    }

    /// The files that it names: key and name of each.
    #[getter]
    fn files(&self) -> Vec<(String, String)> {
        attachments::named(&self.model)
    }

    /// The RTT of each group without queues, in nanoseconds.
    #[getter]
    fn base_rtts_ns(&self) -> Vec<u64> {
        self.model.flows.iter().map(|group| rtt::base_rtt_ns(&self.model, group)).collect()
    }
}

/// A queue discipline whose every word was checked.
#[pyclass(frozen, eq, module = "dumbbell._sim")]
#[derive(Clone, Debug, PartialEq)]
pub struct Qdisc(model::Qdisc);

#[pymethods]
impl Qdisc {
    /// Reads a discipline as one would write it to tc. Raises `Wrong`.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Self> {
        qdisc::parse(text).map(Self).map_err(wrong)
    }

    /// Its kind.
    #[getter]
    fn kind(&self) -> &str {
        &self.0.kind
    }

    /// What follows the kind, as written.
    #[getter]
    fn words<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.words)
    }

    /// Position of each size in bandwidth-delay products, with its number and its unit (`size` or `packets`).
    #[getter]
    fn bdp_words(&self) -> BTreeMap<usize, (f64, &'static str)> {
        let unit = |in_packets| if in_packets { "packets" } else { "size" };
        self.0.bdp_words.iter().map(|(position, size)| (*position, (size.products, unit(size.in_packets)))).collect()
    }

    /// As written.
    #[getter]
    fn text(&self) -> String {
        self.0.text()
    }

    /// First argument of the first of these options that was written.
    #[pyo3(signature = (*names))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
    fn option(&self, names: Vec<String>) -> Option<&str> {
        names.iter().find_map(|name| self.0.option(name))
    }

    fn __repr__(&self) -> String {
        format!("<Qdisc {:?}>", self.0.text())
    }
}
