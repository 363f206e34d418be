//! The world: processes events and packets.
//!
//! ```text
//!   events --> event --> endpoint, device, flow --> packets --> backlog
//!                 ^                                                |
//!                 |        until it is empty: forward or deliver   |
//!                 +------------------------------------------------+
//! ```
//!
//! At any one time packets are handled first in, first out, as by veth's `netif_rx` and its softirq; then senders whose
//! packets have left resume (Linux's TSQ tasklet); then applications run: they read, write, and react. `dumbbell_net` has queues and endpoints.

mod audit;
mod flows;
mod hops;
mod packet_accounting;
mod programs;
mod record_packets;
mod result;
mod setup;

use crate::capture::pcap::Tap;
use crate::ends::End;
use crate::error::Error;
use crate::event_queue::{Event, EventQueue, Kind};
use crate::net::{DeviceId, HostId, Net};
use crate::packet_trace::PacketTrace;
use crate::plan::{Change, Plan, What};
use crate::report::{Progress, QueueReport, RunResult};
use crate::sampler::Sampler;
use crate::telemetry::Telemetry;
use crate::traffic::Flow;
use crate::traffic::probe::Series;
use dumbbell_net::packet::{Packet, Reassembly};
use dumbbell_net::time::{Span, Time};
use dumbbell_net::transport::SocketBacklog;
use dumbbell_plan::Waits;
use dumbbell_tc::tree::Change as TcChange;
use packet_accounting::PacketAccounting;
use std::collections::VecDeque;
use std::io::Write;

/// One run.
#[derive(Debug)]
pub struct World {
    now: Time,
    seed: u64,
    duration: Span,
    sample: Span,
    every_change: bool,
    /// Whether qdiscs are sampled after every event.
    samples_changes: bool,
    /// Packet recorder, if any.
    packet_trace: Option<Box<PacketTrace>>,
    ended: Option<Time>,
    event_queue: EventQueue,
    net: Net,
    instant: Instant,
    /// Flows in order of names; the index is the [`dumbbell_net::packet::FlowId`].
    flows: Vec<Flow>,
    /// Both ends of every flow: sender, receiver.
    ends: Vec<[End; 2]>,
    /// Fragments that wait at every host.
    reassembly: Vec<Reassembly>,
    /// Probe series in order of names; their ids follow the flows'.
    probes: Vec<Series>,
    /// Names of the probes in the order of the plan, with their indices in `probes`.
    probe_names: Vec<(String, usize)>,
    /// Start times of flows, the last first.
    starts: Vec<(Time, u32)>,
    /// When the program that opens connections is free for the next.
    opens_at: Time,
    /// Flows that wait for others, by their positions in the plan.
    waits: Waits,
    /// The flow at each position of the plan.
    numbers: Vec<u32>,
    changes: Vec<Change>,
    sampler: Sampler,
    packet_accounting: PacketAccounting,
    tap: Option<Tap>,
    telemetry: Telemetry,
    /// Flows to be completed before an experiment with `ends_when_done` ends.
    unfinished: Option<usize>,
    events: u64,
    /// State of the queues at the end.
    totals: Vec<QueueReport>,
}

/// Work to be done before time advances.
#[derive(Debug, Default)]
struct Instant {
    /// Packets that left a device and have not been processed by the next host.
    backlog: Vec<Arrival>,
    /// An empty list, filled while the other is processed.
    spare: Vec<Arrival>,
    /// Ends whose packets left, by [`end_id`]; they may resume.
    released: VecDeque<u32>,
    /// Ends whose applications were woken to read.
    readers: VecDeque<u32>,
    /// Does a program run? Otherwise this is an interrupt.
    in_process: bool,
    /// Is an event scheduled for woken readers?
    program_is_due: bool,
    /// The end whose program reads, or is about to write; packets for it wait in `held`.
    locked: Option<u32>,
    /// The end whose program writes; packets for it wait too.
    writing: Option<u32>,
    held: SocketBacklog,
    /// Does a program process what waited for its socket? Then what that sends leaves at once, as what programs send.
    is_releasing: bool,
    /// Ends whose applications were woken to write.
    writers: VecDeque<u32>,
    /// Flows behind a barrier that has opened: a program asks in one after the other.
    askers: VecDeque<u32>,
    /// Flows whose applications have a socket event.
    reactions: VecDeque<u32>,
    /// Packets dropped by the current call.
    dropped: Vec<Packet>,
    /// Steps at this time.
    steps: u64,
}

