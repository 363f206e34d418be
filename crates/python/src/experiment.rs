//! The experiment language: texts and documents to cases, mistakes as values, and what is made of the declarations.

use crate::errors::mistakes;
use crate::from_python::{MAX_LEVELS, from_python, table_from_python};
use crate::keys::Experiment;
use crate::to_python::to_python;
use dumbbell_experiment::declare::Declared;
use dumbbell_experiment::document::{self, Case, Options};
use dumbbell_experiment::keypath::apply;
use dumbbell_experiment::keys::settings::TcpDefaults;
use dumbbell_experiment::keys::sweep::Sweep;
use dumbbell_experiment::limits::Limits;
use dumbbell_experiment::{model, random, reference, renames, schema, stubs, toml, write};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;

/// Reads a text: the cases, each with its name, its experiment, and what it sets.
///
/// `settings` are `key=value` texts that come last; `limits` are those that differ from the defaults, by name; `cases`
/// are the names of those that are read, all if there are none.
#[pyfunction]
#[pyo3(signature = (text, title, settings = vec![], limits = BTreeMap::new(), file = "", cases = vec![]))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn parse_experiment<'py>(
    py: Python<'py>,
    text: &str,
    title: &str,
    settings: Vec<String>,
    limits: BTreeMap<String, usize>,
    file: &str,
    cases: Vec<String>,
) -> PyResult<Bound<'py, PyList>> {
    let options = Options { cases, ..options(py, title, &settings, &limits, file)? };
    let cases = document::parse(text, &options).map_err(|faults| mistakes(py, &faults, text, file))?;
    cases_in_python(py, cases)
}

/// As `parse_experiment`, of a document that was parsed already.
#[pyfunction]
#[pyo3(signature = (document, title, settings = vec![], limits = BTreeMap::new(), cases = vec![], file = ""))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn read_experiment<'py>(
    document: &Bound<'py, PyDict>,
    title: &str,
    settings: Vec<String>,
    limits: BTreeMap<String, usize>,
    cases: Vec<String>,
    file: &str,
) -> PyResult<Bound<'py, PyList>> {
    let py = document.py();
    let options = Options { cases, ..options(py, title, &settings, &limits, file)? };
    let table = table_from_python(document, "", MAX_LEVELS)?;
    let cases = document::read(table, &options).map_err(|faults| mistakes(py, &faults, "", file))?;
    cases_in_python(py, cases)
}

/// The values of a TOML text.
#[pyfunction]
#[pyo3(signature = (text, limits = BTreeMap::new(), file = ""))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn parse_toml<'py>(
    py: Python<'py>,
    text: &str,
    limits: BTreeMap<String, usize>,
    file: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let parsed = toml::parse(text, &limits_of(&limits)?);
    let table = parsed.map_err(|faults| mistakes(py, &faults, text, file))?;
    to_python(py, &table.into())
}

/// A copy of a document with other values, by dotted key.
#[pyfunction]
#[pyo3(signature = (document, settings, file = ""))]
pub fn set_keys<'py>(
    document: &Bound<'py, PyDict>,
    settings: &Bound<'py, PyDict>,
    file: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = document.py();
    let mut changed = table_from_python(document, "", MAX_LEVELS)?;
    renames::modernize(&mut changed).map_err(|fault| mistakes(py, &[*fault], "", file))?;
    for (key, value) in &table_from_python(settings, "", MAX_LEVELS)?.0 {
        apply(&mut changed, &key.text, value).map_err(|fault| mistakes(py, &[*fault], "", file))?;
    }
    to_python(py, &changed.into())
}

/// A `key=value` text's key and value; a value that is no TOML is a text.
#[pyfunction]
pub fn split_setting<'py>(py: Python<'py>, text: &str) -> PyResult<(String, Bound<'py, PyAny>)> {
    let read = document::setting(text, &Limits::default());
    let (key, value) = read.map_err(|fault| mistakes(py, &[*fault], "", ""))?;
    Ok((key, to_python(py, &value)?))
}

/// The document of one case; without a name, of a document that has none.
#[pyfunction]
#[pyo3(signature = (document, case = None, limits = BTreeMap::new(), file = ""))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn choose_case<'py>(
    document: &Bound<'py, PyDict>,
    case: Option<&str>,
    limits: BTreeMap<String, usize>,
    file: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = document.py();
    let made = document::without_cases(table_from_python(document, "", MAX_LEVELS)?, case, &limits_of(&limits)?);
    to_python(py, &made.map_err(|fault| mistakes(py, &[*fault], "", file))?.into())
}

