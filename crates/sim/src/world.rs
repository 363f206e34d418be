//! The world: what each event and each packet sets in motion.
//!
//! ```text
//!   agenda --> event --> endpoint, device, flow --> packets --> backlog
//!                 ^                                                |
//!                 |        until it is empty: forward or deliver   |
//!                 +------------------------------------------------+
//! ```
//!
//! Within one instant packets are handled first in, first out, as veth's `netif_rx` and the softirq behind it do; then
//! senders whose packets have left go on (Linux's TSQ tasklet); then programs act. What a packet meets is
//! `dumbbell_core`'s affair.

mod audit;
mod birth;
mod census;
mod flows;
mod followed;
mod hops;
mod result;

use crate::agenda::{Agenda, Due, Kind};
use crate::ends::End;
use crate::error::Error;
use crate::journeys::Journeys;
use crate::net::{DeviceId, HostId, Net};
use crate::plan::{Change, Plan, What};
use crate::report::{Outcome, Progress, QueueReport};
use crate::sampler::Sampler;
use crate::telemetry::Telemetry;
use crate::trace::pcap::Tap;
use crate::traffic::Flow;
use crate::traffic::probe::Series;
use census::Census;
use dumbbell_core::packet::Packet;
use dumbbell_core::time::{Span, Time};
use std::collections::VecDeque;
use std::io::Write;

/// One run in progress.
#[derive(Debug)]
pub struct World {
    now: Time,
    seed: u64,
    duration: Span,
    sample: Span,
    every_change: bool,
    /// Does anybody look at disciplines when something happens there?
    is_shown: bool,
    /// Follows packets, if anybody does.
    journeys: Option<Box<Journeys>>,
    ended: Option<Time>,
    agenda: Agenda,
    net: Net,
    instant: Instant,
    /// Flows in order of their names; a flow's place is its [`dumbbell_core::packet::FlowId`].
    flows: Vec<Flow>,
    /// Both ends of every flow: sender, receiver.
    ends: Vec<[End; 2]>,
    /// Series of probes in order of their names; their ids come after the flows'.
    probes: Vec<Series>,
    /// Names of the probes as planned, with their places in `probes`.
    probe_names: Vec<(String, usize)>,
    /// When flows start, in order.
    starts: Vec<(Time, u32)>,
    changes: Vec<Change>,
    sampler: Sampler,
    census: Census,
    tap: Option<Tap>,
    telemetry: Telemetry,
    /// Flows that must be done before an experiment that ends with them may end.
    unfinished: Option<usize>,
    events: u64,
    /// What the queues showed at the end.
    totals: Vec<QueueReport>,
}

/// What is to do before time may go on.
#[derive(Debug, Default)]
struct Instant {
    /// Packets that have left a device and not been looked at by the next host.
    backlog: Vec<Arrival>,
    /// An empty one, to be filled while that is worked off.
    spare: Vec<Arrival>,
    /// Ends whose packets have left, by [`end_id`]: they may go on.
    released: VecDeque<u32>,
    /// Ends whose programs have been woken to write on.
    writers: VecDeque<u32>,
    /// Flows whose programs have something to look at.
    reactions: VecDeque<u32>,
    /// What died in the call under way.
    dropped: Vec<Packet>,
    /// Steps taken so far.
    steps: u64,
}

/// A packet that comes to a host.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    host: HostId,
    /// 0, or it leaves its own host with that, as the last of so many pieces. Linux's veth hands a packet over with its
    /// socket, which is let go where it is received (`ip_rcv_core`): until then it counts towards TSQ.
    leaves: u16,
    packet: Packet,
}

/// Steps in one instant after which time is said to stand still: far more than any window has packets.
const MOST_STEPS: u64 = 20_000_000;

/// Events handled at once by [`World::run_on`]: some hundredths of a second.
const MOST_EVENTS: u64 = 100_000;

/// What a sender keeps of a packet under way.
const RECORD_BYTES: u64 = 64;

impl World {
    /// A world at time zero.
    ///
    /// # Errors
    ///
    /// When the plan can't be carried out: every such error names what is wrong.
    pub fn new(plan: &Plan) -> Result<Self, Error> {
        birth::world(plan)
    }

    /// Where the capture that the plan asks for is to go; otherwise [`Outcome::capture`] has it.
    ///
    /// # Errors
    ///
    /// When the file's header can't be written.
    pub fn capture_into(&mut self, writer: Box<dyn Write + Send>) -> Result<(), Error> {
        if let Some(tap) = &mut self.tap {
            tap.redirect(writer)?;
        }
        Ok(())
    }

    /// Lets everything happen that is due by `until`, that time included.
    ///
    /// # Errors
    ///
    /// When a change can't be made, time stands still, the capture can't be written, or a law was broken.
    pub fn run(&mut self, until: Time) -> Result<Progress, Error> {
        while !self.run_on(until)?.is_reached {}
        Ok(self.progress())
    }

