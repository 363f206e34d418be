//! The event loop: what is due is done, then the lab sleeps until the next thing happens.
//!
//! One thread and one timer. In a guest time stands still while the lab works, so a sample
//! of all flows and queues is a picture of one instant. What happens at one time happens in
//! the order of [`Kind`]; equal kinds in the order of the plan.
//!
//! It leaves `flows.bin`, `queues.bin`, `probes.bin` (raw records, see `sample::record`) and
//! `end.json` (reports, queues found, counters) in the run's folder.

mod agenda;
mod ahead;
mod connections;
mod doors;
mod end;
mod listener;
mod orders;
mod path;
mod programs;
mod sampler;
mod terminal;

use crate::counters;
use crate::dice;
use crate::error::{Attempt, Result};
use crate::inside::Inside;
use crate::machine::Machine;
use crate::plan::{Plan, Transport};
use crate::setup::{self, Standby};
use crate::sys::Clock;
use crate::traffic::Turn;
use crate::traffic::payload::Payload;
use crate::traffic::probe::Probing;
use crate::traffic::tcp::TcpFlow;
use crate::traffic::udp::UdpFlow;
use agenda::{Agenda, Kind};
use ahead::Ahead;
use doors::{Door, Doors, Knock};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use programs::Company;
use sampler::Sampler;
use socket2::Socket;
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddrV4;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Descriptors that a lab holds beside the two of each flow: listeners, probes, netlink, files.
const OTHER_DESCRIPTORS: u64 = 1_024;
/// What a receiver keeps open behind the end: its sender's clock, on another machine, may be behind.
const HOLD: Duration = Duration::from_millis(300);

/// Reads `plan.json`, runs the experiment, writes the records.
pub fn run(folder: &Path) -> Result<()> {
    run_at(folder, None)
}

/// The same; with `orders`, it begins when they say so and ends early when they do: see [`orders`].
pub fn run_at(folder: &Path, orders: Option<&UnixStream>) -> Result<()> {
    let text = fs::read_to_string(folder.join("plan.json")).attempt(|| "reading plan.json".into())?;
    let plan: Plan = serde_json::from_str(&text)?;
    allow_descriptors(2 * plan.flows.len() as u64 + OTHER_DESCRIPTORS)?;
    setup::run(&plan.setup)?;
    dice::seed(&plan.dice)?;
    let before = counters::read(&plan.hosts)?;
    let mut lab = Lab::open(&plan, folder)?;
    let clock = match orders {
        None => Clock::start_on_jiffy(),
        Some(orders) => lab.obey(orders)?,
    };
    lab.live(clock)?;
    if orders.is_some() {
        thread::sleep(HOLD);
    }
    lab.finish(folder, before)
}

/// Raises the limit of open files when the flows need more than there are.
fn allow_descriptors(wanted: u64) -> Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).attempt(|| "reading the limit of open files".into())?;
    if wanted <= soft {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard.max(wanted))
        .attempt(|| format!("raising the limit of open files to {wanted}"))
}

enum Traffic {
    Tcp(TcpFlow),
    Udp(UdpFlow),
}

struct Lab<'a> {
    plan: &'a Plan,
    folder: &'a Path,
    clock: Clock,
    ended_ns: Option<u64>,
    agenda: Agenda,
    doors: Doors,
    flows: Vec<Traffic>,
    /// Listening sockets, in the order of the doors' numbers; the only flow of a port, where its sender is elsewhere.
    listeners: Vec<(Socket, Option<usize>)>,
    /// Which flow a connection belongs to, by the sender's address as the receiver sees it.
    expected: BTreeMap<SocketAddrV4, usize>,
    probes: Vec<Probing>,
    sampler: Sampler,
    /// Counts how often the next sample's time was changed: what the agenda had before is void.
    sampling: usize,
    ahead: Option<Ahead>,
    never_ahead: bool,
    company: Company,
    inside: Inside,
    machine: Option<Machine>,
    standbys: Vec<Standby>,
    path: Option<crate::path::Path<'a>>,
    payload: Payload,
    unfinished: usize,
    /// Flows in order of their names: so those that start at one time begin, whatever their places in the plan.
    starters: Vec<usize>,
}