/// A packet that arrives at a host.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    host: HostId,
    /// 0, or the packet leaves its own host as the last of this many segments. Linux's veth passes a packet with its
    /// socket reference, which is released on reception (`ip_rcv_core`); until then it counts towards TSQ.
    leaves: u16,
    packet: Packet,
}

/// Steps at one time after which virtual time is considered stuck; far above the packets of any window.
const MAX_STEPS: u64 = if cfg!(test) { 50_000 } else { 20_000_000 };

/// Maximum events per [`World::run_on`]: some hundredths of a second.
const MAX_EVENTS: u64 = 100_000;

/// Sender's record of a packet in flight, in bytes.
const RECORD_BYTES: u64 = 64;

impl World {
    /// Creates a world at time zero.
    ///
    /// # Errors
    ///
    /// If the plan is invalid.
    pub fn new(plan: &Plan) -> Result<Self, Error> {
        setup::world(plan)
    }

    /// Writes the plan's capture to `writer`; otherwise [`RunResult::capture`] holds it.
    ///
    /// # Errors
    ///
    /// If the file header cannot be written.
    pub fn capture_into(&mut self, writer: Box<dyn Write + Send>) -> Result<(), Error> {
        if let Some(tap) = &mut self.tap {
            tap.redirect(writer)?;
        }
        Ok(())
    }

    /// Runs all events up to and including `until`.
    ///
    /// # Errors
    ///
    /// If a change fails, virtual time is stuck, the capture cannot be written, or an invariant is violated.
    pub fn run(&mut self, until: Time) -> Result<Progress, Error> {
        while !self.run_on(until)?.is_reached {}
        Ok(self.progress())
    }

    /// As [`World::run`], but at most [`MAX_EVENTS`], so that the caller can do other work in between.
    ///
    /// # Errors
    ///
    /// As [`World::run`].
    pub fn run_on(&mut self, until: Time) -> Result<Progress, Error> {
        let mut is_reached = true;
        let last = self.events + MAX_EVENTS;
        while self.ended.is_none() {
            let Some(event) = self.event_queue.take_by(until) else { break };
            self.process(event)?;
            if self.events >= last {
                is_reached = false;
                break;
            }
        }
        Ok(Progress { is_reached, ..self.progress() })
    }

