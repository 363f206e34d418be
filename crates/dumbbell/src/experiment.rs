//! An experiment, ready to run.

use crate::error::Error;
use crate::files::{Files, NoFiles, attachments};
use crate::run::Run;
use crate::simulation::Simulation;
use dumbbell_experiment::document::{Case, Options, parse, setting};
use dumbbell_experiment::model;
use dumbbell_experiment::plan::limits::Limits;
use dumbbell_experiment::plan::make;
use dumbbell_plan::Plan;
use dumbbell_sim::World;
use dumbbell_sim::packet_trace::Window;
use dumbbell_sim::plan::from_experiment;

/// One experiment: a file without cases, or one case of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    case: Case,
}

impl Experiment {
    /// Reads an experiment.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every mistake of the text, [`Error::Case`] if it has several cases.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        Self::from_toml_with(text, &[])
    }

    /// Reads an experiment and changes it by `key=value` settings, as `dumbbell run --set` takes them.
    ///
    /// ```
    /// # use dumbbell::Experiment;
    /// # let text = "duration = '5s'\n[path]\nrtt = '10ms'\n[path.bottleneck]\nrate = '5mbit'\n[[flows]]\ncc = 'reno'";
    /// let longer = Experiment::from_toml_with(text, &["duration=8s", "flows.*.cc=cubic"])?;
    /// assert_eq!(longer.model().duration, 8_000_000_000);
    /// # Ok::<(), dumbbell::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Experiment::from_toml`].
    pub fn from_toml_with(text: &str, settings: &[&str]) -> Result<Self, Error> {
        let mut cases = Self::cases_with(text, settings)?;
        if cases.len() == 1 {
            return Ok(cases.remove(0));
        }
        let names = cases.iter().map(|experiment| experiment.name().to_owned()).collect();
        Err(Error::Case { problem: "the text has several cases; take one of Experiment::cases".into(), cases: names })
    }

    /// Every case of a text; one experiment without a name if it has no cases.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`].
    pub fn cases(text: &str) -> Result<Vec<Self>, Error> {
        Self::cases_with(text, &[])
    }

    fn cases_with(text: &str, settings: &[&str]) -> Result<Vec<Self>, Error> {
        let invalid = |mistakes| Error::Invalid { text: text.into(), mistakes };
        let mut options = Options { title: "experiment".into(), ..Options::default() };
        for each in settings {
            options.settings.push(setting(each, &options.limits).map_err(|mistake| invalid(vec![*mistake]))?);
        }
        let cases = parse(text, &options).map_err(invalid)?;
        Ok(cases.into_iter().map(|case| Self { case }).collect())
    }

    /// The case's name; empty for a text without cases.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.case.name
    }

    /// The parsed values: times in nanoseconds, rates in bits per second, sizes in bytes.
    #[must_use]
    pub fn model(&self) -> &model::Experiment {
        &self.case.experiment
    }

    /// Runs it on the simulator, to its end.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] or [`Error::Simulator`] if it can't be run, [`Error::File`] if it names a file.
    pub fn run(&self, seed: u64) -> Result<Run, Error> {
        self.run_with(seed, &NoFiles)
    }

    /// Runs an experiment that names files.
    ///
    /// # Errors
    ///
    /// As [`Experiment::run`].
    pub fn run_with(&self, seed: u64, files: &dyn Files) -> Result<Run, Error> {
        let mut simulation = self.start(seed, files)?;
        while !simulation.advance()? {}
        Ok(simulation.finish())
    }

    /// A run that the caller advances in slices, so that it can report progress, cancel, or bound memory.
    ///
    /// # Errors
    ///
    /// As [`Experiment::run`].
    pub fn start(&self, seed: u64, files: &dyn Files) -> Result<Simulation, Error> {
        let plan = self.plan(seed, files)?;
        let world = World::new(&from_experiment::plan(&plan, seed, None)?)?;
        Ok(Simulation::new(plan, world))
    }

    /// As [`Experiment::start`]; the run also records the path of every packet that is in flight within a window, and
    /// is over when all of these packets have arrived or were dropped. [`Run::packets`] has them.
    ///
    /// # Errors
    ///
    /// As [`Experiment::run`].
    pub fn start_recording(&self, seed: u64, files: &dyn Files, window: Window) -> Result<Simulation, Error> {
        let plan = self.plan(seed, files)?;
        let simulated = from_experiment::plan(&plan, seed, None)?;
        let mut world = World::new(&simulated)?;
        world.record(&simulated, window);
        Ok(Simulation::recording(plan, world))
    }

    /// Checks that it can be run, and runs nothing.
    ///
    /// # Errors
    ///
    /// As [`Experiment::run`].
    pub fn check(&self) -> Result<(), Error> {
        World::new(&from_experiment::plan(&self.plan(1, &NoFiles)?, 1, None)?)?;
        Ok(())
    }

    fn plan(&self, seed: u64, files: &dyn Files) -> Result<Plan, Error> {
        let attachments = attachments(self.model(), files)?;
        Ok(make(self.model(), &attachments, seed, &Limits::default())?)
    }
}
