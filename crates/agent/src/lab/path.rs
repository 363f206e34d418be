//! The path under test is watched where somebody else could change it; [`crate::path`] knows how.

use super::Lab;
use super::doors::Door;
use crate::error::{Error, Result};
use crate::path::{Moment, Path};
use crate::programs::running::Running;
use crate::setup::Standby;

impl Lab<'_> {
    /// Begins, before any program starts. On real hosts the devices are not ours alone: nobody watches them.
    pub(super) fn watch_path(&mut self) -> Result<()> {
        let programs = !self.plan.programs.all.is_empty();
        if !programs && (self.plan.machine_ns.is_none() || !self.plan.devices.is_empty()) {
            return Ok(());
        }
        let own: Vec<_> = self.standbys.iter().map(Standby::port).collect();
        let path = Path::read(self.plan, &own, &self.sampler.ports()?)?;
        for (place, descriptor) in path.descriptors().enumerate() {
            self.doors.watch(descriptor, Door::Path(place))?;
        }
        self.path = Some(path);
        Ok(())
    }

    /// Somebody has changed something in a host.
    pub(super) fn path_changed(&mut self, place: usize) -> Result<()> {
        let (now_ns, running) = (self.now_ns(), self.who_runs());
        let moment = Moment { time_ns: Some(now_ns), running: &running };
        self.path.as_mut().map_or(Ok(()), |path| path.hear(place, moment))
    }

    /// A change of the plan was not made. Where somebody has changed the path before, that is the reason.
    pub(super) fn change_failed(&mut self, host: &str, error: Error) -> Result<()> {
        let running = self.who_runs();
        let moment = Moment { time_ns: Some(self.ended_ns.unwrap_or_else(|| self.now_ns())), running: &running };
        let Some(path) = self.path.as_mut().filter(|_| !self.plan.programs.all.is_empty()) else { return Err(error) };
        match error {
            Error::Refused { command, reason } if path.report().is_empty() && !reason.is_empty() => {
                return Err(Error::Refused { command, reason });
            }
            Error::Refused { command, reason } => {
                let why = if reason.is_empty() { "its tc was killed".into() } else { reason };
                path.failed(host, command, why, moment);
            }
            other => path.failed(host, "made by tc".into(), other.to_string(), moment),
        }
        Ok(())
    }

    /// Reads the path back.
    pub(super) fn read_path_back(&mut self) -> Result<()> {
        let running = self.who_runs();
        let moment = Moment { time_ns: self.ended_ns, running: &running };
        self.path.as_mut().map_or(Ok(()), |path| path.read_all_back(moment))
    }

    fn who_runs(&self) -> Vec<(String, String)> {
        let running = self.company.running.iter().filter(|program| program.is_running());
        running.map(|Running { plan, .. }| (plan.host.clone(), plan.name.clone())).collect()
    }
}
