//! In real time: samples of the host's load, and timers that show how late the agent is.

use super::EventLoop;
use super::event_queue::Kind;
use crate::error::Result;
use crate::host_load::HEARTBEAT_NS;

impl EventLoop<'_> {
    pub(super) fn sample_host_load(&mut self, now_ns: u64, last: bool) -> Result<()> {
        self.host_load.as_mut().map_or(Ok(()), |host_load| host_load.sample(now_ns, last))
    }

    /// Schedules the next heartbeat: in real time, if samples are too far apart to show how late the agent is.
    pub(super) fn heartbeat_later(&mut self, now_ns: u64) {
        if self.host_load.is_some() && self.plan.sample_ns > HEARTBEAT_NS {
            self.event_queue.add(now_ns + HEARTBEAT_NS, Kind::Heartbeat, 0);
        }
    }
}
