//! tc commands: what the simulator makes of them.

use crate::errors::wrong;
use dumbbell_tc::grammar::{Grammar, keywords};
use dumbbell_tc::tree::{Change, Tree};
use dumbbell_tc::{Command, Device, classes, disciplines};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;
use std::collections::BTreeMap;

/// The qdiscs of a device after each command.
#[pyclass]
#[derive(Debug)]
pub struct TcTree(Tree);

#[pymethods]
impl TcTree {
    #[new]
    fn new(mtu: u32, queue_length: u32, seeds: BTreeMap<u32, u64>) -> Self {
        Self(Tree::new(Device { mtu, queue_length, seeds }))
    }

    /// Executes a command, given from the word after `tc` on; the change that it makes to a running tree, if it is one.
    fn execute(&mut self, words: Vec<String>) -> PyResult<Option<TcChange>> {
        let change = Command::read(words).and_then(|command| self.0.execute(&command));
        Ok(change.map_err(wrong)?.map(TcChange))
    }

    /// The root qdisc; None before the first command.
    fn root<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.root())?)
    }
}

/// A change of a running tree.
#[pyclass]
#[derive(Debug)]
pub struct TcChange(Change);

#[pymethods]
impl TcChange {
    /// The new settings.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0)?)
    }
}

/// Adds the grammar of tc to the module.
pub fn add_grammar(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let qdiscs = PyDict::new(py);
    for (kind, grammar) in disciplines::SIMULATED.iter().chain(disciplines::KERNEL_ONLY) {
        qdiscs.set_item(kind, options(py, grammar)?)?;
    }
    qdiscs.set_item("police", options(py, &[disciplines::POLICE])?)?;
    module.add("QDISCS", qdiscs)?;
    let classes_of = PyDict::new(py);
    for (kind, grammar) in classes::KINDS {
        classes_of.set_item(kind, options(py, grammar)?)?;
    }
    module.add("CLASSES", classes_of)?;
    module.add("POLICE_ACTION", options(py, &[disciplines::POLICE, disciplines::POLICE_ACTION])?)?;
    let simulated: Vec<_> = disciplines::SIMULATED.iter().map(|(kind, _)| *kind).collect();
    module.add("SIMULATED", simulated)
}

/// Each option with the names of its arguments; `?` marks one that may be left out.
fn options(py: Python<'_>, grammar: Grammar) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for keyword in keywords(grammar) {
        let required = keyword.required.iter().map(|argument| argument.name());
        let optional = keyword.optional.iter().map(|argument| format!("{}?", argument.name()));
        let arguments: Vec<_> = required.chain(optional).collect();
        all.set_item(keyword.name, pyo3::types::PyTuple::new(py, arguments)?)?;
    }
    Ok(all)
}
