//! Watches the path under test where a program could change it; see [`crate::path`].

use super::EventLoop;
use super::poller::Token;
use crate::error::{Error, Result};
use crate::path::{Observation, Path};
use crate::programs::running::Running;
use crate::setup::changes::Changes;

impl EventLoop<'_> {
    /// Starts watching, before any program starts. On real hosts the devices are shared, so changes are not watched.
    pub(super) fn watch_path(&mut self) -> Result<()> {
        let programs = !self.plan.programs.all.is_empty();
        if !programs && (self.plan.machine_ns.is_none() || !self.plan.devices.is_empty()) {
            return Ok(());
        }
        let own = self.changes.as_ref().map_or(Ok(Vec::new()), Changes::ports)?;
        let path = Path::read(self.plan, &own, &self.sampler.ports()?)?;
        for (host_index, descriptor) in path.descriptors().enumerate() {
            self.poller.watch(descriptor, Token::Path(host_index))?;
        }
        self.path = Some(path);
        Ok(())
    }

    /// Something in a host has changed.
    pub(super) fn path_changed(&mut self, host_index: usize) -> Result<()> {
        let (now_ns, running) = (self.now_ns(), self.running_programs());
        let moment = Observation { time_ns: Some(now_ns), running: &running };
        self.path.as_mut().map_or(Ok(()), |path| path.handle_notifications(host_index, moment))
    }

    /// The plan's change failed. If the path was changed before, that is the cause.
    pub(super) fn change_failed(&mut self, host: &str, error: Error) -> Result<()> {
        let running = self.running_programs();
        let moment = Observation { time_ns: Some(self.ended_ns.unwrap_or_else(|| self.now_ns())), running: &running };
        let Some(path) = self.path.as_mut().filter(|_| !self.plan.programs.all.is_empty()) else { return Err(error) };
        match error {
            Error::Refused { command, reason } if path.report().changes.is_empty() && !reason.is_empty() => {
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

    /// Compares the path with its state at the start.
    pub(super) fn read_path_back(&mut self) -> Result<()> {
        let running = self.running_programs();
        let moment = Observation { time_ns: self.ended_ns, running: &running };
        self.path.as_mut().map_or(Ok(()), |path| path.read_all_back(moment))
    }

    fn running_programs(&self) -> Vec<(String, String)> {
        let running = self.programs.running.iter().filter(|program| program.is_running());
        running.map(|Running { plan, .. }| (plan.host.clone(), plan.name.clone())).collect()
    }
}