/// A document as a person would write it.
#[pyfunction]
pub fn write_toml(document: &Bound<'_, PyDict>) -> PyResult<String> {
    Ok(write::document(&table_from_python(document, "", MAX_LEVELS)?))
}

/// A value of TOML on one line; a table between braces.
#[pyfunction]
pub fn inline_toml(value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(write::inline(&from_python(value, "", MAX_LEVELS)?))
}

/// The document of a random valid experiment without some keys.
#[pyfunction]
#[pyo3(signature = (bytes, omitted = vec![]))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn random_experiment<'py>(py: Python<'py>, bytes: &[u8], omitted: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
    let omitted: Vec<_> = omitted.iter().map(String::as_str).collect();
    to_python(py, &random::document(bytes, &omitted).0.into())
}

/// What is made of the declarations: the JSON schema and the controls of a page in JSON, the reference of each table in
/// Markdown, the Python types of the values.
#[pyfunction]
pub fn declarations(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("schema", write::json(&schema::schema()))?;
    all.set_item("sweep_schema", write::json(&schema::of_sweeps()))?;
    all.set_item("controls", write::json(&schema::controls()))?;
    let tables = PyDict::new(py);
    for name in reference::tables() {
        tables.set_item(name, reference::reference(name))?;
    }
    all.set_item("reference", tables)?;
    all.set_item("classes", stubs::classes(&[model::Experiment::SPEC, Sweep::SPEC]))?;
    Ok(all)
}

/// The own keys of each table of experiments and sweeps.
#[pyfunction]
pub fn keys_by_table() -> BTreeMap<&'static str, Vec<&'static str>> {
    let tables = [model::Experiment::SPEC, Sweep::SPEC].into_iter().flat_map(reference::tables_of);
    tables.map(|table| (table.name, table.keys.iter().map(|key| key.name).collect())).collect()
}

/// Adds the defaults of the limits on what a text may use, by name, and how far TCP's buffers may grow.
pub fn add_defaults(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let (limits, mut defaults) = (PyDict::new(py), Limits::default());
    for name in Limits::NAMES {
        limits.set_item(name, defaults.get_mut(name).map(|limit| *limit))?;
    }
    module.add("LIMITS", limits)?;
    let buffers = [TcpDefaults::Dumbbell, TcpDefaults::Linux].map(|each| (each.word(), each.buffers()));
    module.add("TCP_BUFFERS", BTreeMap::from(buffers))
}

/// A text with today's spellings of keys, and each older one that it had, with today's.
#[pyfunction]
#[pyo3(signature = (text, limits = BTreeMap::new(), file = ""))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn upgrade_toml(
    py: Python<'_>,
    text: &str,
    limits: BTreeMap<String, usize>,
    file: &str,
) -> PyResult<(String, Vec<(String, String)>)> {
    let upgraded = renames::upgrade(text, &limits_of(&limits)?);
    let (upgraded, found) = upgraded.map_err(|faults| mistakes(py, &faults, text, file))?;
    Ok((upgraded, found.into_iter().map(|each| (each.old, each.new)).collect()))
}

pub(crate) fn limits_of(changed: &BTreeMap<String, usize>) -> PyResult<Limits> {
    let mut limits = Limits::default();
    for (name, value) in changed {
        *limits.get_mut(name).ok_or_else(|| PyValueError::new_err(format!("no limit '{name}'")))? = *value;
    }
    Ok(limits)
}

fn options(
    py: Python<'_>,
    title: &str,
    settings: &[String],
    limits: &BTreeMap<String, usize>,
    file: &str,
) -> PyResult<Options> {
    let limits = limits_of(limits)?;
    let read = settings.iter().map(|setting| document::setting(setting, &limits)).collect::<Result<_, _>>();
    let settings = read.map_err(|fault| mistakes(py, &[*fault], "", file))?;
    Ok(Options { title: title.to_owned(), settings, limits, ..Options::default() })
}

fn cases_in_python(py: Python<'_>, cases: Vec<Case>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for case in cases {
        let settings = to_python(py, &case.settings.into())?;
        list.append((case.name, Experiment::new(case.experiment, case.renamed), settings))?;
    }
    Ok(list)
}
