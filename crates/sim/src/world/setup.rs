//! Creates a world from a plan.

mod checks;

use super::packet_accounting::PacketAccounting;
use super::{Instant, World, rank};
use crate::capture::{Senders, pcap::Tap};
use crate::ends::End;
use crate::error::Error;
use crate::event_queue::{EventQueue, Kind};
use crate::net::{self, DeviceId, Net};
use crate::plan::{self, Plan, Traffic as PlanTraffic};
use crate::report::FlowReport;
use crate::sampler::{Sampler, Watched};
use crate::telemetry::Telemetry;
use crate::traffic::probe::Series;
use crate::traffic::tcp::Application;
use crate::traffic::udp::Datagrams;
use crate::traffic::{Flow, Traffic};
use dumbbell_net::packet::{Direction, FlowId, Reassembly};
use dumbbell_net::queue::QdiscSnapshot;
use dumbbell_net::time::Time;
use dumbbell_net::transport::Identity;
use dumbbell_net::transport::window_scale;
use dumbbell_plan::Waits;
use dumbbell_tc::tree::Change as TcChange;

/// Creates the world of a plan.
pub fn world(plan: &Plan) -> Result<World, Error> {
    checks::validate(plan)?;
    let flow_order = checks::by_name("flow", plan.flows.iter().map(|flow| flow.name.as_str()))?;
    let probe_order = checks::by_name("probe", plan.probes.iter().map(|probe| probe.name.as_str()))?;
    let mut net = net::build(plan, &pairs(plan, &flow_order, &probe_order))?;
    let watched = watch(plan, &mut net)?;
    let tap = plan.capture.map(|capture| tap(plan, capture, &mut net, &flow_order)).transpose()?;
    let flows: Vec<_> = flow_order.iter().enumerate().map(|(id, &index)| flow(plan, id, index)).collect();
    let series = |(id, &index): (usize, &usize)| Series::new(flow_id(id), &plan.probes[index]);
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
        samples_changes: plan.every_change,
        packet_trace: None,
        ended: None,
        event_queue: event_queue(plan, &starts, &probe_order),
        ends: ends(&net, &flows, &telemetry),
        reassembly: net.hosts.iter().map(|_| Reassembly::default()).collect(),
        net,
        instant: Instant::default(),
        packet_accounting: PacketAccounting::of(flows.len() + probes.len()),
        probe_names: probe_names(plan, &probe_order),
        starts,
        opens_at: Time::ZERO,
        waits: Waits::of(plan.flows.iter().map(|flow| flow.wait)),
        numbers: numbers(&flow_order),
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

/// Senders and receivers in order of ids.
fn pairs<'a>(plan: &'a Plan, flows: &[usize], probes: &[usize]) -> Vec<net::Pair<'a>> {
    let flows = flows.iter().map(|&index| {
        let flow = &plan.flows[index];
        (format!("flow '{}'", flow.name), flow.sender.as_str(), flow.receiver.as_str())
    });
    let probes = probes.iter().map(|&index| {
        let probe = &plan.probes[index];
        (format!("probe '{}'", probe.name), probe.sender.as_str(), probe.receiver.as_str())
    });
    flows.chain(probes).collect()
}

/// Finds the sampled qdiscs, and checks that changed qdiscs exist.
fn watch(plan: &Plan, net: &mut Net) -> Result<Vec<Watched>, Error> {
    checks::by_name("queue", plan.queues.iter().map(|queue| queue.name.as_str()))?;
    let mut watched = Vec::with_capacity(plan.queues.len());
    for (number, plan::Watched { name, at, handle, .. }) in plan.queues.iter().enumerate() {
        let object = format!("queue '{name}'");
        let device = device_at(net, *at, &object, plan)?;
        let target = &mut net.devices[device as usize];
        let path = target.queue.as_ref().and_then(|queue| queue.find_path(handle));
        let path = path.ok_or(Error::NoHandle { object, handle: handle.clone() })?;
        target.watched.push(rank(number));
        watched.push(Watched { device, path, last: QdiscSnapshot::default() });
    }
    check_changes(plan, net)?;
    Ok(watched)
}

