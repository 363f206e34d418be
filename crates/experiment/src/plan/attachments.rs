//! The files that an experiment names, read: tc scripts, traces of rates, changes, distributions of sizes.
//!
//! The caller reads their contents, since this crate does no I/O: [`named`] says which, [`read`] takes them.

use super::error::Error;
use crate::changes_file::{self, Row};
use crate::declare::sizes::SizeSource;
use crate::diagnostic::Diagnostic;
use crate::limits::Limits;
use crate::model::Experiment;
use crate::rate_trace;
use crate::script::{self, Script};
use crate::sizes::{self, Distribution};
use dumbbell_plan::Rates;
use dumbbell_plan::text::time_text;
use std::collections::BTreeMap;

/// The files that an experiment names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attachments {
    /// The tc scripts, checked, in the order of the experiment.
    pub scripts: Vec<Script>,
    /// Rates of links over time, by the link's name, only where the rate changes.
    pub traces: BTreeMap<String, Rates>,
    /// Rows of files of changes, by number of the change.
    pub changes: BTreeMap<usize, Vec<Row>>,
    /// Distributions of sizes, by number of the group.
    pub sizes: BTreeMap<usize, Distribution>,
}

/// A link whose rate a file gives.
struct Traced<'a> {
    key: String,
    link: &'a str,
    file: &'a str,
    step: u64,
}

fn traced(experiment: &Experiment) -> Vec<Traced<'_>> {
    let path = &experiment.path;
    let bottleneck = path
        .bottleneck
        .iter()
        .map(|each| ("path.bottleneck".to_owned(), "bottleneck", &each.rate_trace, each.rate_trace_step));
    let links = path.links.iter().enumerate().map(|(number, link)| {
        (format!("path.links.{number}"), &link.name[..], &link.segment.rate_trace, link.segment.rate_trace_step)
    });
    let reverse =
        path.reverse.iter().map(|each| ("path.reverse".to_owned(), "reverse", &each.rate_trace, each.rate_trace_step));
    let all = bottleneck.chain(links).chain(reverse);
    all.filter_map(|(table, link, file, step)| {
        let file = file.as_deref().filter(|file| !file.is_empty())?;
        Some(Traced { key: format!("{table}.rate_trace"), link, file, step })
    })
    .collect()
}

/// The key of a script: `path.tc` if there is one, or else with its number.
pub(super) fn script_key(experiment: &Experiment, number: usize) -> String {
    if experiment.path.tc.len() > 1 { format!("path.tc.{number}") } else { "path.tc".into() }
}

/// The files that an experiment names: key and name.
#[must_use]
pub fn named(experiment: &Experiment) -> Vec<(String, String)> {
    let traces = traced(experiment).into_iter().map(|each| (each.key, each.file.to_owned()));
    let scripts = experiment.path.tc.iter().enumerate();
    let scripts = scripts.filter_map(|(number, tc)| Some((number, tc.script.clone().filter(|name| !name.is_empty())?)));
    let script = scripts.map(|(number, name)| (format!("{}.script", script_key(experiment, number)), name));
    let changes = experiment.changes.iter().enumerate();
    let changes = changes.filter_map(|(number, change)| Some((format!("changes.{number}.file"), change.file.clone()?)));
    let sizes = experiment.flows.iter().enumerate().filter_map(|(number, group)| match &group.sizes {
        Some(SizeSource::Cdf(file)) => Some((format!("flows.{number}.bytes.cdf"), file.clone())),
        _ => None,
    });
    traces.chain(script).chain(changes).chain(sizes).collect()
}

/// Reads the contents of the files, by key.
///
/// # Errors
///
/// A file has another format, or too much; the error names its key.
pub fn read(
    experiment: &Experiment,
    contents: &BTreeMap<String, Vec<u8>>,
    limits: &Limits,
) -> Result<Attachments, Error> {
    let content = |key: &str| contents.get(key).map_or(&[][..], Vec::as_slice);
    let mut made = Attachments::default();
    for (number, tc) in experiment.path.tc.iter().enumerate() {
        let key = script_key(experiment, number);
        let text = match &tc.script {
            None => tc.commands.join("\n"),
            Some(name) => {
                let key = format!("{key}.script");
                let text = String::from_utf8(content(&key).to_vec());
                text.map_err(|fault| Error::at(key, format!("can't be read: {fault}"), "").with(&name[..]))?
            }
        };
        let read = script::read(text.lines(), &tc.interface);
        made.scripts.push(read.map_err(|wrong| Error::at(key, wrong.problem, wrong.hint))?);
    }
    for Traced { key, link, file, step } in traced(experiment) {
        let times = rate_trace::read(content(&key), limits).map_err(|fault| in_file(&key, file, *fault))?;
        let rates = rate_trace::rates(&times, step, experiment.duration, limits);
        let rates = rates.map_err(|wrong| {
            Error::at(format!("{key}_step"), wrong.problem, wrong.hint).with(time_text(step).as_str())
        })?;
        made.traces.insert(link.to_owned(), rates);
    }
    for (number, change) in experiment.changes.iter().enumerate() {
        let Some(file) = &change.file else { continue };
        let key = format!("changes.{number}.file");
        let rows = changes_file::read(content(&key), limits).map_err(|fault| in_file(&key, file, *fault))?;
        made.changes.insert(number, rows);
    }
    for (number, group) in experiment.flows.iter().enumerate() {
        let distribution = match &group.sizes {
            None => continue,
            Some(SizeSource::Cdf(file)) => {
                let key = format!("flows.{number}.bytes.cdf");
                sizes::read(content(&key), limits).map_err(|fault| in_file(&key, file, *fault))?
            }
            Some(stated) => match Distribution::stated(stated) {
                Some(distribution) => distribution,
                None => continue,
            },
        };
        made.sizes.insert(number, distribution);
    }
    Ok(made)
}

/// A mistake in a file, at the key that names it.
fn in_file(key: &str, file: &str, fault: Diagnostic) -> Error {
    let place = if fault.key.is_empty() { String::new() } else { format!("{}: ", fault.key) };
    let got =
        fault.value.as_ref().and_then(|value| value.text()).map_or_else(String::new, |text| format!(" ('{text}')"));
    Error::at(key, format!("{file}: {place}{}{got}", fault.problem), fault.hint)
}
