//! An experiment's plan as the simulator reads it.
//!
//! Executes the tc commands of each device. What the simulator lacks is an error with the key of the experiment and the
//! engine that has it. Controllers are checked when a world is created.

use super::sysctls::Sysctls;
use super::{
    Capture, Change, Device, End, Flow, HostRoute, Link, LinkSide, Plan, Probe, Tcp, Traffic, Udp, Watched, What, Work,
};
use dumbbell_experiment::plan::error::Error;
use dumbbell_experiment::value::{Table, Value};
use dumbbell_net::cc::{Parameters, Setting};
use dumbbell_net::rate::Rate;
use dumbbell_net::time::{Span, Time};
use dumbbell_net::transport::Settings;
use dumbbell_plan::{self as types, Ecn, Operation, ParameterValue, Step, Transport};
use dumbbell_tc::quantity::{rate_bps, time_ns};
use dumbbell_tc::tree::Tree;
use dumbbell_tc::{self as tc, Wrong};
use std::collections::BTreeMap;

const ELSEWHERE: &str = "run it with --engine kernel";
const ETHERNET_BYTES: u32 = 14;
/// IPv4, TCP, and TCP's timestamps.
const HEADER_BYTES: u32 = 20 + 20 + 12;
/// `txqueuelen` of a veth.
const QUEUE_LENGTH: u32 = 1_000;
const INITIAL_WINDOW: u32 = 10;
/// `gso_max_size` of a veth.
const SUPER_PACKET_BYTES: u32 = 65_536;
/// `SOCK_MIN_SNDBUF` and `SOCK_MIN_RCVBUF` (include/net/sock.h).
const MIN_SNDBUF: u64 = 4_608;
const MIN_RCVBUF: u64 = 2_304;
const MAX_BUFFER: u64 = i32::MAX as u64;

/// Where a device is: host and name.
type Location<'a> = (&'a str, &'a str);

/// A device with its qdiscs.
struct TcDevice<'a> {
    location: Location<'a>,
    at: End,
    tree: Tree,
    telemetry: bool,
}

/// Devices with the trees that their commands build.
struct Devices<'a> {
    plan: &'a types::Plan,
    ends: BTreeMap<Location<'a>, End>,
    /// In the order of their first command.
    all: Vec<TcDevice<'a>>,
}

/// The simulator's plan. What passes the device `capture` (host and name) is captured.
///
/// # Errors
///
/// The simulator lacks something, or Linux refuses it too.
pub fn plan(plan: &types::Plan, seed: u64, capture: Option<(&str, &str)>) -> Result<Plan, Error> {
    let mut network = Network::of(plan);
    network.add_ifbs(plan)?;
    let Network { hosts, wires, ends } = network;
    let mut devices = Devices { plan, ends, all: Vec::new() };
    for step in &plan.setup {
        devices.execute(step)?;
    }
    let set_up = |TcDevice { at, tree, telemetry, .. }: &TcDevice<'_>| {
        tree.root().map(|root| Device { at: *at, root, telemetry: *telemetry })
    };
    let set_up = devices.all.iter().filter_map(set_up).collect();
    let flows = flows(plan)?;
    let mut changes = Vec::new();
    for types::Change { at_ns, step } in &plan.changes {
        let by_tc = devices.execute(step)?.map(|(device, change)| What::Tc { device, change });
        let what = by_tc.or_else(|| host_route(plan, &devices.ends, step).map(What::Route));
        changes.extend(what.map(|what| Change { at: Time::from_nanos(*at_ns), what }));
    }
    let ends = &devices.ends;
    let queue = |queue: &types::Queue| Watched {
        name: queue.name.clone(),
        at: ends[&(&queue.host[..], &queue.device[..])],
        handle: handle(&queue.handle),
        under_test: queue.under_test,
        limits: queue.limits(),
        holds_netem: queue.holds_netem,
    };
    Ok(Plan {
        seed,
        duration: Span::from_nanos(plan.duration_ns),
        sample: Span::from_nanos(plan.sample_ns),
        ends_when_done: plan.ends_when_done,
        every_change: plan.every_change,
        hosts,
        wires,
        devices: set_up,
        flows,
        probes: plan.probes.iter().enumerate().map(probe).collect(),
        changes,
        routes: plan.setup.iter().filter_map(|step| host_route(plan, ends, step)).collect(),
        queues: plan.queues.iter().filter(|queue| !tc::is_of_arrivals(&queue.text)).map(queue).collect(),
        capture: capture.and_then(|device| ends.get(&device)).map(|at| Capture { at: *at }),
    })
}

