//! Groups of flows as single flows; draws Poisson arrivals and start jitter.

use super::building::Building;
use super::draws::Streams;
use super::names::free_name;
use crate::model::{Direction, Experiment, Flows, Transport};
use crate::sizes::Distribution;
use dumbbell_plan::stacks::Stack;
use dumbbell_plan::{Ecn, Ends, Exchange, Flow, Members, Probe, Wait};
use dumbbell_tc::quantity::float;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The most flows of a group with arrivals and no count.
pub(super) const MAX_ARRIVALS: u64 = 10_000;
/// Port of the first group.
pub(super) const FIRST_PORT: u16 = 5201;
const FIRST_PROBE_PORT: usize = 5100;
/// Port of the first QUIC flow.
const FIRST_QUIC_PORT: u16 = 4433;

/// Every flow of every group, in the order of the file. `ends` are receiver and its address by group number.
pub(super) fn flows(building: &Building<'_>, ends: &[(String, IpAddr)], draws: &mut Streams) -> Vec<Flow> {
    let marks: BTreeMap<u16, u32> =
        building.attachments.scripts.iter().flat_map(|script| script.marks.iter().copied()).collect();
    let (mut flows, mut names, mut members) = (Vec::new(), BTreeSet::new(), Vec::new());
    let path_ns = longest_rtt_ns(building.experiment);
    let mut quic_ports = QuicPorts(FIRST_QUIC_PORT);
    for (number, group) in building.experiment.flows.iter().enumerate() {
        let name = &building.group_names[number];
        let port = group.port.unwrap_or_else(|| FIRST_PORT.saturating_add(u16::try_from(number).unwrap_or(u16::MAX)));
        let (far, far_address) = &ends[number];
        let near = &building.senders[number];
        let (sender, receiver, address) = match group.direction {
            Direction::Forward => (&near[..], &far[..], *far_address),
            Direction::Reverse => (&far[..], &near[..], building.layout.right_of(near).left_address().into()),
        };
        let starts = starts(building, number, draws);
        let sizes = building.attachments.sizes.get(&number);
        let stream = format!("bytes/{name}");
        members.push(Members { first: flows.len(), count: starts.len() });
        for (position, start_ns) in (1..).zip(&starts) {
            // The second flow of a group may have the name of another group.
            let wanted = if starts.len() == 1 { name.clone() } else { format!("{name}-{position}") };
            let own = free_name(&wanted, |each| names.contains(each), 2);
            names.insert(own.clone());
            flows.push(Flow {
                name: own,
                group: name.clone(),
                transport: group.kind,
                stack: group.stack.clone(),
                sender: sender.to_owned(),
                receiver: receiver.to_owned(),
                address,
                port: if group.kind == Transport::Quic { quic_ports.next(group.port, position) } else { port },
                cc: group.cc.clone().or_else(|| stacks_default(group)),
                cc_parameters: group.cc_parameters.clone(),
                start_ns: *start_ns,
                wait: Wait::default(),
                stop_ns: group.stop,
                bytes: sizes.map_or(group.bytes, |sizes| Some(sizes.at(draws.share(&stream)))),
                on_off_ns: group.on_time.zip(group.off_time),
                exchange: exchange(group),
                sndbuf: group.sndbuf,
                rcvbuf: group.rcvbuf,
                prompt_reads: group.prompt_reads,
                pacing_rate: group.pacing_rate.map(|rate| rate / 8),
                mark: marks.get(&port).copied(),
                packet: (group.kind == Transport::Udp).then_some(group.payload),
                interval_ns: udp_interval_ns(group),
                ecn: group.ecn == Ecn::Classic && group.kind == Transport::Udp,
                ends: Ends::Both,
                from: None,
                rtt_ns: path_ns.saturating_add(group.access.as_ref().map_or(0, |access| access.impairment.delay)),
            });
        }
    }
    for (group, &own) in building.experiment.flows.iter().zip(&members) {
        let after = group.after.as_ref().and_then(|name| building.group_names.iter().position(|each| each == name));
        let wait = Wait { after: after.map(|number| members[number]), barrier: group.barrier.then_some(own) };
        flows[own.positions()].iter_mut().for_each(|flow| flow.wait = wait);
    }
    flows
}

