//! Panels of figures, their colours, and what they are declared to show: `crates/figures`.

use crate::metrics::Metrics;
use crate::numbers::Numbers;
use dumbbell_figures::colours::{self, Member};
use dumbbell_figures::{self as figures, FLOWS_MAX, PANELS, POINTS};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;

/// Name, group, controller.
type Named = (String, String, Option<String>);

/// The named panels as dicts, and the numbers that they name. Raises `KeyError` for an unknown name.
#[pyfunction]
#[pyo3(signature = (run, names, points, cwnd_in_bytes=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn figure<'py>(
    py: Python<'py>,
    run: &Metrics,
    names: Vec<String>,
    points: usize,
    cwnd_in_bytes: Option<bool>,
) -> PyResult<(Bound<'py, PyAny>, Numbers)> {
    if let Some(name) = names.iter().find(|name| figures::declared(name).is_none()) {
        return Err(PyKeyError::new_err(name.clone()));
    }
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let figure = run.compute(py, |run| Ok(figures::figure(run, &names, points, cwnd_in_bytes)))?;
    Ok((pythonize(py, &figure.panels)?, figure.numbers.into()))
}

/// Those of the named panels for which the run has data, and columns of its first flow's samples: a dict of `panels` and
/// `samples`, and the numbers that they name.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn figure_page<'py>(
    py: Python<'py>,
    run: &Metrics,
    names: Vec<String>,
    points: usize,
    columns: Vec<String>,
) -> PyResult<(Bound<'py, PyAny>, Numbers)> {
    let [names, columns]: [Vec<&str>; 2] = [&names, &columns].map(|all| all.iter().map(String::as_str).collect());
    let figure = run.compute(py, |run| Ok(figures::page(run, &names, points, &columns)))?;
    Ok((pythonize(py, &figure)?, figure.numbers.into()))
}

/// The data that the run lacks for a panel, with a possible reason, or None. Raises `KeyError` for an unknown name.
#[pyfunction]
pub fn figure_lacks(py: Python<'_>, run: &Metrics, name: &str) -> PyResult<Option<String>> {
    let panel = figures::declared(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
    run.compute(py, |run| Ok(figures::lacks(run, panel)))
}

/// The lines of a run's legend: flows, or groups in their place.
#[pyfunction]
pub fn figure_members(py: Python<'_>, run: &Metrics) -> PyResult<Vec<Named>> {
    Ok(run.compute(py, |run| Ok(figures::members(run)))?.into_iter().map(named).collect())
}

/// All groups of a run, with the controller that all of its flows have.
#[pyfunction]
pub fn figure_groups(py: Python<'_>, run: &Metrics) -> PyResult<Vec<Named>> {
    Ok(run.compute(py, |run| Ok(figures::groups(run)))?.into_iter().map(named).collect())
}

fn named(Member { name, group, cc }: Member) -> Named {
    (name, group, cc)
}

/// The rows of a line to keep: the smallest and the largest value of every time bin, the first and the last.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn kept_rows(py: Python<'_>, times: PyBuffer<f64>, values: PyBuffer<f64>, points: usize) -> PyResult<Numbers> {
    let rows = figures::kept(&times.to_vec(py)?, &values.to_vec(py)?, points);
    Ok(rows.into_iter().map(usize::cast_signed).map(|row| row as i64).collect::<Vec<_>>().into())
}

/// A discipline's limit in packets and as configured; a limit in bytes is divided by a packet's size, if known.
#[pyfunction]
pub fn written_limit(qdisc: &str, size_bytes: f64) -> Option<(f64, String)> {
    figures::written_limit(qdisc, size_bytes)
}

/// A colour for each of these, in order.
#[pyfunction]
pub fn shades(members: Vec<Named>) -> Vec<String> {
    let member = |(name, group, cc)| Member { name, group, cc };
    colours::shades(&members.into_iter().map(member).collect::<Vec<_>>())
}

/// A colour for each state, declared ones first.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn state_colours(names: Vec<String>) -> Vec<(String, &'static str)> {
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    colours::states(&names).into_iter().map(|(name, colour)| (name.to_owned(), colour)).collect()
}

/// The hue of a controller.
#[pyfunction]
pub fn controller_hue(name: &str) -> &'static str {
    colours::controller_hue(name)
}

/// The counterpart of a colour on a dark page.
#[pyfunction]
pub fn dark(colour: &str) -> String {
    colours::dark(colour)
}

/// The contrast of two colours: 1 to 21.
#[pyfunction]
pub fn contrast(colour: &str, ground: &str) -> f64 {
    colours::contrast(colour, ground)
}

/// Adds the declared panels and the palette.
pub fn add_names(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let panels: Vec<_> =
        PANELS.iter().map(|panel| (panel.name, panel.about, panel.needs.to_vec(), panel.is_of_flows)).collect();
    module.add("PANELS", panels)?;
    module.add("FLOWS_MAX", FLOWS_MAX)?;
    module.add("POINTS", POINTS)?;
    let palette = PyDict::new(module.py());
    palette.set_item("hues", colours::HUES)?;
    palette.set_item("on_dark", colours::ON_DARK)?;
    palette.set_item("families", colours::FAMILIES.map(<[_]>::to_vec))?;
    palette.set_item("states", colours::STATES.to_vec())?;
    palette.set_item("pale", colours::PALE)?;
    palette.set_item("dashes", colours::DASHES.map(<[_]>::to_vec))?;
    let single = [
        ("dark_ground", colours::DARK_GROUND),
        ("ink", colours::INK),
        ("note", colours::NOTE),
        ("alarm", colours::ALARM),
    ];
    for (name, colour) in single {
        palette.set_item(name, colour)?;
    }
    module.add("PALETTE", palette)
}
