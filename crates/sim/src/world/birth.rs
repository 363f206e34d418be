//! From a plan to a world at time zero, or why not.

mod checks;

use super::census::Census;
use super::{Instant, World, rank};
use crate::agenda::{Agenda, Kind};
use crate::ends::End;
use crate::error::Error;
use crate::net::{self, DeviceId, Net};
use crate::plan::{self, Plan, Traffic as Asked, What};
use crate::report::FlowReport;
use crate::sampler::{Sampler, Watched};
use crate::telemetry::Telemetry;
use crate::trace::{Talkers, pcap::Tap};
use crate::traffic::probe::Series;
use crate::traffic::tcp::Application;
use crate::traffic::udp::Datagrams;
use crate::traffic::{Flow, Traffic};
use dumbbell_core::packet::{Direction, FlowId};
use dumbbell_core::queue::Look;
use dumbbell_core::time::Time;
use dumbbell_core::transport::Identity;

/// Makes the world of a plan.
pub fn world(plan: &Plan) -> Result<World, Error> {
    checks::sense(plan)?;
    let flow_order = checks::by_name("flow", plan.flows.iter().map(|flow| flow.name.as_str()))?;
    let probe_order = checks::by_name("probe", plan.probes.iter().map(|probe| probe.name.as_str()))?;
    let mut net = net::build(plan, &pairs(plan, &flow_order, &probe_order))?;
    let watched = watch(plan, &mut net)?;
    let tap = plan.capture.map(|capture| tap(plan, capture, &mut net, &flow_order)).transpose()?;
    let flows: Vec<_> = flow_order.iter().enumerate().map(|(id, &place)| flow(plan, id, place)).collect();
    let series = |(id, &place): (usize, &usize)| Series::new(flow_id(id), &plan.probes[place]);
    let probes: Vec<_> = (flows.len()..).zip(&probe_order).map(series).collect();
    let starts = starts(plan, &flow_order);
    let telemetry = Telemetry::of(plan, &flow_order, &net)?;
    for device in &mut net.devices {
        device.is_observed = device.is_home || device.is_tapped || device.meter.is_some();
    }
    Ok(World {
        now: Time::ZERO,
        seed: plan.seed,
        duration: plan.duration,
        sample: plan.sample,
        every_change: plan.every_change,
        is_shown: plan.every_change,
        journeys: None,
        ended: None,
        agenda: agenda(plan, &starts, &probe_order),
        ends: ends(&net, &flows, &telemetry),
        net,
        instant: Instant::default(),
        census: Census::of(flows.len() + probes.len()),
        probe_names: probe_names(plan, &probe_order),
        starts,
        changes: plan.changes.clone(),
        sampler: Sampler::new(plan, numbers(&flow_order), watched),
        tap,
        telemetry,
        unfinished: plan.ends_when_done.then_some(flows.len()),
        flows,
        probes,
        events: 0,
        totals: Vec::new(),
    })
}

/// Who talks to whom, in the order of the ids.
fn pairs<'a>(plan: &'a Plan, flows: &[usize], probes: &[usize]) -> Vec<net::Pair<'a>> {
    let flows = flows.iter().map(|&place| {
        let flow = &plan.flows[place];
        (format!("flow '{}'", flow.name), flow.sender.as_str(), flow.receiver.as_str())
    });
    let probes = probes.iter().map(|&place| {
        let probe = &plan.probes[place];
        (format!("probe '{}'", probe.name), probe.sender.as_str(), probe.receiver.as_str())
    });
    flows.chain(probes).collect()
}

/// Finds the disciplines that are sampled, and that those that change are there.
fn watch(plan: &Plan, net: &mut Net) -> Result<Vec<Watched>, Error> {
    checks::by_name("queue", plan.queues.iter().map(|queue| queue.name.as_str()))?;
    let mut watched = Vec::with_capacity(plan.queues.len());
    for (number, plan::Watched { name, at, handle, .. }) in plan.queues.iter().enumerate() {
        let whose = format!("queue '{name}'");
        let device = device_at(net, *at, &whose, plan)?;
        let target = &mut net.devices[device as usize];
        let place = target.queue.as_ref().and_then(|queue| queue.locate(handle));
        let place = place.ok_or(Error::NoHandle { whose, handle: handle.clone() })?;
        target.watched.push(rank(number));
        watched.push(Watched { device, place, last: Look::default() });
    }
    check_changes(plan, net)?;
    Ok(watched)
}