impl<'a> Devices<'a> {
    /// Position of a device.
    fn index(&mut self, location: Location<'a>) -> usize {
        if let Some(index) = self.all.iter().position(|device| device.location == location) {
            return index;
        }
        let tree = Tree::new(self.facts(location));
        let telemetry = self.plan.telemetry && has_rate(self.plan, location);
        self.all.push(TcDevice { location, at: self.ends[&location], tree, telemetry });
        self.all.len() - 1
    }

    fn facts(&self, (host, device): Location<'_>) -> tc::Device {
        let seeds = self.plan.netem_seeds.iter().filter(|seed| seed.host == host && seed.device == device);
        let seed = |seed: &types::NetemSeed| Some((major(&seed.handle)?, seed.seed));
        let mtu = self.plan.net.mtu + ETHERNET_BYTES;
        tc::Device { mtu, queue_length: QUEUE_LENGTH, seeds: seeds.filter_map(seed).collect() }
    }

    /// Executes a tc command; its device and the change that it makes to a running qdisc, if any. The plan's links and
    /// settings stand for all other steps.
    fn execute(&mut self, step: &'a Step) -> Result<Option<(End, tc::tree::Change)>, Error> {
        let Some(command) = step.tc() else { return Ok(None) };
        // The network has them as ifbs.
        if command.target().is_of_arrivals() || command.mirrors_to().is_some() {
            return Ok(None);
        }
        if !self.ends.contains_key(&(&step.host[..], command.device())) {
            let problem = format!("nothing is redirected to {}", command.device());
            let right = "tc filter add … parent ffff: matchall action mirred egress redirect dev ifb0";
            return Err(refused_step(Wrong::lacking(problem, right), step));
        }
        let index = self.index((&step.host, command.device()));
        let device = &mut self.all[index];
        let change = device.tree.execute(command).map_err(|wrong| refused_step(wrong, step))?;
        Ok(change.map(|change| (device.at, change)))
    }
}

fn refused_step(wrong: Wrong, step: &Step) -> Error {
    let line = step.line();
    let origin = step.origin.as_deref();
    let (key, text) = origin.map_or(("path", &line[..]), |origin| (&origin.key, &origin.text));
    refused(wrong, key).with(text)
}

/// The error of a refused command or setting.
fn refused(wrong: Wrong, key: &str) -> Error {
    let Wrong { problem, hint, is_lacking } = wrong;
    let hint = match (is_lacking, &hint[..]) {
        (true, "") => ELSEWHERE.into(),
        (true, _) => format!("{hint}; or {ELSEWHERE}"),
        (false, "") => "the kernel refuses that too".into(),
        (false, _) => format!("the kernel refuses that too: {hint}"),
    };
    Error::at(key, problem, hint)
}

/// The route to a single host by way of a neighbour, if the step is one.
fn host_route(plan: &types::Plan, ends: &BTreeMap<Location<'_>, End>, step: &Step) -> Option<HostRoute> {
    let Operation::Route(types::operation::Route { to, via: Some(via), .. }) = &step.operation else { return None };
    if to.prefix != 32 {
        return None;
    }
    let by = plan.net.wires.iter().find_map(|link| {
        if link.left_host == step.host && link.right_address() == *via {
            return Some((&link.left_host[..], &link.left_device[..]));
        }
        let is_back = link.right_host == step.host && link.left_address() == *via;
        is_back.then_some((&link.right_host[..], &link.right_device[..]))
    });
    let by = *ends.get(&by?)?;
    let owner = plan.net.wires.iter().find_map(|link| {
        let ends = [(link.left_address(), &link.left_host), (link.right_address(), &link.right_host)];
        ends.into_iter().find(|(address, _)| *address == to.address).map(|(_, host)| host.clone())
    })?;
    Some(HostRoute { host: step.host.clone(), to: owner, by })
}

fn has_rate(plan: &types::Plan, (host, device): Location<'_>) -> bool {
    plan.queues.iter().any(|queue| queue.host == host && queue.device == device && !queue.rates.is_empty())
}

/// Hosts and links, and every device as an end of a link.
struct Network<'a> {
    hosts: Vec<String>,
    wires: Vec<Link>,
    ends: BTreeMap<Location<'a>, End>,
}

impl<'a> Network<'a> {
    fn of(plan: &'a types::Plan) -> Self {
        let link = |wire: &types::Link| Link { left: wire.left_host.clone(), right: wire.right_host.clone() };
        let ends = plan.net.wires.iter().enumerate().flat_map(|(wire, link)| {
            [
                ((&link.left_host[..], &link.left_device[..]), End { wire, side: LinkSide::Left }),
                ((&link.right_host[..], &link.right_device[..]), End { wire, side: LinkSide::Right }),
            ]
        });
        Self { hosts: plan.hosts.clone(), wires: plan.net.wires.iter().map(link).collect(), ends: ends.collect() }
    }

