//! Runs a world in slices, with the interpreter's lock released.

use crate::arrow::Arrow;
use crate::fault::{Outgrown, guarded};
use dumbbell_core::cc::Controller;
use dumbbell_core::time::{Span, Time};
use dumbbell_sim::journeys::{Told, Window};
use dumbbell_sim::{Error, Outcome, Plan, Progress, World};
use pyo3::prelude::*;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Wall time between two looks at signals and at whoever watches.
const SLICE: Duration = Duration::from_millis(50);
/// Virtual time of a step: it grows while steps are quick, and shrinks while they are slow.
const FIRST_STEP: Span = Span::from_micros(100);
const LONGEST_STEP: Span = Span::from_secs(100);

/// Three tables and a report in JSON.
type Results = (Arrow, Arrow, Arrow, String);

/// Carries a plan out: flows, queues and probes as Arrow tables, and a report in JSON.
///
/// `progress` is called about twenty times a second with the seconds of the experiment that have passed; what it
/// raises ends the run. `capture` is a file that packets are written to. [`Outgrown`] is
/// raised as soon as packets and tables hold more than `most_bytes`.
#[pyfunction]
#[pyo3(signature = (plan, progress=None, capture=None, most_bytes=None))]
#[expect(clippy::needless_pass_by_value, reason = "Python hands values over")]
pub fn simulate(
    py: Python<'_>,
    plan: &str,
    progress: Option<Bound<'_, PyAny>>,
    capture: Option<PathBuf>,
    most_bytes: Option<u64>,
) -> PyResult<Results> {
    let run = py.detach(|| guarded(|| Run::new(plan, capture)))?;
    let world = carried_out(py, run, progress.as_ref(), most_bytes, World::run_on)?;
    py.detach(|| guarded(|| Ok(exported(world.finish()))))
}

/// Where the packets were that were under way from `start` to `stop` (nanoseconds, both included): the first
/// `most_rows` of them as an Arrow table, and how many more there were.
///
/// The plan is carried out until it is known what became of each of them. `progress` and `most_bytes` are as in
/// [`simulate`].
#[pyfunction]
#[pyo3(signature = (plan, start, stop, most_rows, progress=None, most_bytes=None))]
pub fn journeys(
    py: Python<'_>,
    plan: &str,
    start: u64,
    stop: u64,
    most_rows: usize,
    progress: Option<&Bound<'_, PyAny>>,
    most_bytes: Option<u64>,
) -> PyResult<(Arrow, u64)> {
    let window = Window { from: Time::from_nanos(start), to: Time::from_nanos(stop), most_rows };
    let run = py.detach(|| guarded(|| Run::recorded(plan, window)))?;
    let world = carried_out(py, run, progress, most_bytes, World::run_recorded)?;
    let Told { packets, left_out } =
        py.detach(|| guarded(|| Ok(world.finish().journeys.expect("they were recorded"))))?;
    Ok((packets.into(), left_out))
}

/// Can this plan be carried out? Raises `Refused` when not.
#[pyfunction]
pub fn check(py: Python<'_>, plan: &str) -> PyResult<()> {
    py.detach(|| guarded(|| Run::new(plan, None).map(drop)))
}

/// What can be set of a controller: name, value where nothing is set, and what it takes, of each parameter.
#[pyfunction]
pub fn parameters(controller: &str) -> Vec<(&'static str, String, String)> {
    Controller::parameters(controller).into_iter().map(|known| (known.name, known.default, known.takes)).collect()
}

/// Lets a world go on, by `go`, until that says that it is over.
fn carried_out(
    py: Python<'_>,
    mut run: Run,
    progress: Option<&Bound<'_, PyAny>>,
    most_bytes: Option<u64>,
    go: Go,
) -> PyResult<World> {
    while !py.detach(|| guarded(|| run.slice(go)))?.is_over {
        py.check_signals()?;
        let held = run.world.held_bytes();
        if most_bytes.is_some_and(|most| held > most) {
            return Err(Outgrown::new_err((run.seconds(), held)));
        }
        if let Some(progress) = progress {
            progress.call1((run.seconds(),))?;
        }
    }
    Ok(run.world)
}

/// Lets everything happen that is due by a time.
type Go = fn(&mut World, Time) -> Result<Progress, Error>;

/// A world, and how far it may go next.
struct Run {
    world: World,
    until: Time,
    /// Has all happened that is due by then?
    is_reached: bool,
    step: Span,
}

impl Run {
    fn new(plan: &str, capture: Option<PathBuf>) -> Result<Self, Error> {
        let mut world = World::new(&Plan::from_json(plan)?)?;
        if let Some(path) = capture {
            world.capture_into(Box::new(BufWriter::new(File::create(path)?)))?;
        }
        Ok(Self { world, until: Time::ZERO, is_reached: true, step: FIRST_STEP })
    }

    /// One that records journeys.
    fn recorded(plan: &str, window: Window) -> Result<Self, Error> {
        let plan = Plan::from_json(plan)?;
        let mut world = World::new(&plan)?;
        world.record(&plan, window);
        Ok(Self { world, until: Time::ZERO, is_reached: true, step: FIRST_STEP })
    }

    /// Goes on for about [`SLICE`] of wall time.
    fn slice(&mut self, go: Go) -> Result<Progress, Error> {
        let began = Instant::now();
        loop {
            let before = Instant::now();
            if self.is_reached {
                self.until += self.step;
            }
            let state = go(&mut self.world, self.until)?;
            self.is_reached = state.is_reached;
            if state.is_over || began.elapsed() >= SLICE {
                return Ok(state);
            }
            self.step = if state.is_reached { next_step(self.step, before.elapsed()) } else { FIRST_STEP };
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "people read it")]
    fn seconds(&self) -> f64 {
        self.until.as_nanos() as f64 / 1e9
    }
}

/// A step that takes about a tenth of a slice; how long it is changes no result.
fn next_step(step: Span, took: Duration) -> Span {
    let nanos = step.as_nanos();
    if took > SLICE / 5 {
        Span::from_nanos((nanos / 2).max(1))
    } else if took < SLICE / 20 {
        Span::from_nanos(nanos * 2).min(LONGEST_STEP)
    } else {
        step
    }
}

fn exported(outcome: Outcome) -> Results {
    let report = serde_json::to_string(&outcome.report).expect("a report is plain numbers and names");
    (outcome.flows.into(), outcome.queues.into(), outcome.probes.into(), report)
}
