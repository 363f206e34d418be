//! What a lab looks at beside flows, queues and probes, when somebody asks: packets, counters, every socket, trace events.
//!
//! ```text
//! plan      what is asked for, as types
//! capture   packets of devices, as a capture file
//! counters  what every host's kernel counted, over time
//! sockets   every TCP and UDP socket of every host
//! trace     the kernel's trace events
//! settings  what sysctls and module parameters really were, at the end
//! ```
//!
//! A look happens at one instant, as a sample does, and changes nothing that it sees. What is looked at, and how
//! often, `dumbbell.plan.inside` says; what the records mean, `dumbbell.engine.inside` knows.

mod capture;
mod counters;
pub mod plan;
pub mod settings;
mod sockets;
mod trace;

use crate::error::Result;
use crate::plan::Plan;
use crate::sys::Clock;
use capture::Captures;
use counters::Counters;
use serde::Serialize;
use sockets::AllSockets;
use std::path::Path;
use trace::Trace;

/// What the looks say at the end.
#[derive(Serialize)]
pub struct Seen {
    /// Packets that found no room, by device, in the order of the wishes.
    missed_packets: Vec<u64>,
    /// Trace events that found no room.
    missed_events: u64,
    /// When the experiment began, on the clock of trace events.
    start_ns: u64,
}

/// Everything that is looked at.
pub struct Inside {
    captures: Option<Repeated<Captures>>,
    counters: Option<Repeated<Counters>>,
    sockets: Option<Repeated<AllSockets>>,
    trace: Option<Repeated<Trace>>,
}

/// Something that is looked at again and again.
struct Repeated<T> {
    what: T,
    every_ns: u64,
    next_ns: u64,
    seen_ns: Option<u64>,
}

impl<T> Repeated<T> {
    fn new(every_ns: Option<u64>, open: impl FnOnce() -> Result<T>) -> Result<Option<Self>> {
        every_ns.map(|every_ns| Ok(Self { what: open()?, every_ns, next_ns: every_ns, seen_ns: None })).transpose()
    }

    /// Is it time? Then it also gets its next time.
    fn due(&mut self, now_ns: u64, last: bool) -> Option<&mut T> {
        if (now_ns < self.next_ns && !last) || self.seen_ns == Some(now_ns) {
            return None;
        }
        (self.next_ns, self.seen_ns) = (now_ns + self.every_ns, Some(now_ns));
        Some(&mut self.what)
    }
}

impl Inside {
    /// Opens whatever is wished; the experiment has not begun.
    pub fn open(plan: &Plan, folder: &Path) -> Result<Self> {
        let wishes = &plan.inside;
        Ok(Self {
            captures: Repeated::new(wishes.capture_ns, || Captures::open(wishes, folder))?,
            counters: Repeated::new(wishes.counters_ns, || Counters::open(&plan.hosts, folder))?,
            sockets: Repeated::new(wishes.sockets_ns, || AllSockets::open(&plan.hosts, folder))?,
            trace: Repeated::new(wishes.trace_ns, || Trace::open(&wishes.trace, folder))?,
        })
    }

    /// When to look next, if ever.
    pub fn next_ns(&self) -> Option<u64> {
        let times = [
            self.captures.as_ref().map(|look| look.next_ns),
            self.counters.as_ref().map(|look| look.next_ns),
            self.sockets.as_ref().map(|look| look.next_ns),
            self.trace.as_ref().map(|look| look.next_ns),
        ];
        times.into_iter().flatten().min()
    }

    /// Looks at what is due; at the last look at everything.
    pub fn look(&mut self, clock: Clock, now_ns: u64, last: bool) -> Result<()> {
        if let Some(captures) = self.captures.as_mut().and_then(|look| look.due(now_ns, last)) {
            captures.look(clock)?;
        }
        if let Some(counters) = self.counters.as_mut().and_then(|look| look.due(now_ns, last)) {
            counters.look(now_ns)?;
        }
        if let Some(sockets) = self.sockets.as_mut().and_then(|look| look.due(now_ns, last)) {
            sockets.look(now_ns)?;
        }
        if let Some(trace) = self.trace.as_mut().and_then(|look| look.due(now_ns, last)) {
            trace.look()?;
        }
        Ok(())
    }

    /// Writes what is left.
    pub fn finish(self, clock: Clock) -> Result<Seen> {
        if let Some(counters) = self.counters {
            counters.what.finish()?;
        }
        if let Some(sockets) = self.sockets {
            sockets.what.finish()?;
        }
        Ok(Seen {
            missed_packets: self.captures.map_or(Ok(Vec::new()), |captures| captures.what.finish())?,
            missed_events: self.trace.map_or(Ok(0), |trace| trace.what.finish())?,
            start_ns: clock.monotonic_ns(0),
        })
    }
}