    /// Adds an ifb for every filter that gives it all packets that arrive at a device: a host in front of that device,
    /// whose device towards it has the ifb's qdiscs. Such a link takes no time.
    fn add_ifbs(&mut self, plan: &'a types::Plan) -> Result<(), Error> {
        for step in &plan.setup {
            let Some(command) = step.tc() else { continue };
            let is_gone =
                command.target().is_of_arrivals() && !matches!(command.verb(), tc::Verb::Add | tc::Verb::Replace);
            if is_gone {
                let wrong = Wrong::lacking("the simulator deletes and changes no ingress", "leave the line out");
                return Err(refused_step(wrong, step));
            }
            let redirection = tc::filters::redirection(command).map_err(|wrong| refused_step(wrong, step))?;
            let Some(ifb) = redirection else { continue };
            let at = self.ends[&(&step.host[..], command.device())];
            if self.ends.contains_key(&(&step.host[..], ifb)) {
                let problem = format!("the simulator's {ifb} takes packets of one device, once");
                return Err(refused_step(Wrong::lacking(problem, "one ifb for each device"), step));
            }
            let between = format!("{}.{ifb}", step.host);
            let end = self.split(at, between);
            self.ends.insert((&step.host, ifb), end);
        }
        Ok(())
    }

    /// Puts a host into the link of a device; the new host's end that sends to that device.
    fn split(&mut self, at: End, between: String) -> End {
        let (first, second) = (at.wire, self.wires.len());
        let right = std::mem::replace(&mut self.wires[first].right, between.clone());
        self.wires.push(Link { left: between.clone(), right });
        self.hosts.push(between);
        for end in self.ends.values_mut().filter(|end| end.wire == first && end.side == LinkSide::Right) {
            end.wire = second;
        }
        match at.side {
            LinkSide::Left => End { wire: first, side: LinkSide::Right },
            LinkSide::Right => End { wire: second, side: LinkSide::Left },
        }
    }
}

fn major(handle: &str) -> Option<u32> {
    u32::from_str_radix(handle.split(':').next()?, 16).ok()
}

/// A handle as tc prints it.
fn handle(written: &str) -> String {
    major(written).map_or_else(|| written.into(), |major| format!("{major:x}:"))
}

fn probe((number, probe): (usize, &types::Probe)) -> Probe {
    Probe {
        name: format!("{}-{}", probe.kind.word(), number + 1),
        kind: probe.kind.word().into(),
        sender: probe.sender.clone(),
        receiver: probe.receiver.clone(),
        start: Time::from_nanos(probe.start_ns),
        interval: Span::from_nanos(probe.interval_ns),
        payload: probe.payload,
        port: probe.port,
    }
}

fn flows(plan: &types::Plan) -> Result<Vec<Flow>, Error> {
    let settings = &plan.net.tcp.sysctl;
    let sysctls = Sysctls::read(settings).map_err(|wrong| {
        let table = settings.iter().map(|(key, value)| (&key[..], &value[..]));
        refused(wrong, "tcp.sysctl").with(table.collect::<Table>())
    })?;
    refuse_accurate_ecn(&plan.net)?;
    plan.flows.iter().map(|each| flow(plan, each, sysctls)).collect()
}

fn refuse_accurate_ecn(net: &types::Net) -> Result<(), Error> {
    let of_group = net.senders.iter().any(|sender| sender.ecn == Ecn::AccEcn);
    if !of_group && net.tcp.ecn != Ecn::AccEcn {
        return Ok(());
    }
    let key = if of_group { "flows.*.ecn" } else { "tcp.ecn" };
    let right = "\"classic\", or run it with --engine kernel --kernel 7.2";
    Err(Error::at(key, "the simulator has no Accurate ECN", right).with(Ecn::AccEcn.word()))
}

