//! The event loop: run all events that are due, then sleep until the next one.
//!
//! It has one thread and one timer. In a guest virtual time does not advance while the loop
//! works, so all flows and queues are sampled at the same instant. Simultaneous events run in
//! the order of [`Kind`], and those of one kind in the order of the plan.
//!
//! It writes `flows.bin`, `queues.bin` and `probes.bin` (raw records, see `sample::record`) and
//! `end.json` (flow reports, queues, counters) to the run's folder.

mod connections;
mod end;
mod event_queue;
mod listener;
mod load;
mod orders;
mod path;
mod poller;
mod prefetch;
mod programs;
mod sampler;
mod terminal;

use crate::counters;
use crate::error::{Attempt, Result};
use crate::host_load::HostLoad;
use crate::netem_seed;
use crate::recordings::Recorders;
use crate::setup;
use crate::setup::changes::Changes;
use crate::setup::iproute2::MachinePrograms;
use crate::sys::Clock;
use crate::sys::rounds::Rounds;
use crate::traffic::FlowStep;
use crate::traffic::payload::Payload;
use crate::traffic::probe::Probing;
use crate::traffic::tcp::TcpFlow;
use crate::traffic::udp::UdpFlow;
use dumbbell_plan::{AgentPlan, Flow, Transport, Waits};
use dumbbell_records::end::FlowEnd;
use event_queue::{EventQueue, Kind};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use poller::{Poller, Readiness, Token};
use prefetch::Prefetch;
use programs::ProgramSet;
use sampler::Sampler;
use socket2::Socket;
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Descriptors besides the two of each flow: listeners, probes, netlink, files.
const OTHER_DESCRIPTORS: u64 = 1_024;
/// How long a receiver stays open after the end: the sender's clock, on another host, may be behind.
const HOLD: Duration = Duration::from_millis(300);

/// Reads `plan.json`, runs the experiment and writes the records.
pub fn run(folder: &Path) -> Result<()> {
    run_at(folder, None)
}

/// Like [`run`]; with `orders`, another process starts the experiment and may end it early, see [`orders`].
pub fn run_at(folder: &Path, orders: Option<&UnixStream>) -> Result<()> {
    let text = fs::read_to_string(folder.join("plan.json")).attempt(|| "reading plan.json".into())?;
    let plan: AgentPlan = serde_json::from_str(&text)?;
    allow_descriptors(2 * plan.flows.len() as u64 + OTHER_DESCRIPTORS)?;
    let machine_programs = setup::run(&plan.setup)?;
    netem_seed::seed(&plan.netem_seeds)?;
    let before = counters::read(&plan.hosts)?;
    let mut event_loop = EventLoop::open(&plan, folder, machine_programs)?;
    let clock = match orders {
        None => Clock::start_on_jiffy(),
        Some(orders) => event_loop.wait_for_start(orders)?,
    };
    event_loop.run_until_end(clock)?;
    if orders.is_some() {
        thread::sleep(HOLD);
    }
    event_loop.finish(folder, before)
}

/// Raises the limit of open files if the flows need more.
fn allow_descriptors(needed: u64) -> Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).attempt(|| "reading the limit of open files".into())?;
    if needed <= soft {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard.max(needed))
        .attempt(|| format!("raising the limit of open files to {needed}"))
}

/// Whether this host opens the flow's socket when it starts.
fn starts_here(flow: &Flow) -> bool {
    match flow.transport {
        Transport::Tcp => flow.ends.sends(),
        Transport::Udp => true,
        Transport::Quic => false,
    }
}

enum Traffic {
    Tcp(TcpFlow),
    Udp(UdpFlow),
    /// Two programs; only its report is kept here.
    Quic(FlowEnd),
}

struct EventLoop<'a> {
    plan: &'a AgentPlan,
    folder: &'a Path,
    clock: Clock,
    ended_ns: Option<u64>,
    event_queue: EventQueue,
    poller: Poller,
    flows: Vec<Traffic>,
    /// Listening sockets, indexed by their tokens; with the port's only flow if its sender is on another host.
    listeners: Vec<(Socket, Option<usize>)>,
    /// Flow of a connection, by its addresses: sender, receiver. Flows to different ports may share a source port.
    expected: BTreeMap<(SocketAddr, SocketAddr), usize>,
    probes: Vec<Probing>,
    sampler: Sampler,
    /// Incremented when the next sample is rescheduled: older entries of the event queue are void.
    sampling: usize,
    prefetch: Option<Prefetch>,
    prefetch_unsupported: bool,
    programs: ProgramSet,
    recorders: Recorders,
    host_load: Option<HostLoad>,
    /// None after the end.
    changes: Option<Changes<'a>>,
    machine_programs: MachinePrograms,
    path: Option<crate::path::Path<'a>>,
    payload: Payload,
    unfinished: usize,
    /// Flows sorted by name: simultaneous starts do not depend on the order of the plan.
    start_order: Vec<usize>,
    /// Flows that wait for others.
    waits: Waits,
}

