//! From a world that is over to tables and totals.

use super::{Arrival, World};
use crate::ends::End;
use crate::report::{Cost, DeviceDrops, FlowReport, Outcome, QueueReport, Report};
use crate::table::Table;
use crate::traffic::{Flow, probe};
use dumbbell_core::packet::Packet;
use dumbbell_core::transport::Endpoint;

/// Everything that a run leaves.
pub fn outcome(mut world: World) -> Outcome {
    let totals = if world.ended.is_some() { std::mem::take(&mut world.totals) } else { queue_reports(&world) };
    let report = Report {
        seed: world.seed,
        duration_ns: world.ended.unwrap_or(world.now).as_nanos(),
        flows: flow_reports(&mut world),
        queues: totals,
        drops: drops(&world),
        cost: cost(&world),
    };
    let probes = probe_table(&world);
    let capture = world.tap.take().and_then(crate::trace::pcap::Tap::into_bytes);
    let journeys = world.journeys.take().map(|journeys| journeys.told());
    let (flows, queues) = world.sampler.into_tables();
    Outcome { flows, queues, probes, report, capture, journeys }
}

/// What the watched disciplines show.
pub fn queue_reports(world: &World) -> Vec<QueueReport> {
    let names = world.sampler.queue_names();
    let report = |(look, name): (dumbbell_core::queue::Look, &String)| QueueReport {
        name: name.clone(),
        kind: look.kind,
        sent_bytes: look.counters.sent_bytes,
        sent_packets: look.counters.sent_packets,
        drops: look.counters.drops,
        marks: look.marks.then_some(look.counters.marks),
        overlimits: look.counters.overlimits,
        backlog_bytes: look.backlog.bytes,
        backlog_packets: look.backlog.packets,
    };
    world.sampler.looks(&world.net).zip(names).map(report).collect()
}

/// In the order of the plan.
fn flow_reports(world: &mut World) -> Vec<FlowReport> {
    let mut reports: Vec<_> = world.flows.iter_mut().enumerate().collect();
    reports.sort_unstable_by_key(|(_, flow)| flow.position);
    reports
        .into_iter()
        .map(|(number, flow)| {
            let dropped_packets = world.census.account(number).dropped;
            FlowReport { dropped_packets, ..std::mem::take(&mut flow.report) }
        })
        .collect()
}

fn drops(world: &World) -> Vec<DeviceDrops> {
    let name = |host: u32| world.net.hosts[host as usize].clone();
    let dropping = world.net.devices.iter().filter(|device| device.tally.dropped > 0);
    dropping
        .map(|device| DeviceDrops { host: name(device.host), peer: name(device.peer), packets: device.tally.dropped })
        .collect()
}

/// What a world holds beside packets and samples.
pub fn memory_bytes(world: &World) -> usize {
    let alive = world.ends.iter().flatten().filter(|end| end.endpoint.is_some()).count();
    world.agenda.capacity_bytes()
        + world.net.capacity_bytes()
        + (world.instant.backlog.capacity() + world.instant.spare.capacity()) * size_of::<Arrival>()
        + world.flows.capacity() * size_of::<Flow>()
        + world.ends.capacity() * size_of::<[End; 2]>()
        + alive * size_of::<Endpoint>()
        + world.census.capacity_bytes()
        + world.probes.iter().map(probe::Series::capacity_bytes).sum::<usize>()
}

fn cost(world: &World) -> Cost {
    let census = &world.census;
    Cost {
        events: world.events,
        data_packets: census.data_packets,
        packets: census.sent,
        peak_packets: census.peak,
        memory_bytes: (memory_bytes(world) + world.sampler.capacity_bytes()) as u64
            + census.peak * size_of::<Packet>() as u64,
    }
}

fn probe_table(world: &World) -> Table {
    let series: Vec<_> = world.probe_names.iter().map(|&(_, place)| &world.probes[place]).collect();
    probe::table(&series, world.probe_names.iter().map(|(name, _)| name.clone()).collect())
}