fn flow(plan: &types::Plan, flow: &types::Flow, sysctls: Sysctls) -> Result<Flow, Error> {
    let mark = flow.mark.unwrap_or(0);
    let mark = u16::try_from(mark).map_err(|_| {
        let right = format!("a smaller one, or {ELSEWHERE}");
        Error::at("path.tc", "a mark that does not fit 16 bits", right).with(Value::from(mark))
    })?;
    let traffic = match flow.transport {
        Transport::Udp => Traffic::Udp(Udp {
            payload: flow.packet.unwrap_or(0),
            mtu: plan.net.mtu,
            interval: Span::from_nanos(flow.interval_ns.unwrap_or(0)),
            on_off: flow.on_off_ns.map(|(on, off)| (Span::from_nanos(on), Span::from_nanos(off))),
            ecn: flow.ecn,
            sndbuf: flow.sndbuf.map(|bytes| buffer(bytes, MIN_SNDBUF)),
            rcvbuf: flow.rcvbuf.map(|bytes| buffer(bytes, MIN_RCVBUF)),
        }),
        Transport::Tcp => Traffic::Tcp(Box::new(tcp(plan, flow, sysctls))),
        Transport::Quic => {
            let right =
                "--engine kernel, which runs the stack's programs, or a TCP group with the controller of the same name";
            let error = Error::at("flows", "the simulator has no QUIC stacks", right);
            return Err(error.with(flow.name.as_str()));
        }
    };
    Ok(Flow {
        name: flow.name.clone(),
        group: flow.group.clone(),
        sender: flow.sender.clone(),
        receiver: flow.receiver.clone(),
        start: Time::from_nanos(flow.start_ns),
        wait: flow.wait,
        stop: flow.stop_ns.map(Time::from_nanos),
        port: flow.port,
        mark,
        traffic,
    })
}

fn tcp(plan: &types::Plan, flow: &types::Flow, sysctls: Sysctls) -> Tcp {
    let (net, tcp) = (&plan.net, &plan.net.tcp);
    let sender = net.senders.iter().find(|sender| sender.host == flow.sender);
    let asks = match sender.map_or(Ecn::Auto, |sender| sender.ecn) {
        Ecn::Auto => tcp.ecn == Ecn::Classic,
        own => own == Ecn::Classic,
    };
    let both = Settings {
        mss: net.mtu - HEADER_BYTES,
        initial_window: INITIAL_WINDOW,
        // A listening end agrees to ECN if it is requested (`tcp_ecn` is 2).
        ecn: sysctls.ecn.unwrap_or(asks),
        gso_max_bytes: net.offloads.then_some(SUPER_PACKET_BYTES),
        min_tso_segments: sysctls.min_tso_segments.map_or_else(Settings::default_min_tso_segments, u32::from),
        quickack: false,
        slow_start_after_idle: sysctls.slow_start_after_idle.unwrap_or(tcp.slow_start_after_idle),
        rmem_max: tcp.rmem_max,
        rcvbuf: None,
        wmem_max: tcp.wmem_max,
        sndbuf: None,
        max_pacing_rate: None,
        prompt_reads: flow.prompt_reads || flow.exchange.is_some(),
        tunables: sysctls.tunables(),
        queue_paces: false,
    };
    let receiver = Settings {
        quickack: sender.is_some_and(|sender| sender.quickack),
        rcvbuf: flow.rcvbuf.map(|bytes| buffer(bytes, MIN_RCVBUF)),
        ..both.clone()
    };
    let sender = Settings {
        initial_window: sender.and_then(|sender| sender.initial_window).unwrap_or(INITIAL_WINDOW),
        sndbuf: flow.sndbuf.map(|bytes| buffer(bytes, MIN_SNDBUF)),
        max_pacing_rate: flow.pacing_rate.map(Rate::from_bytes),
        ..both
    };
    let parameters = flow.cc_parameters.iter().map(|(name, value)| (name.clone(), setting(value)));
    let cc = flow.cc.clone().unwrap_or_default();
    Tcp { cc, parameters: Parameters::of(parameters), sender, receiver, work: work(flow) }
}

/// A controller's parameter: a time in nanoseconds, a rate in bits per second, or else as it is written.
fn setting(value: &ParameterValue) -> Setting {
    match value {
        ParameterValue::Number(number) => Setting::Number(*number),
        ParameterValue::Word(word) => {
            let number = time_ns(word).or_else(|_| rate_bps(word));
            number.map_or_else(|_| Setting::Word(word.clone()), Setting::Number)
        }
    }
}

fn work(flow: &types::Flow) -> Work {
    let span = Span::from_nanos;
    match (flow.exchange, flow.on_off_ns, flow.bytes) {
        (Some(types::Exchange { request, response, think_ns }), ..) => {
            Work::Exchange { request, response, think: span(think_ns) }
        }
        (_, Some((on, off)), bytes) => Work::OnOff { on: span(on), off: span(off), bytes },
        (.., Some(bytes)) => Work::Sized { bytes },
        _ => Work::Bulk,
    }
}

/// A socket's buffer as the kernel keeps it: twice the requested size (net/core/sock.c).
fn buffer(requested: u64, least: u64) -> u64 {
    (2 * requested.min(MAX_BUFFER / 2)).max(least)
}