impl<'a> EventLoop<'a> {
    fn open(plan: &'a AgentPlan, folder: &'a Path, mut machine_programs: MachinePrograms) -> Result<Self> {
        let mut event_loop = Self {
            plan,
            folder,
            clock: Clock::start(),
            ended_ns: None,
            event_queue: EventQueue::default(),
            poller: Poller::open()?,
            flows: Vec::new(),
            listeners: Vec::new(),
            expected: BTreeMap::new(),
            probes: Vec::new(),
            sampler: Sampler::open(plan, folder)?,
            sampling: 0,
            prefetch: None,
            prefetch_unsupported: !Rounds::are_supported().attempt(|| "reading the kernel's version".into())?,
            programs: ProgramSet::open(plan, folder)?,
            recorders: Recorders::open(plan, folder)?,
            host_load: plan.machine_ns.map(|every_ns| HostLoad::open(every_ns, folder)).transpose()?,
            changes: Some(Changes::prepare(&plan.changes, &mut machine_programs)?),
            machine_programs,
            path: None,
            payload: Payload::new()?,
            // The clients of QUIC flows are programs.
            unfinished: plan.flows.iter().filter(|flow| flow.transport != Transport::Quic).count(),
            start_order: (0..plan.flows.len()).collect(),
            waits: Waits::of(plan.flows.iter().map(|flow| flow.wait)),
        };
        event_loop.listen()?;
        event_loop.prepare_flows()?;
        event_loop.prepare_probes()?;
        event_loop.watch_path()?;
        event_loop.prepare_programs()?;
        for (number, change) in plan.changes.iter().enumerate() {
            event_loop.event_queue.add(change.at_ns, Kind::Change, number);
        }
        event_loop.event_queue.add(plan.sample_ns.min(plan.duration_ns), Kind::Sample, 0);
        event_loop.schedule_recordings();
        event_loop.event_queue.add(plan.duration_ns, Kind::End, 0);
        Ok(event_loop)
    }

    fn prepare_flows(&mut self) -> Result<()> {
        self.start_order.sort_unstable_by_key(|&number| &self.plan.flows[number].name);
        for (position, &number) in self.start_order.iter().enumerate() {
            let flow = &self.plan.flows[number];
            if starts_here(flow) && flow.wait.after.is_none() {
                self.event_queue.add(flow.start_ns, Kind::Start, position);
            }
        }
        for (number, flow) in self.plan.flows.iter().enumerate() {
            if let Some(stop_ns) = flow.stop_ns.filter(|_| flow.transport != Transport::Quic) {
                self.event_queue.add(stop_ns, Kind::Stop, number);
            }
            self.flows.push(match flow.transport {
                Transport::Tcp => Traffic::Tcp(TcpFlow::new(flow.clone())),
                Transport::Udp => {
                    let flow = UdpFlow::new(flow.clone())?;
                    if let Some(receiver) = flow.receiver() {
                        self.poller.watch(receiver, Token::Sink(number))?;
                    }
                    Traffic::Udp(flow)
                }
                Transport::Quic => Traffic::Quic(FlowEnd { name: flow.name.clone(), ..FlowEnd::default() }),
            });
        }
        Ok(())
    }

    fn prepare_probes(&mut self) -> Result<()> {
        for (number, probe) in self.plan.probes.iter().enumerate() {
            let probing = Probing::open(u32::try_from(number).expect("few probes"), probe.clone())?;
            let [asker, listener] = probing.descriptors();
            for (end, token) in [(asker, Token::Answer(number)), (listener, Token::Arrival(number))] {
                if let Some(descriptor) = end {
                    self.poller.watch(descriptor, token)?;
                }
            }
            if let Some(start_ns) = probing.start_ns() {
                self.event_queue.add(start_ns, Kind::Probe, number);
            }
            self.probes.push(probing);
        }
        Ok(())
    }

    fn run_until_end(&mut self, clock: Clock) -> Result<()> {
        self.clock = clock;
        self.sample_host_load(0, false)?;
        self.heartbeat_later(0);
        let mut ready = Vec::new();
        loop {
            self.cancel_prefetch_if_late()?;
            if let Some(next_ns) = self.event_queue.next() {
                self.poller.wake_at(self.clock.monotonic_ns(next_ns))?;
            }
            self.poller.wait(&mut ready)?;
            for event in ready.drain(..) {
                self.handle_ready(event)?;
                if self.ended_ns.is_some() {
                    return self.poller.flush_removed();
                }
            }
        }
    }