    /// The same, but no more than [`MOST_EVENTS`] at once: whoever waits can look at other things in between.
    ///
    /// # Errors
    ///
    /// As [`World::run`]'s.
    pub fn run_on(&mut self, until: Time) -> Result<Progress, Error> {
        let mut is_reached = true;
        let last = self.events + MOST_EVENTS;
        while self.ended.is_none() {
            let Some(due) = self.agenda.take_by(until) else { break };
            self.advance(due.at)?;
            self.act(due)?;
            self.settle()?;
            if self.events >= last {
                is_reached = false;
                break;
            }
        }
        Ok(Progress { is_reached, ..self.progress() })
    }

    /// Bytes that packets under way, their senders' records of them, and all tables hold now.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        (result::memory_bytes(self) + self.sampler.used_bytes()) as u64
            + self.census.alive * (size_of::<Packet>() as u64 + RECORD_BYTES)
    }

    /// Tables and totals.
    #[must_use]
    pub fn finish(self) -> Outcome {
        result::outcome(self)
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.now,
            is_reached: true,
            is_over: self.ended.is_some(),
            events: self.events,
            data_packets: self.census.data_packets,
        }
    }

    fn advance(&mut self, to: Time) -> Result<(), Error> {
        if to < self.now {
            return Err(self.violation(format!("time went back to {} ns", to.as_nanos())));
        }
        if to > self.now {
            self.now = to;
            self.instant.steps = 0;
        }
        self.events += 1;
        self.step()
    }

    /// One more step in this instant.
    fn step(&mut self) -> Result<(), Error> {
        self.instant.steps += 1;
        if self.instant.steps > MOST_STEPS {
            return Err(Error::Standstill { at: self.now, steps: self.instant.steps, seed: self.seed });
        }
        Ok(())
    }

    fn act(&mut self, due: Due) -> Result<(), Error> {
        let number = due.owner as usize;
        match due.kind {
            Kind::Device => self.device_rings(due.owner),
            Kind::Timer => self.timer_rings(due.owner),
            Kind::Change => self.change(number)?,
            Kind::Start => self.start_next(),
            Kind::Packet => self.send_datagram(number),
            Kind::Probe => self.send_probe(number),
            Kind::Wake => self.wake(number),
            Kind::Sample => self.take_sample()?,
            Kind::Stop => self.stop(number),
            Kind::End => self.end()?,
        }
        Ok(())
    }

    fn device_rings(&mut self, device: DeviceId) {
        let alarm = &mut self.net.devices[device as usize].alarm;
        if alarm.rings(self.now, &mut self.agenda, Kind::Device, device) {
            self.release(device);
        }
    }

    fn timer_rings(&mut self, id: u32) {
        let [flow, side] = parts(id);
        let end = &mut self.ends[flow][side];
        if !end.alarm.rings(self.now, &mut self.agenda, Kind::Timer, id) {
            return;
        }
        let Some(endpoint) = &mut end.endpoint else { return };
        endpoint.on_timer(self.now);
        let has_given_up = !endpoint.is_established() && !endpoint.next_timer().is_set();
        self.flush(flow, side);
        self.look_after(flow, side);
        if has_given_up && side == SENDER {
            self.fail(flow, "the connection timed out");
        }
    }

    /// Linux makes a change and leaves the watchdog as it is: what waits is asked when it would have been.
    fn change(&mut self, number: usize) -> Result<(), Error> {
        let Change { device, what, .. } = &self.changes[number];
        let device = self.net.device_at(*device).expect("checked when the world was made");
        let device = &mut self.net.devices[device as usize];
        let queue = device.queue.as_mut().expect("checked when the world was made");
        let (handle, outcome) = match what {
            What::Discipline(node) => (&node.handle, queue.change(node)),
            What::Class { htb, class } => (htb, queue.change_class(htb, class)),
        };
        outcome.map_err(|why| Error::Change { at: self.now, handle: handle.clone(), why })?;
        if let What::Discipline(node) = what {
            device.expect(node);
        } else if let (What::Class { class, .. }, Some(meter)) = (what, &mut device.meter) {
            meter.change_class(class);
        }
        if let Some(next) = self.changes.get(number + 1) {
            self.agenda.add(next.at, Kind::Change, rank(number + 1));
        }
        Ok(())
    }

    fn take_sample(&mut self) -> Result<(), Error> {
        self.sampler.sample(self.now, &self.flows, &self.ends, &self.net);
        let last = Time::ZERO + self.duration;
        if self.now < last {
            self.agenda.add((self.now + self.sample).min(last), Kind::Sample, 0);
        }
        audit::queues(self)
    }

    fn end(&mut self) -> Result<(), Error> {
        for number in 0..self.flows.len() {
            self.stop(number);
        }
        self.ended = Some(self.now);
        self.totals = result::queue_reports(self);
        if let Some(tap) = &mut self.tap {
            tap.flush()?;
        }
        audit::everything(self)
    }

    fn violation(&self, what: String) -> Error {
        Error::Violation { what, seed: self.seed, at: self.now }
    }
}

/// Number of a flow's end: two a flow.
const fn end_id(flow: usize, side: usize) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "flows are counted when the world is made")]
    let id = (flow * 2 + side) as u32;
    id
}

const fn parts(id: u32) -> [usize; 2] {
    [id as usize / 2, id as usize % 2]
}

fn rank(place: usize) -> u32 {
    u32::try_from(place).expect("counted when the world was made")
}

const SENDER: usize = 0;
const RECEIVER: usize = 1;
