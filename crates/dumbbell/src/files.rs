//! Files that an experiment names: the caller reads them, since this crate does no I/O.

use crate::error::Error;
use dumbbell_experiment::limits::Limits;
use dumbbell_experiment::model::Experiment;
use dumbbell_experiment::plan::attachments::{self, Attachments};
use std::collections::BTreeMap;

/// Gives the content of the files that an experiment names (`path.bottleneck.rate_trace`, `path.tc.script`).
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
    let mut contents = BTreeMap::new();
    for (key, name) in attachments::named(experiment) {
        let content = files.read(&name).map_err(|problem| Error::File { key: key.clone(), problem })?;
        contents.insert(key, content);
    }
    Ok(attachments::read(experiment, &contents, &Limits::default())?)
}