    /// The timer fired: the current time is the time it was set to; the clock is not read.
    fn run_due_events(&mut self) -> Result<()> {
        let Some(now_ns) = self.event_queue.next() else { return Ok(()) };
        if let Some(host_load) = &mut self.host_load {
            host_load.late(self.clock.now_ns().saturating_sub(now_ns));
        }
        while let Some((kind, number)) = self.event_queue.pop_due(now_ns) {
            self.handle_event(now_ns, kind, number)?;
        }
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Handles one event.
    fn handle_event(&mut self, now_ns: u64, kind: Kind, number: usize) -> Result<()> {
        match kind {
            Kind::Change => self.change(number, now_ns)?,
            Kind::Launch => self.launch(number, now_ns)?,
            Kind::Halt => self.programs.running[number].stop(Signal::SIGTERM),
            Kind::Start => self.start(number, now_ns)?,
            Kind::Packet => self.send_packet(now_ns, number)?,
            Kind::Probe => {
                let next_ns = self.probes[number].send(now_ns)?;
                self.event_queue.add(next_ns, Kind::Probe, number);
            }
            Kind::Wake => self.wake(number, now_ns)?,
            Kind::CheckCommand => self.check_shell(now_ns, number)?,
            Kind::Record => {
                self.recorders.record(self.clock, now_ns, false)?;
                self.schedule_recordings();
            }
            Kind::CountDatagrams => self.count_datagrams(now_ns)?,
            Kind::Stop => self.stop(number, now_ns)?,
            Kind::Sample if number < self.sampling => {}
            Kind::Sample => self.sample(now_ns)?,
            Kind::Heartbeat => self.heartbeat_later(now_ns),
            Kind::End => self.end(now_ns)?,
        }
        Ok(())
    }

    fn change(&mut self, number: usize, now_ns: u64) -> Result<()> {
        let host = &self.plan.changes[number].step.host;
        self.path.iter_mut().for_each(|path| path.ordered(host, now_ns));
        let made = self.changes.as_mut().expect("the experiment runs").make(number);
        made.or_else(|error| self.change_failed(host, error))
    }

    /// Starts the flow at this position of their order.
    fn start(&mut self, position: usize, now_ns: u64) -> Result<()> {
        let number = self.start_order[position];
        let planned = &self.plan.flows[number];
        if planned.wait.after.is_some() && planned.stop_ns.is_some_and(|stop_ns| stop_ns <= now_ns) {
            return Ok(());
        }
        match &mut self.flows[number] {
            Traffic::Tcp(flow) => {
                let descriptor = flow.start(now_ns)?;
                self.poller.watch(descriptor, Token::Sender(number))?;
                let addresses = flow.addresses().expect("a started flow has addresses");
                self.expected.insert(addresses, number);
                if let Some((on_ns, _)) = self.plan.flows[number].on_off_ns {
                    self.event_queue.add(now_ns + on_ns, Kind::Wake, number);
                }
                Ok(())
            }
            Traffic::Udp(flow) => {
                let was_watched = flow.receiver().is_some();
                flow.start(now_ns)?;
                if let Some(receiver) = flow.receiver().filter(|_| !was_watched) {
                    self.poller.watch(receiver, Token::Sink(number))?;
                }
                self.send_packet(now_ns, position)
            }
            Traffic::Quic(_) => unreachable!("its programs start"),
        }
    }

    /// Sends a packet of the flow at this position: at one time in the order of their names, as the simulator does.
    fn send_packet(&mut self, now_ns: u64, position: usize) -> Result<()> {
        let Traffic::Udp(flow) = &mut self.flows[self.start_order[position]] else {
            unreachable!("only UDP flows send packets")
        };
        if let Some(next_ns) = flow.send(now_ns)? {
            self.event_queue.add(next_ns, Kind::Packet, position);
        }
        Ok(())
    }

    fn wake(&mut self, number: usize, now_ns: u64) -> Result<()> {
        let Traffic::Tcp(flow) = &mut self.flows[number] else { return Ok(()) };
        flow.wake(now_ns)?;
        let step = flow.toggle(self.clock, now_ns, &self.payload)?;
        self.apply_step(number, step)
    }

    fn stop(&mut self, number: usize, now_ns: u64) -> Result<()> {
        match &mut self.flows[number] {
            Traffic::Tcp(flow) => flow.stop(now_ns),
            Traffic::Udp(flow) => flow.stop(now_ns),
            Traffic::Quic(_) => return Ok(()),
        }
        self.closed(number)
    }

    /// A flow has ended: stop watching its TCP sockets.
    fn closed(&mut self, number: usize) -> Result<()> {
        self.sampler.changed();
        self.poller.remove(Token::Sender(number))?;
        self.poller.remove(Token::Receiver(number))
    }

    fn sample(&mut self, now_ns: u64) -> Result<()> {
        self.record_prefetched()?;
        self.sampler.sample(now_ns, &self.flows)?;
        self.sample_connections(now_ns)?;
        self.sample_host_load(now_ns, false)?;
        if now_ns < self.plan.duration_ns {
            self.sample_later(now_ns + self.plan.sample_ns)?;
        }
        Ok(())
    }

    fn schedule_recordings(&mut self) {
        if let Some(next_ns) = self.recorders.next_ns() {
            self.event_queue.add(next_ns, Kind::Record, 0);
        }
    }

    /// A descriptor is ready.
    fn handle_ready(&mut self, Readiness { token, taken, times }: Readiness) -> Result<()> {
        match token {
            Token::Timer => self.run_due_events()?,
            Token::Listener(number) => self.accept(number)?,
            Token::Sender(number) => {
                let Traffic::Tcp(flow) = &mut self.flows[number] else { return Ok(()) };
                let step = flow.sender_ready(self.clock, &self.payload)?;
                self.apply_step(number, step)?;
            }
            Token::Receiver(number) => {
                let Traffic::Tcp(flow) = &mut self.flows[number] else { return Ok(()) };
                let step = flow.receiver_ready(self.clock, taken, times)?;
                self.poller.coalesce_reads(token, flow.coalescable_reads());
                self.apply_step(number, step)?;
            }
            Token::Sink(number) => {
                let Traffic::Udp(flow) = &mut self.flows[number] else { return Ok(()) };
                flow.receiver_ready(self.clock.now_ns());
            }
            Token::Answer(number) => self.probes[number].answered(self.clock.now_ns()),
            Token::Arrival(number) => self.probes[number].arrived(self.clock.now_ns()),
            Token::Ended(number) => self.program_ended(number)?,
            Token::Stream(number) => self.read_program(number)?,
            Token::SocketsDestroyed(position) => self.sockets_closed(position)?,
            Token::Path(position) => self.path_changed(position)?,
            Token::Word => self.read_shell()?,
            Token::Order => self.end_now(),
            Token::Rounds => self.samples_arrived(taken.expect("rounds bring a result"))?,
        }
        Ok(())
    }

    fn apply_step(&mut self, number: usize, step: FlowStep) -> Result<()> {
        match step {
            FlowStep::Same => {}
            FlowStep::Changed => self.sampler.changed(),
            FlowStep::WakeAt(at_ns) => self.event_queue.add(at_ns, Kind::Wake, number),
            FlowStep::Responded => {
                let released = self.waits.responded(number);
                self.ask_again(&released)?;
            }
            FlowStep::Done => {
                self.closed(number)?;
                self.release(number)?;
                self.finish_one();
            }
        }
        Ok(())
    }

    /// A flow has completed or failed: those that waited for it go on.
    fn release(&mut self, number: usize) -> Result<()> {
        let Traffic::Tcp(flow) = &self.flows[number] else { return Ok(()) };
        if !flow.has_completed() {
            let released = self.waits.failed(number);
            return self.ask_again(&released);
        }
        let now_ns = self.clock.now_ns();
        for follower in self.waits.completed(number) {
            let flow = &self.plan.flows[follower];
            if starts_here(flow) {
                let position = self.start_order.iter().position(|&each| each == follower).expect("each has one");
                self.event_queue.add(now_ns.saturating_add(flow.start_ns), Kind::Start, position);
            }
        }
        Ok(())
    }

    /// Flows behind a barrier that has opened ask again, in the order of their names, as in the simulator.
    fn ask_again(&mut self, released: &[usize]) -> Result<()> {
        let now_ns = self.clock.now_ns();
        for position in 0..self.start_order.len() {
            let number = self.start_order[position];
            let Some(exchange) = self.plan.flows[number].exchange.filter(|_| released.contains(&number)) else {
                continue;
            };
            match (exchange.think_ns, &mut self.flows[number]) {
                (0, Traffic::Tcp(flow)) => flow.wake(now_ns)?,
                (think_ns, _) => self.event_queue.add(now_ns + think_ns, Kind::Wake, number),
            }
        }
        Ok(())
    }
}