fn check_changes(plan: &Plan, net: &Net) -> Result<(), Error> {
    for change in &plan.changes {
        let handle = match &change.what {
            What::Discipline(node) => &node.handle,
            What::Class { htb, .. } => htb,
        };
        let whose = format!("the change at {} ns", change.at.as_nanos());
        let device = &net.devices[device_at(net, change.device, &whose, plan)? as usize];
        if device.queue.as_ref().and_then(|queue| queue.locate(handle)).is_none() {
            return Err(Error::NoHandle { whose, handle: handle.clone() });
        }
    }
    Ok(())
}

fn tap(plan: &Plan, capture: plan::Capture, net: &mut Net, order: &[usize]) -> Result<Tap, Error> {
    // What leaves by the device and what comes in by it, as tcpdump on it would show: the latter leaves the wire's other end.
    for side in [plan::Side::Left, plan::Side::Right] {
        let device = device_at(net, plan::End { side, ..capture.at }, "the capture", plan)?;
        net.devices[device as usize].is_tapped = true;
    }
    let mss =
        order.iter().map(|&place| if let Asked::Tcp(tcp) = &plan.flows[place].traffic { tcp.sender.mss } else { 0 });
    Ok(Tap::new(Talkers { hosts: net.ends().to_vec(), mss: mss.collect() }))
}

fn device_at(net: &Net, at: plan::End, whose: &str, plan: &Plan) -> Result<DeviceId, Error> {
    let missing = || Error::NoWire { whose: whose.into(), wire: at.wire, wires: plan.wires.len() };
    net.device_at(at).ok_or_else(missing)
}

fn flow(plan: &Plan, id: usize, place: usize) -> Flow {
    let asked = &plan.flows[place];
    let identity = Identity { flow: flow_id(id), direction: Direction::Forward, port: asked.port, mark: asked.mark };
    let traffic = match &asked.traffic {
        Asked::Tcp(tcp) => Traffic::Tcp(Box::new(Application::new((**tcp).clone()))),
        Asked::Udp { payload, interval } => Traffic::Udp(Datagrams::new(identity, *payload, *interval)),
    };
    let report = FlowReport { name: asked.name.clone(), ..FlowReport::default() };
    Flow { position: rank(place), identity, traffic, stop: asked.stop, report }
}

fn ends(net: &Net, flows: &[Flow], telemetry: &Telemetry) -> Vec<[End; 2]> {
    let end = |id, direction, cuts| {
        let (device, has_telemetry) = (net.first_device(flow_id(id), direction), telemetry.wants(id));
        End { device, cuts, has_telemetry, ..End::default() }
    };
    let both = |id, flow: &Flow| {
        let [sender, receiver] = match &flow.traffic {
            Traffic::Tcp(tcp) => {
                [&tcp.plan.sender, &tcp.plan.receiver].map(|settings| settings.gso_max_bytes.is_none())
            }
            Traffic::Udp(_) => [false; 2],
        };
        [end(id, Direction::Forward, sender), end(id, Direction::Backward, receiver)]
    };
    flows.iter().enumerate().map(|(id, flow)| both(id, flow)).collect()
}

/// The series at each place of the plan.
fn probe_names(plan: &Plan, order: &[usize]) -> Vec<(String, usize)> {
    let mut names: Vec<_> = plan.probes.iter().map(|probe| (probe.name.clone(), 0)).collect();
    for (number, &place) in order.iter().enumerate() {
        names[place].1 = number;
    }
    names
}

/// The flow at each place of the plan.
fn numbers(order: &[usize]) -> Vec<u32> {
    let mut numbers = vec![0; order.len()];
    for (number, &place) in order.iter().enumerate() {
        numbers[place] = rank(number);
    }
    numbers
}

/// When each flow starts, the last first.
fn starts(plan: &Plan, order: &[usize]) -> Vec<(Time, u32)> {
    let mut starts: Vec<_> = (0..).zip(order).map(|(id, &place)| (plan.flows[place].start, id)).collect();
    starts.sort_unstable_by(|one, other| other.cmp(one));
    starts
}

/// What is to come: of flows and changes the first, which bring on the others.
fn agenda(plan: &Plan, starts: &[(Time, u32)], probe_order: &[usize]) -> Agenda {
    let mut agenda = Agenda::default();
    let last = Time::ZERO + plan.duration;
    if let Some(&(at, id)) = starts.last() {
        agenda.add(at, Kind::Start, id);
    }
    if let Some(change) = plan.changes.first() {
        agenda.add(change.at, Kind::Change, 0);
    }
    for (number, &place) in probe_order.iter().enumerate() {
        agenda.add(plan.probes[place].start, Kind::Probe, rank(number));
    }
    agenda.add((Time::ZERO + plan.sample).min(last), Kind::Sample, 0);
    agenda.add(last, Kind::End, 0);
    agenda
}

fn flow_id(number: usize) -> FlowId {
    FlowId(rank(number))
}