impl<'a> Lab<'a> {
    fn open(plan: &'a Plan, folder: &'a Path) -> Result<Self> {
        let mut lab = Self {
            plan,
            folder,
            clock: Clock::start(),
            ended_ns: None,
            agenda: Agenda::default(),
            doors: Doors::open()?,
            flows: Vec::new(),
            listeners: Vec::new(),
            expected: BTreeMap::new(),
            probes: Vec::new(),
            sampler: Sampler::open(plan, folder)?,
            sampling: 0,
            ahead: None,
            never_ahead: false,
            company: Company::assemble(plan, folder)?,
            inside: Inside::open(plan, folder)?,
            machine: plan.machine_ns.map(|every_ns| Machine::open(every_ns, folder)).transpose()?,
            standbys: Standby::for_all(&plan.changes)?,
            path: None,
            payload: Payload::new()?,
            unfinished: plan.flows.len(),
            starters: (0..plan.flows.len()).collect(),
        };
        lab.listen()?;
        lab.prepare_flows()?;
        lab.prepare_probes()?;
        lab.watch_path()?;
        lab.prepare_programs()?;
        for (number, change) in plan.changes.iter().enumerate() {
            lab.agenda.add(change.at_ns, Kind::Change, number);
        }
        lab.agenda.add(plan.sample_ns.min(plan.duration_ns), Kind::Sample, 0);
        lab.look_later();
        lab.agenda.add(plan.duration_ns, Kind::End, 0);
        Ok(lab)
    }

    fn prepare_flows(&mut self) -> Result<()> {
        self.starters.sort_unstable_by_key(|&number| &self.plan.flows[number].name);
        let comes = |number: usize| {
            let flow = &self.plan.flows[number];
            flow.ends.sends() || flow.transport == Transport::Udp
        };
        for (place, &number) in self.starters.iter().enumerate().filter(|(_, number)| comes(**number)) {
            self.agenda.add(self.plan.flows[number].start_ns, Kind::Start, place);
        }
        for (number, flow) in self.plan.flows.iter().enumerate() {
            if let Some(stop_ns) = flow.stop_ns {
                self.agenda.add(stop_ns, Kind::Stop, number);
            }
            self.flows.push(match flow.transport {
                Transport::Tcp => Traffic::Tcp(TcpFlow::new(flow.clone())),
                Transport::Udp => {
                    let flow = UdpFlow::new(flow.clone())?;
                    if let Some(receiver) = flow.receiver() {
                        self.doors.watch(receiver, Door::Sink(number))?;
                    }
                    Traffic::Udp(flow)
                }
            });
        }
        Ok(())
    }

    fn prepare_probes(&mut self) -> Result<()> {
        for (number, probe) in self.plan.probes.iter().enumerate() {
            let probing = Probing::open(u32::try_from(number).expect("few probes"), probe.clone())?;
            let [asker, listener] = probing.descriptors();
            for (end, door) in [(asker, Door::Answer(number)), (listener, Door::Arrival(number))] {
                if let Some(descriptor) = end {
                    self.doors.watch(descriptor, door)?;
                }
            }
            if let Some(start_ns) = probing.start_ns() {
                self.agenda.add(start_ns, Kind::Probe, number);
            }
            self.probes.push(probing);
        }
        Ok(())
    }

    fn live(&mut self, clock: Clock) -> Result<()> {
        self.clock = clock;
        self.look_at_machine(0, false)?;
        let mut knocks = Vec::new();
        loop {
            self.recall_if_late()?;
            if let Some(next_ns) = self.agenda.next() {
                self.doors.wake_at(self.clock.monotonic_ns(next_ns))?;
            }
            self.doors.wait(&mut knocks)?;
            for knock in knocks.drain(..) {
                self.answer(knock)?;
                if self.ended_ns.is_some() {
                    return self.doors.settle();
                }
            }
        }
    }

