//! Files that an experiment names: the caller reads them, since this crate does no I/O.

use crate::error::Error;
use dumbbell_experiment::limits::Limits;
use dumbbell_experiment::model::Experiment;
use dumbbell_experiment::plan::attachments::Attachments;
use dumbbell_experiment::{script, trace};

/// Gives the content of the files that an experiment names (`path.bottleneck.trace`, `path.tc.script`).
pub trait Files {
    /// The content of a file, by the name that the experiment gives.
    ///
    /// # Errors
    ///
    /// Why it can't be read.
    fn read(&self, name: &str) -> Result<Vec<u8>, String>;
}

impl<F: Fn(&str) -> Result<Vec<u8>, String>> Files for F {
    fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        self(name)
    }
}

/// No files: an experiment that names one is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        Err(format!("the experiment names the file '{name}', and no files are given; use Experiment::run_with"))
    }
}

/// Reads and checks what the experiment names.
pub(crate) fn attachments(experiment: &Experiment, files: &dyn Files) -> Result<Attachments, Error> {
    let limits = Limits::default();
    let mut attachments = Attachments::default();
    if let Some(tc) = &experiment.path.tc {
        let text = match &tc.script {
            None => tc.commands.join("\n"),
            Some(name) => text_of(files, name, "path.tc.script")?,
        };
        let read = script::read(text.lines(), &tc.interface);
        let script = read.map_err(|wrong| Error::File { key: "path.tc", problem: wrong.to_string() })?;
        attachments.script = Some(script);
    }
    let bottleneck = experiment.path.bottleneck.as_ref();
    if let Some((bottleneck, name)) = bottleneck.and_then(|bottleneck| Some((bottleneck, bottleneck.trace.as_ref()?))) {
        let key = "path.bottleneck.trace";
        let content = files.read(name).map_err(|problem| Error::File { key, problem })?;
        let times = trace::read(&content, &limits);
        let times = times.map_err(|wrong| Error::File { key, problem: wrong.to_string() })?;
        let rates = trace::rates(&times, bottleneck.trace_step, experiment.duration, &limits);
        attachments.trace = rates.map_err(|wrong| Error::File { key, problem: wrong.to_string() })?;
    }
    Ok(attachments)
}

fn text_of(files: &dyn Files, name: &str, key: &'static str) -> Result<String, Error> {
    let content = files.read(name).map_err(|problem| Error::File { key, problem })?;
    String::from_utf8(content).map_err(|error| Error::File { key, problem: error.to_string() })
}
