//! Sweep files: texts and documents to values; axes, placeholders.

use crate::errors::{mistakes, wrong};
use crate::experiment::limits_of;
use crate::from_python::{MAX_LEVELS, from_python, table_from_python};
use crate::keys::table;
use crate::to_python::to_python;
use dumbbell_experiment::axes::{self, Scale, Unit};
use dumbbell_experiment::declare::location::{Faults, Location};
use dumbbell_experiment::declare::{Declared, Kind};
use dumbbell_experiment::keys::sweep::rules::ABOUT_THE_RUN;
use dumbbell_experiment::keys::sweep::{Map, Sweep};
use dumbbell_experiment::limits::Limits;
use dumbbell_experiment::reference::keys_named;
use dumbbell_experiment::toml;
use dumbbell_experiment::value::Table;
use dumbbell_experiment::{placeholders as names_in_braces, sweep};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::{BTreeMap, BTreeSet};

type DocumentAndValues<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Reads a text: the document with `settings` (`key=value` texts, which come last), and its values. Raises `Mistakes`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn parse_sweep<'py>(
    py: Python<'py>,
    text: &str,
    settings: Vec<String>,
    limits: BTreeMap<String, usize>,
    file: &str,
) -> PyResult<DocumentAndValues<'py>> {
    let limits = limits_of(&limits)?;
    let document = toml::parse(text, &limits).map_err(|faults| mistakes(py, &faults, text, file))?;
    values(py, document, &settings, &limits, text, file)
}

/// As `parse_sweep`, of a document that was parsed already.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn read_sweep<'py>(
    document: &Bound<'py, PyDict>,
    settings: Vec<String>,
    limits: BTreeMap<String, usize>,
    file: &str,
) -> PyResult<DocumentAndValues<'py>> {
    let table = table_from_python(document, "", MAX_LEVELS)?;
    values(document.py(), table, &settings, &limits_of(&limits)?, "", file)
}

fn values<'py>(
    py: Python<'py>,
    document: Table,
    settings: &[String],
    limits: &Limits,
    text: &str,
    file: &str,
) -> PyResult<DocumentAndValues<'py>> {
    let changed = sweep::with_settings(document, settings, limits);
    let document = changed.map_err(|fault| mistakes(py, &[*fault], "", file))?;
    let read = sweep::read(&document, limits).map_err(|faults| mistakes(py, &faults, text, file))?;
    Ok((to_python(py, &document.into())?, table(py, Sweep::SPEC, &Sweep::data(&read))?))
}

/// The values of a map, of its keys. Raises `Mistakes`.
#[pyfunction]
pub fn read_map<'py>(keys: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let py = keys.py();
    let keys = table_from_python(keys, "", MAX_LEVELS)?;
    let mut faults = Faults::in_language(keys_named);
    let map = Map::read(&keys.into(), &Location::ROOT, &mut faults);
    let map = map.ok_or_else(|| mistakes(py, &faults.into_list(), "", ""))?;
    table(py, Map::SPEC, &Map::data(&map))
}

/// The values of an axis: a list of values or a range. Raises `Wrong`.
#[pyfunction]
pub fn parse_axis<'py>(key: &str, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let axis = axes::parse(key, &from_python(value, "", MAX_LEVELS)?).map_err(wrong)?;
    to_python(value.py(), &axis.data().into())
}

/// The value half-way between two numbers of an axis, and its number; None: there is none.
#[pyfunction]
pub fn value_between<'py>(
    py: Python<'py>,
    scale: &str,
    unit: Option<&str>,
    is_whole: bool,
    low: f64,
    high: f64,
) -> PyResult<Option<(Bound<'py, PyAny>, f64)>> {
    let scale = if scale == Scale::Log.word() { Scale::Log } else { Scale::Linear };
    let found = axes::between(scale, unit.map(unit_of).transpose()?, is_whole, (low, high));
    found.map(|(value, number)| Ok((to_python(py, &value)?, number))).transpose()
}

/// The value that is written for a number of an axis, and the number that it says.
#[pyfunction]
pub fn value_of_number<'py>(
    py: Python<'py>,
    unit: Option<&str>,
    is_whole: bool,
    number: f64,
) -> PyResult<(Bound<'py, PyAny>, f64)> {
    let (value, number) = axes::value_of(number, unit.map(unit_of).transpose()?, is_whole);
    Ok((to_python(py, &value)?, number))
}

/// The number of a value in a unit of axes. Raises `Wrong`.
#[pyfunction]
pub fn number_of(unit: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    unit_of(unit)?.number(&from_python(value, "", MAX_LEVELS)?).map_err(wrong)
}

fn unit_of(suffix: &str) -> PyResult<Unit> {
    let unit = Unit::ALL.into_iter().find(|unit| unit.suffix() == suffix);
    unit.ok_or_else(|| PyValueError::new_err(format!("'{suffix}' is not a unit of an axis")))
}

/// The placeholders in a value, each once.
#[pyfunction]
pub fn placeholders(value: &Bound<'_, PyAny>) -> PyResult<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    names_in_braces::add_names(&from_python(value, "", MAX_LEVELS)?, &mut names);
    Ok(names)
}

/// A value with its placeholders filled by these values. Raises `Wrong`.
#[pyfunction]
pub fn fill<'py>(value: &Bound<'py, PyAny>, values: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let values = table_from_python(values, "", MAX_LEVELS)?;
    let filled = names_in_braces::fill(&from_python(value, "", MAX_LEVELS)?, &values).map_err(wrong)?;
    to_python(value.py(), &filled)
}

/// Adds what the numbers of an axis may be in, and the axes that are no keys of an experiment.
pub fn add_names(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("AXIS_UNITS", Unit::ALL.map(Unit::suffix).to_vec())?;
    module.add("ABOUT_THE_RUN", PyTuple::new(module.py(), ABOUT_THE_RUN)?)
}
