//! Runs a world in slices with the GIL released.

use crate::arrow::Arrow;
use crate::end::End;
use crate::fault::{Outgrown, guarded};
use crate::plan::SimulatorPlan;
use dumbbell::validity;
use dumbbell_net::cc::Controller;
use dumbbell_net::time::{Span, Time};
use dumbbell_sim::packet_trace::{TraceResult, Window};
use dumbbell_sim::report::{Cost, DeviceDrops};
use dumbbell_sim::{Error, Plan, Progress, RunResult, World};
use pyo3::prelude::*;
use pythonize::pythonize;
use serde::Serialize;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Wall time between checks for signals and progress callbacks.
const SLICE: Duration = Duration::from_millis(50);
/// Virtual time of a step; adapted to the speed of the run.
const FIRST_STEP: Span = Span::from_micros(100);
const MAX_STEP: Span = Span::from_secs(100);

/// Three tables, the report, and what only the simulator knows.
type Results = (Arrow, Arrow, Arrow, End, Py<PyAny>);

/// What only the simulator knows, as entries of the manifest.
#[derive(Serialize)]
struct Simulated<'a> {
    simulated: &'a Cost,
    device_drops: &'a [DeviceDrops],
}

/// Runs a plan. Returns flows, queues and probes as Arrow tables, the report, and more entries of the manifest as a dict.
///
/// `progress` is called about twenty times per second with the elapsed seconds of the experiment; an exception from it
/// ends the run. `capture` is the file to write packets to. Raises [`Outgrown`] as soon as packets and tables use more
/// than `max_bytes`.
#[pyfunction]
#[pyo3(signature = (plan, progress=None, capture=None, max_bytes=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn simulate(
    py: Python<'_>,
    plan: Py<SimulatorPlan>,
    progress: Option<Bound<'_, PyAny>>,
    capture: Option<PathBuf>,
    max_bytes: Option<u64>,
) -> PyResult<Results> {
    let run = py.detach(|| guarded(|| Run::new(&plan.get().0, capture)))?;
    let world = run_to_end(py, run, progress.as_ref(), max_bytes, World::run_on)?;
    let result = py.detach(|| guarded(|| Ok(world.finish())))?;
    exported(py, result)
}

/// Traces the packets in flight between `start` and `stop` (nanoseconds, inclusive). Returns the first `max_rows` of
/// them as an Arrow table, and the number left out.
///
/// Runs the plan until the outcome of each of these packets is known. `progress` and `max_bytes` as in [`simulate`].
#[pyfunction]
#[pyo3(signature = (plan, start, stop, max_rows, progress=None, max_bytes=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn packet_trace(
    py: Python<'_>,
    plan: Py<SimulatorPlan>,
    start: u64,
    stop: u64,
    max_rows: usize,
    progress: Option<&Bound<'_, PyAny>>,
    max_bytes: Option<u64>,
) -> PyResult<(Arrow, u64)> {
    let window = Window { from: Time::from_nanos(start), to: Time::from_nanos(stop), max_rows };
    let run = py.detach(|| guarded(|| Run::recorded(&plan.get().0, window)))?;
    let world = run_to_end(py, run, progress, max_bytes, World::run_recorded)?;
    let TraceResult { packets, left_out } =
        py.detach(|| guarded(|| Ok(world.finish().packet_trace.expect("packets were recorded"))))?;
    Ok((packets.into(), left_out))
}

/// Checks a plan. Raises `Refused` if it is invalid.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn check(py: Python<'_>, plan: Py<SimulatorPlan>) -> PyResult<()> {
    py.detach(|| guarded(|| Run::new(&plan.get().0, None).map(drop)))
}

/// Parameters of a controller: name, default and accepted values of each.
#[pyfunction]
pub fn parameters(controller: &str) -> Vec<(&'static str, String, String)> {
    Controller::parameters(controller).into_iter().map(|known| (known.name, known.default, known.takes)).collect()
}

/// Runs a world by `go` until it is over.
fn run_to_end(
    py: Python<'_>,
    mut run: Run,
    progress: Option<&Bound<'_, PyAny>>,
    max_bytes: Option<u64>,
    go: Go,
) -> PyResult<World> {
    loop {
        let is_over = py.detach(|| guarded(|| run.slice(go)))?.is_over;
        let held = run.world.held_bytes();
        if max_bytes.is_some_and(|most| held > most) {
            return Err(Outgrown::new_err((run.seconds(), held)));
        }
        if is_over {
            return Ok(run.world);
        }
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1((run.seconds(),))?;
        }
    }
}

/// Runs all events due by a time.
type Go = fn(&mut World, Time) -> Result<Progress, Error>;

/// A world and its next stop.
struct Run {
    world: World,
    until: Time,
    /// Whether all events due by then have run.
    is_reached: bool,
    step: Span,
}

impl Run {
    fn new(plan: &Plan, capture: Option<PathBuf>) -> Result<Self, Error> {
        let mut world = World::new(plan)?;
        if let Some(path) = capture {
            world.capture_into(Box::new(BufWriter::new(File::create(path)?)))?;
        }
        Ok(Self { world, until: Time::ZERO, is_reached: true, step: FIRST_STEP })
    }

    /// A run that records packets.
    fn recorded(plan: &Plan, window: Window) -> Result<Self, Error> {
        let mut world = World::new(plan)?;
        world.record(plan, window);
        Ok(Self { world, until: Time::ZERO, is_reached: true, step: FIRST_STEP })
    }

    /// Runs for about [`SLICE`] of wall time.
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

    #[expect(clippy::cast_precision_loss, reason = "for display only")]
    fn seconds(&self) -> f64 {
        self.until.as_nanos() as f64 / 1e9
    }
}

/// A step that takes about a tenth of a slice. Its length does not affect results.
fn next_step(step: Span, took: Duration) -> Span {
    let nanos = step.as_nanos();
    if took > SLICE / 5 {
        Span::from_nanos((nanos / 2).max(1))
    } else if took < SLICE / 20 {
        Span::from_nanos(nanos * 2).min(MAX_STEP)
    } else {
        step
    }
}

fn exported(py: Python<'_>, result: RunResult) -> PyResult<Results> {
    let report = &result.report;
    let more = pythonize(py, &Simulated { simulated: &report.cost, device_drops: &report.drops })?.unbind();
    let end = End(validity::end(report));
    Ok((result.flows.into(), result.queues.into(), result.probes.into(), end, more))
}
