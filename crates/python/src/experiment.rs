//! The experiment language: texts and documents to cases, mistakes as values, and what is made of the declarations.

use dumbbell_experiment::declare::{Declared, Kind};
use dumbbell_experiment::diagnostic::Diagnostic;
use dumbbell_experiment::document::{self, Case, Options};
use dumbbell_experiment::keypath::apply;
use dumbbell_experiment::keys::settings::TcpDefaults;
use dumbbell_experiment::keys::sweep::Sweep;
use dumbbell_experiment::limits::Limits;
use dumbbell_experiment::value::{Key, Node, Table, Value};
use dumbbell_experiment::{Experiment, names, random, reference, renames, render, schema, stubs, toml, write};
use pyo3::create_exception;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::collections::BTreeMap;

create_exception!(
    dumbbell._sim,
    Mistakes,
    PyValueError,
    "A document is no experiment: a list of mistakes, and a text."
);

/// Levels of Python's lists and dicts that are converted; a deeper document is refused.
pub(crate) const MAX_LEVELS: usize = 64;

/// Reads a text: the cases, each with its name, its values in the units of the code, and what it sets.
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
    let options = Options { cases, ..options(py, title, &settings, &limits)? };
    let cases = document::parse(text, &options).map_err(|faults| mistakes(py, &faults, text, file))?;
    cases_in_python(py, &cases)
}

/// As `parse_experiment`, of a document that was parsed already.
#[pyfunction]
#[pyo3(signature = (document, title, settings = vec![], limits = BTreeMap::new(), cases = vec![]))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn read_experiment<'py>(
    document: &Bound<'py, PyDict>,
    title: &str,
    settings: Vec<String>,
    limits: BTreeMap<String, usize>,
    cases: Vec<String>,
) -> PyResult<Bound<'py, PyList>> {
    let py = document.py();
    let options = Options { cases, ..options(py, title, &settings, &limits)? };
    let table = table_from_python(document, "", MAX_LEVELS)?;
    let cases = document::read(table, &options).map_err(|faults| mistakes(py, &faults, "", ""))?;
    cases_in_python(py, &cases)
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

/// The document of an experiment's values (`parse_experiment`), without keys that have their default value; with all
/// keys if `complete`.
#[pyfunction]
#[pyo3(signature = (values, complete = false))]
pub fn write_experiment<'py>(values: &Bound<'py, PyAny>, complete: bool) -> PyResult<Bound<'py, PyAny>> {
    let py = values.py();
    if complete {
        return to_python(py, &Experiment::written(&from_python(values, "", MAX_LEVELS)?));
    }
    to_python(py, &Experiment::write(&experiment_from_python(values)?))
}

/// An experiment of values, which are checked.
pub fn experiment_from_python(values: &Bound<'_, PyAny>) -> PyResult<Experiment> {
    let py = values.py();
    let document = Experiment::written(&from_python(values, "", MAX_LEVELS)?);
    let Node::Table(document) = document.node else { return Err(PyTypeError::new_err("not an experiment")) };
    // Who made the values has checked the number of seeds.
    let limits = Limits { cases: usize::MAX, ..Limits::default() };
    document::experiment(document, &limits).map_err(|faults| mistakes(py, &faults, "", ""))
}

/// A copy of a document with other values, by dotted key.
#[pyfunction]
pub fn set_keys<'py>(document: &Bound<'py, PyDict>, settings: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let py = document.py();
    let mut changed = table_from_python(document, "", MAX_LEVELS)?;
    renames::modernize(&mut changed).map_err(|fault| mistakes(py, &[*fault], "", ""))?;
    for (key, value) in &table_from_python(settings, "", MAX_LEVELS)?.0 {
        apply(&mut changed, &key.text, value).map_err(|fault| mistakes(py, &[*fault], "", ""))?;
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
#[pyo3(signature = (document, case = None, limits = BTreeMap::new()))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn choose_case<'py>(
    document: &Bound<'py, PyDict>,
    case: Option<&str>,
    limits: BTreeMap<String, usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = document.py();
    let made = document::without_cases(table_from_python(document, "", MAX_LEVELS)?, case, &limits_of(&limits)?);
    to_python(py, &made.map_err(|fault| mistakes(py, &[*fault], "", ""))?.into())
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
    all.set_item("dataclasses", stubs::dataclasses(Experiment::SPEC))?;
    all.set_item("sweep_dataclasses", stubs::dataclasses(Sweep::SPEC))?;
    Ok(all)
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

/// A name for each group: as wanted, or, where it is taken, with a number.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn numbered(wanted: Vec<String>) -> Vec<String> {
    names::numbered(wanted.iter().map(String::as_str))
}

pub(crate) fn limits_of(changed: &BTreeMap<String, usize>) -> PyResult<Limits> {
    let mut limits = Limits::default();
    for (name, value) in changed {
        *limits.get_mut(name).ok_or_else(|| PyValueError::new_err(format!("no limit '{name}'")))? = *value;
    }
    Ok(limits)
}

fn options(py: Python<'_>, title: &str, settings: &[String], limits: &BTreeMap<String, usize>) -> PyResult<Options> {
    let limits = limits_of(limits)?;
    let read = settings.iter().map(|setting| document::setting(setting, &limits)).collect::<Result<_, _>>();
    let settings = read.map_err(|fault| mistakes(py, &[*fault], "", ""))?;
    Ok(Options { title: title.to_owned(), settings, limits, ..Options::default() })
}

fn cases_in_python<'py>(py: Python<'py>, cases: &[Case]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for case in cases {
        let values = to_python(py, &Experiment::data(&case.experiment))?;
        let settings = to_python(py, &case.settings.clone().into())?;
        list.append((&case.name, values, settings))?;
    }
    Ok(list)
}

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
    } else if let Ok(fields) = value.getattr("__dataclass_fields__") {
        let mut pairs = Vec::new();
        for name in fields.cast::<PyDict>()?.keys() {
            let name = text_of(&name.str()?, path)?;
            pairs.push((Key::from(&name[..]), from_python(&value.getattr(&name[..])?, path, levels)?));
        }
        Ok(Table(pairs).into())
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