    /// Memory of packets in flight, their senders' records and all tables, in bytes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        (result::memory_bytes(self) + self.sampler.used_bytes()) as u64
            + self.packet_accounting.in_flight * (size_of::<Packet>() as u64 + RECORD_BYTES)
    }

    /// Tables and totals.
    #[must_use]
    pub fn finish(self) -> RunResult {
        result::outcome(self)
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.now,
            is_reached: true,
            is_over: self.ended.is_some(),
            events: self.events,
            data_packets: self.packet_accounting.data_packets,
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

    /// Counts a step at this time.
    fn step(&mut self) -> Result<(), Error> {
        self.instant.steps += 1;
        if self.instant.steps > MAX_STEPS {
            return Err(Error::Standstill { at: self.now, steps: self.instant.steps, seed: self.seed });
        }
        Ok(())
    }

    /// Advances to an event and completes all work at its time.
    ///
    /// Interrupts of one time are one interrupt to Linux: what devices release arrives after the timers have fired
    /// (`NET_RX_SOFTIRQ` is raised while `HRTIMER_SOFTIRQ` is pending already).
    #[inline]
    fn process(&mut self, event: Event) -> Result<(), Error> {
        self.advance(event.at)?;
        self.instant.in_process = !event.kind.is_interrupt();
        self.act(event)?;
        if event.kind.is_interrupt() {
            while let Some(next) = self.event_queue.take_interrupt(self.now) {
                self.advance(next.at)?;
                self.act(next)?;
            }
        }
        self.settle()
    }

    fn act(&mut self, event: Event) -> Result<(), Error> {
        let number = event.owner as usize;
        match event.kind {
            Kind::Device | Kind::Delay => self.device_fires(event.owner),
            Kind::Timer => self.timer_fires(event.owner),
            Kind::Change => self.change(number)?,
            Kind::Start => self.start_next(),
            Kind::Packet => self.send_datagram(number),
            Kind::Probe => self.send_probe(number),
            Kind::Wake => self.wake(number),
            Kind::Connected => self.react(number),
            Kind::Program => self.run_programs(),
            Kind::Sample => self.take_sample()?,
            Kind::Stop => self.stop(number),
            Kind::End => self.end()?,
        }
        Ok(())
    }

    fn device_fires(&mut self, device: DeviceId) {
        if self.net.devices[device as usize].timer_fires(self.now, &mut self.event_queue, device) {
            self.release(device);
        }
    }

    fn timer_fires(&mut self, id: u32) {
        let [flow, side] = parts(id);
        let end = &mut self.ends[flow][side];
        if !end.timer.fires(self.now, &mut self.event_queue, Kind::Timer, id) {
            return;
        }
        let Some(endpoint) = &mut end.endpoint else { return };
        endpoint.on_timer(self.now);
        let has_given_up = !endpoint.is_established() && !endpoint.next_timer().is_set();
        self.flush(flow, side);
        self.check_endpoint(flow, side);
        if has_given_up && side == SENDER {
            self.fail(flow, "the connection timed out");
        }
    }

    /// Linux applies a change without touching the watchdog: queued packets are dequeued at the time set before.
    fn change(&mut self, number: usize) -> Result<(), Error> {
        if let Some(next) = self.changes.get(number + 1) {
            self.event_queue.add(next.at, Kind::Change, rank(number + 1));
        }
        let (device, what) = match &self.changes[number].what {
            What::Tc { device, change } => (device, change),
            What::Route(route) => return self.net.set_route(route),
        };
        let device = self.net.device_at(*device).expect("checked when the world was created");
        let device = &mut self.net.devices[device as usize];
        let queue = device.queue.as_mut().expect("checked when the world was created");
        let (handle, outcome) = match what {
            TcChange::Qdisc(node) => (&node.handle, queue.change(node)),
            TcChange::Class { htb, class } => (htb, queue.change_class(htb, class)),
        };
        outcome.map_err(|why| Error::Change { at: self.now, handle: handle.clone(), why })?;
        if let TcChange::Qdisc(node) = what {
            device.expect(node);
        } else if let (TcChange::Class { class, .. }, Some(meter)) = (what, &mut device.meter) {
            meter.change_class(class);
        }
        Ok(())
    }

    fn take_sample(&mut self) -> Result<(), Error> {
        self.sampler.sample(self.now, &self.flows, &self.ends, &self.net);
        let last = Time::ZERO + self.duration;
        if self.now < last {
            self.event_queue.add((self.now + self.sample).min(last), Kind::Sample, 0);
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

/// Index of a flow's end: two per flow.
const fn end_id(flow: usize, side: usize) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "flows are counted when the world is created")]
    let id = (flow * 2 + side) as u32;
    id
}

const fn parts(id: u32) -> [usize; 2] {
    [id as usize / 2, id as usize % 2]
}

fn rank(index: usize) -> u32 {
    u32::try_from(index).expect("counted when the world was created")
}

const SENDER: usize = 0;
const RECEIVER: usize = 1;