/// The controller that the group's stack uses if none is named.
fn stacks_default(group: &Flows) -> Option<String> {
    Stack::named(group.stack.as_deref()?).map(|stack| stack.default_controller().to_owned())
}

/// Each QUIC flow has a server of its own, at a port of its own.
struct QuicPorts(u16);

impl QuicPorts {
    /// The port of a group's flow: counted from the group's, or the next that no other group without one has.
    fn next(&mut self, group: Option<u16>, position: u64) -> u16 {
        let offset = u16::try_from(position - 1).unwrap_or(u16::MAX);
        group.map_or_else(
            || {
                self.0 = self.0.saturating_add(1);
                self.0 - 1
            },
            |first| first.saturating_add(offset),
        )
    }
}

/// The longest RTT of the path; a change of the forward delay counts in full.
fn longest_rtt_ns(experiment: &Experiment) -> u64 {
    let (path, changes) = (&experiment.path, &experiment.changes);
    let rtt = changes.iter().filter_map(|change| change.rtt).fold(path.rtt, u64::max);
    let links = path.links.iter().map(|link| link.segment.impairment.delay);
    let delay = changes.iter().filter_map(|change| change.delay).max().unwrap_or(0);
    links.fold(rtt, u64::saturating_add).saturating_add(delay)
}

/// Time between two packets of a UDP flow.
fn udp_interval_ns(group: &Flows) -> Option<u64> {
    let interval = u64::from(group.payload) * 8_000_000_000 / group.rate?;
    (interval > 0).then_some(interval)
}

fn exchange(group: &Flows) -> Option<Exchange> {
    let (request, response) = group.request.zip(group.response)?;
    Some(Exchange { request, response, think_ns: group.think })
}

/// The probes, from this sender.
pub(super) fn probes(experiment: &Experiment, sender: &str, receiver: &str, address: IpAddr) -> Vec<Probe> {
    let probe = |(number, probe): (usize, &crate::model::Probe)| Probe {
        kind: probe.kind,
        sender: sender.into(),
        receiver: receiver.into(),
        address,
        port: u16::try_from(FIRST_PROBE_PORT + number).unwrap_or(u16::MAX),
        start_ns: probe.start,
        interval_ns: probe.interval,
        payload: probe.payload,
        ends: Ends::Both,
    };
    experiment.probes.iter().enumerate().map(probe).collect()
}

fn starts(building: &Building<'_>, number: usize, draws: &mut Streams) -> Vec<u64> {
    let group = &building.experiment.flows[number];
    let (name, duration_ns) = (&building.group_names[number], building.experiment.duration);
    let by_load = group.load.and_then(|load| arrivals_per_second(building, number, load));
    let Some(per_second) = group.arrivals.or(by_load).filter(|_| group.count > 0) else {
        return jittered_starts(group, name, draws);
    };
    let stream = format!("arrivals/{name}");
    let most = if group.count > 1 { group.count.into() } else { MAX_ARRIVALS };
    let (mut starts, mut time_ns) = (Vec::new(), group.start);
    for _ in 0..most {
        time_ns = time_ns.saturating_add(draws.interval_ns(&stream, per_second));
        if time_ns >= group.stop.unwrap_or(duration_ns) {
            break;
        }
        starts.push(time_ns);
    }
    starts
}

/// Arrivals whose bytes take this share of the bottleneck's rate at time 0.
fn arrivals_per_second(building: &Building<'_>, number: usize, load: f64) -> Option<f64> {
    let sizes = building.attachments.sizes.get(&number).map(Distribution::mean);
    let bytes = sizes.or_else(|| building.experiment.flows[number].bytes.map(float))?;
    Some(load * float(building.bottleneck_rate()?) / 8.0 / bytes)
}

fn jittered_starts(group: &Flows, name: &str, draws: &mut Streams) -> Vec<u64> {
    let stream = format!("start/{name}");
    let start = |position: u32| {
        let start = group.start.saturating_add(group.stagger.saturating_mul(position.into()));
        let jitter = if group.start_jitter > 0 { draws.uniform(&stream, group.start_jitter) } else { 0 };
        start.saturating_add(jitter)
    };
    (0..group.count).map(start).collect()
}