    /// The timer went off: time is what it was set to, without a look at the clock.
    fn do_what_is_due(&mut self) -> Result<()> {
        let Some(now_ns) = self.agenda.next() else { return Ok(()) };
        if let Some(machine) = &mut self.machine {
            machine.late(self.clock.now_ns().saturating_sub(now_ns));
        }
        while let Some((kind, number)) = self.agenda.due(now_ns) {
            self.act(now_ns, kind, number)?;
        }
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Something on the agenda is due.
    fn act(&mut self, now_ns: u64, kind: Kind, number: usize) -> Result<()> {
        match kind {
            Kind::Change => self.change(number, now_ns)?,
            Kind::Launch => self.launch(number, now_ns)?,
            Kind::Halt => self.company.running[number].stop(Signal::SIGTERM),
            Kind::Start => self.start(self.starters[number], now_ns)?,
            Kind::Packet => self.send_packet(now_ns, number)?,
            Kind::Probe => {
                let next_ns = self.probes[number].send(now_ns)?;
                self.agenda.add(next_ns, Kind::Probe, number);
            }
            Kind::Wake => self.wake(number, now_ns)?,
            Kind::Care => self.care(now_ns, number)?,
            Kind::Look => {
                self.inside.look(self.clock, now_ns, false)?;
                self.look_later();
            }
            Kind::Stop => self.stop(number, now_ns)?,
            Kind::Sample if number < self.sampling => {}
            Kind::Sample => self.sample(now_ns)?,
            Kind::End => self.end(now_ns)?,
        }
        Ok(())
    }

    fn change(&mut self, number: usize, now_ns: u64) -> Result<()> {
        let command = &self.plan.changes[number].command;
        self.path.iter_mut().for_each(|path| path.ordered(&command.host, now_ns));
        let standby = self.standbys.iter_mut().find(|standby| standby.serves(command));
        let sent = standby.expect("one was started for every change").send(command);
        sent.or_else(|error| self.change_failed(&command.host, error))
    }

    fn start(&mut self, number: usize, now_ns: u64) -> Result<()> {
        match &mut self.flows[number] {
            Traffic::Tcp(flow) => {
                let descriptor = flow.start(now_ns)?;
                self.doors.watch(descriptor, Door::Sender(number))?;
                let (local, _) = flow.addresses().expect("a started flow has addresses");
                self.expected.insert(local, number);
                if let Some((on_ns, _)) = self.plan.flows[number].on_off_ns {
                    self.agenda.add(now_ns + on_ns, Kind::Wake, number);
                }
                Ok(())
            }
            Traffic::Udp(flow) => {
                flow.start(now_ns)?;
                self.send_packet(now_ns, number)
            }
        }
    }

    fn send_packet(&mut self, now_ns: u64, number: usize) -> Result<()> {
        let Traffic::Udp(flow) = &mut self.flows[number] else { unreachable!("only UDP flows send packets") };
        if let Some(next_ns) = flow.send(now_ns)? {
            self.agenda.add(next_ns, Kind::Packet, number);
        }
        Ok(())
    }

    fn wake(&mut self, number: usize, now_ns: u64) -> Result<()> {
        let Traffic::Tcp(flow) = &mut self.flows[number] else { return Ok(()) };
        flow.wake(now_ns)?;
        let turn = flow.toggle(self.clock, now_ns, &self.payload)?;
        self.after(number, turn)
    }

    fn stop(&mut self, number: usize, now_ns: u64) -> Result<()> {
        match &mut self.flows[number] {
            Traffic::Tcp(flow) => flow.stop(now_ns),
            Traffic::Udp(flow) => flow.stop(now_ns),
        }
        self.closed(number)
    }

    /// A flow has ended: nobody waits for its TCP sockets any longer.
    fn closed(&mut self, number: usize) -> Result<()> {
        self.sampler.changed();
        self.doors.forget(Door::Sender(number))?;
        self.doors.forget(Door::Receiver(number))
    }

    fn sample(&mut self, now_ns: u64) -> Result<()> {
        self.book()?;
        self.sampler.sample(now_ns, &self.flows)?;
        self.sample_connections(now_ns)?;
        self.look_at_machine(now_ns, false)?;
        if now_ns < self.plan.duration_ns {
            self.sample_later(now_ns + self.plan.sample_ns)?;
        }
        Ok(())
    }

    fn look_later(&mut self) {
        if let Some(next_ns) = self.inside.next_ns() {
            self.agenda.add(next_ns, Kind::Look, 0);
        }
    }

    fn look_at_machine(&mut self, now_ns: u64, last: bool) -> Result<()> {
        self.machine.as_mut().map_or(Ok(()), |machine| machine.look(now_ns, last))
    }

    /// A descriptor has something to say.
    fn answer(&mut self, Knock { door, taken, times }: Knock) -> Result<()> {
        match door {
            Door::Timer => self.do_what_is_due()?,
            Door::Listener(number) => self.accept(number)?,
            Door::Sender(number) => {
                let Traffic::Tcp(flow) = &mut self.flows[number] else { return Ok(()) };
                let turn = flow.sender_ready(self.clock, &self.payload)?;
                self.after(number, turn)?;
            }
            Door::Receiver(number) => {
                let Traffic::Tcp(flow) = &mut self.flows[number] else { return Ok(()) };
                let turn = flow.receiver_ready(self.clock, taken, times)?;
                self.doors.knock_after(door, flow.reads_unheard());
                self.after(number, turn)?;
            }
            Door::Sink(number) => {
                let Traffic::Udp(flow) = &mut self.flows[number] else { return Ok(()) };
                flow.receiver_ready();
            }
            Door::Answer(number) => self.probes[number].answered(self.clock.now_ns()),
            Door::Arrival(number) => self.probes[number].arrived(self.clock.now_ns()),
            Door::Ended(number) => self.program_ended(number)?,
            Door::Stream(number) => self.hear_program(number)?,
            Door::Gone(place) => self.sockets_gone(place)?,
            Door::Path(place) => self.path_changed(place)?,
            Door::Word => self.hear_shell()?,
            Door::Order => self.end_now(),
            Door::Rounds => self.samples_came(taken.expect("rounds bring a result"))?,
        }
        Ok(())
    }

    fn after(&mut self, number: usize, turn: Turn) -> Result<()> {
        match turn {
            Turn::Same => {}
            Turn::Changed => self.sampler.changed(),
            Turn::WakeAt(at_ns) => self.agenda.add(at_ns, Kind::Wake, number),
            Turn::Done => {
                self.closed(number)?;
                self.one_is_done();
            }
        }
        Ok(())
    }
}
