//! A run in progress: advanced in slices by the caller, who may drop it at any time.

use crate::error::Error;
use crate::run::Run;
use dumbbell_net::time::Time;
use dumbbell_plan::Plan;
use dumbbell_sim::World;

/// A run in progress. The length of its slices does not affect the result.
#[derive(Debug)]
pub struct Simulation {
    plan: Plan,
    world: World,
    now: Time,
    is_recording: bool,
}

impl Simulation {
    pub(crate) fn new(plan: Plan, world: World) -> Self {
        Self { plan, world, now: Time::ZERO, is_recording: false }
    }

    pub(crate) fn recording(plan: Plan, world: World) -> Self {
        Self { is_recording: true, ..Self::new(plan, world) }
    }

    /// Processes at most 100,000 events: some hundredths of a second. Returns whether the run is over.
    ///
    /// # Errors
    ///
    /// [`Error::Simulator`].
    pub fn advance(&mut self) -> Result<bool, Error> {
        let run = if self.is_recording { World::run_recorded } else { World::run_on };
        let progress = run(&mut self.world, Time::NEVER)?;
        self.now = progress.now;
        Ok(progress.is_over)
    }

    /// Simulated time so far, in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now.as_nanos()
    }

    /// Bytes of packets in flight and of the tables so far.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.world.held_bytes()
    }

    /// The result; of a run that is not over, up to now.
    #[must_use]
    pub fn finish(self) -> Run {
        Run::new(self.plan, self.world.finish())
    }
}
