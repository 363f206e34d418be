//! Optional recordings besides flows, queues and probes: packets, counters, all sockets, trace events.
//!
//! ```text
//! plan      types of the plan
//! capture   packets of devices, as a capture file
//! counters  every host's kernel counters over time
//! sockets   every TCP and UDP socket of every host
//! trace     kernel trace events
//! settings  effective sysctls and module parameters at the end
//! ```
//!
//! Each recording is taken at one instant, like a sample, and changes nothing. `dumbbell.plan.recordings` decides what is
//! recorded and how often; `dumbbell.engines.agent_engine` reads the records.

mod capture;
mod counters;
pub mod settings;
mod sockets;
mod trace;

use crate::error::Result;
use crate::sys::Clock;
use capture::Captures;
use counters::Counters;
use dumbbell_plan::AgentPlan;
use dumbbell_records::end::Recorded;
use sockets::AllSockets;
use std::path::Path;
use trace::Trace;

/// All recordings.
pub struct Recorders {
    captures: Option<Periodic<Captures>>,
    counters: Option<Periodic<Counters>>,
    sockets: Option<Periodic<AllSockets>>,
    trace: Option<Periodic<Trace>>,
}

/// A periodic recording.
struct Periodic<T> {
    recorder: T,
    every_ns: u64,
    next_ns: u64,
    seen_ns: Option<u64>,
}

impl<T> Periodic<T> {
    fn new(every_ns: Option<u64>, open: impl FnOnce() -> Result<T>) -> Result<Option<Self>> {
        every_ns.map(|every_ns| Ok(Self { recorder: open()?, every_ns, next_ns: every_ns, seen_ns: None })).transpose()
    }

    /// Returns the recording if it is due, and schedules the next.
    fn if_due(&mut self, now_ns: u64, last: bool) -> Option<&mut T> {
        if (now_ns < self.next_ns && !last) || self.seen_ns == Some(now_ns) {
            return None;
        }
        (self.next_ns, self.seen_ns) = (now_ns + self.every_ns, Some(now_ns));
        Some(&mut self.recorder)
    }
}

impl Recorders {
    /// Opens the requested recordings, before the experiment starts.
    pub fn open(plan: &AgentPlan, folder: &Path) -> Result<Self> {
        let recordings = &plan.recordings;
        Ok(Self {
            captures: Periodic::new(recordings.capture_ns, || Captures::open(recordings, folder))?,
            counters: Periodic::new(recordings.counters_ns, || Counters::open(&plan.hosts, folder))?,
            sockets: Periodic::new(recordings.sockets_ns, || AllSockets::open(&plan.hosts, folder))?,
            trace: Periodic::new(recordings.trace_ns, || Trace::open(&recordings.trace, folder))?,
        })
    }

    /// When the next recording is due.
    pub fn next_ns(&self) -> Option<u64> {
        let times = [
            self.captures.as_ref().map(|record| record.next_ns),
            self.counters.as_ref().map(|record| record.next_ns),
            self.sockets.as_ref().map(|record| record.next_ns),
            self.trace.as_ref().map(|record| record.next_ns),
        ];
        times.into_iter().flatten().min()
    }

    /// Takes the recordings that are due; all of them if `last`.
    pub fn record(&mut self, clock: Clock, now_ns: u64, last: bool) -> Result<()> {
        if let Some(captures) = self.captures.as_mut().and_then(|record| record.if_due(now_ns, last)) {
            captures.record(clock)?;
        }
        if let Some(counters) = self.counters.as_mut().and_then(|record| record.if_due(now_ns, last)) {
            counters.record(now_ns)?;
        }
        if let Some(sockets) = self.sockets.as_mut().and_then(|record| record.if_due(now_ns, last)) {
            sockets.record(now_ns)?;
        }
        if let Some(trace) = self.trace.as_mut().and_then(|record| record.if_due(now_ns, last)) {
            trace.record()?;
        }
        Ok(())
    }

    /// Closes the files.
    pub fn finish(self, clock: Clock) -> Result<Recorded> {
        if let Some(counters) = self.counters {
            counters.recorder.finish()?;
        }
        if let Some(sockets) = self.sockets {
            sockets.recorder.finish()?;
        }
        Ok(Recorded {
            missed_packets: self.captures.map_or(Ok(Vec::new()), |captures| captures.recorder.finish())?,
            missed_events: self.trace.map_or(Ok(0), |trace| trace.recorder.finish())?,
            start_ns: clock.monotonic_ns(0),
        })
    }
}