fn check_changes(plan: &Plan, net: &Net) -> Result<(), Error> {
    for change in &plan.changes {
        let plan::What::Tc { device, change: what } = &change.what else { continue };
        let handle = match what {
            TcChange::Qdisc(node) => &node.handle,
            TcChange::Class { htb, .. } => htb,
        };
        let object = format!("the change at {} ns", change.at.as_nanos());
        let device = &net.devices[device_at(net, *device, &object, plan)? as usize];
        if device.queue.as_ref().and_then(|queue| queue.find_path(handle)).is_none() {
            return Err(Error::NoHandle { object, handle: handle.clone() });
        }
    }
    Ok(())
}

fn tap(plan: &Plan, capture: plan::Capture, net: &mut Net, order: &[usize]) -> Result<Tap, Error> {
    // Departures and arrivals of the device, as tcpdump on it shows them; arrivals leave the link's other end.
    for side in [plan::LinkSide::Left, plan::LinkSide::Right] {
        let device = device_at(net, plan::End { side, ..capture.at }, "the capture", plan)?;
        net.devices[device as usize].is_tapped = true;
    }
    let of_flow = |&index: &usize| match &plan.flows[index].traffic {
        PlanTraffic::Tcp(tcp) => {
            (tcp.sender.mss, [window_scale(&tcp.sender, false), window_scale(&tcp.receiver, true)])
        }
        PlanTraffic::Udp(_) => (0, [0; 2]),
    };
    let (mss, scales) = order.iter().map(of_flow).unzip();
    Ok(Tap::new(Senders { hosts: net.ends().to_vec(), mss, scales }))
}

fn device_at(net: &Net, at: plan::End, object: &str, plan: &Plan) -> Result<DeviceId, Error> {
    let missing = || Error::NoLink { object: object.into(), link: at.wire, links: plan.wires.len() };
    net.device_at(at).ok_or_else(missing)
}

fn flow(plan: &Plan, id: usize, index: usize) -> Flow {
    let planned = &plan.flows[index];
    let identity =
        Identity { flow: flow_id(id), direction: Direction::Forward, port: planned.port, mark: planned.mark };
    let traffic = match &planned.traffic {
        PlanTraffic::Tcp(tcp) => Traffic::Tcp(Box::new(Application::new((**tcp).clone()))),
        PlanTraffic::Udp(udp) => Traffic::Udp(Box::new(Datagrams::new(identity, *udp))),
    };
    let report = FlowReport { name: planned.name.clone(), ..FlowReport::default() };
    Flow {
        position: rank(index),
        identity,
        traffic,
        start: planned.start,
        follows: planned.wait.after.is_some(),
        has_barrier: planned.wait.barrier.is_some(),
        stop: planned.stop,
        report,
    }
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

/// The series at each index of the plan.
fn probe_names(plan: &Plan, order: &[usize]) -> Vec<(String, usize)> {
    let mut names: Vec<_> = plan.probes.iter().map(|probe| (probe.name.clone(), 0)).collect();
    for (number, &index) in order.iter().enumerate() {
        names[index].1 = number;
    }
    names
}

/// The flow at each index of the plan.
fn numbers(order: &[usize]) -> Vec<u32> {
    let mut numbers = vec![0; order.len()];
    for (number, &index) in order.iter().enumerate() {
        numbers[index] = rank(number);
    }
    numbers
}

/// Start times of flows that wait for no others, the last first.
fn starts(plan: &Plan, order: &[usize]) -> Vec<(Time, u32)> {
    let at_once = (0..).zip(order).filter(|(_, index)| plan.flows[**index].wait.after.is_none());
    let mut starts: Vec<_> = at_once.map(|(id, &index)| (plan.flows[index].start, id)).collect();
    starts.sort_unstable_by(|one, other| other.cmp(one));
    starts
}

/// Initial events: only the first start and the first change, which schedule their successors.
fn event_queue(plan: &Plan, starts: &[(Time, u32)], probe_order: &[usize]) -> EventQueue {
    let mut event_queue = EventQueue::default();
    let last = Time::ZERO + plan.duration;
    if let Some(&(at, id)) = starts.last() {
        event_queue.add(at, Kind::Start, id);
    }
    if let Some(change) = plan.changes.first() {
        event_queue.add(change.at, Kind::Change, 0);
    }
    for (number, &index) in probe_order.iter().enumerate() {
        event_queue.add(plan.probes[index].start, Kind::Probe, rank(number));
    }
    event_queue.add((Time::ZERO + plan.sample).min(last), Kind::Sample, 0);
    event_queue.add(last, Kind::End, 0);
    event_queue
}

fn flow_id(number: usize) -> FlowId {
    FlowId(rank(number))
}
