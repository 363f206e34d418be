//! Turns a finished world into tables and totals.

use super::{Arrival, World};
use crate::ends::End;
use crate::report::{Cost, DeviceDrops, FlowReport, QueueReport, Report, RunResult};
use crate::traffic::{Flow, probe};
use dumbbell_net::packet::Packet;
use dumbbell_net::transport::Endpoint;
use dumbbell_table::Table;

/// The result of a run.
pub fn outcome(mut world: World) -> RunResult {
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
    let capture = world.tap.take().and_then(crate::capture::pcap::Tap::into_bytes);
    let packet_trace = world.packet_trace.take().map(|packet_trace| packet_trace.finish());
    let [flows, queues, probes] = world.sampler.into_tables(probes);
    RunResult { flows, queues, probes, report, capture, packet_trace }
}

/// Current state of the watched qdiscs.
pub fn queue_reports(world: &World) -> Vec<QueueReport> {
    let names = world.sampler.queue_names();
    let report = |(snapshot, name): (dumbbell_net::queue::QdiscSnapshot, &String)| QueueReport {
        name: name.clone(),
        kind: snapshot.kind,
        sent_bytes: snapshot.counters.sent_bytes,
        sent_packets: snapshot.counters.sent_packets,
        drops: snapshot.counters.drops,
        marks: snapshot.marks.then_some(snapshot.counters.marks),
        overlimits: snapshot.counters.overlimits,
        backlog_bytes: snapshot.backlog.bytes,
        backlog_packets: snapshot.backlog.packets,
    };
    world.sampler.snapshots(&world.net).zip(names).map(report).collect()
}

/// Flow reports in the order of the plan.
fn flow_reports(world: &mut World) -> Vec<FlowReport> {
    let mut reports: Vec<_> = world.flows.iter_mut().enumerate().collect();
    reports.sort_unstable_by_key(|(_, flow)| flow.position);
    reports
        .into_iter()
        .map(|(number, flow)| {
            let dropped_packets = world.packet_accounting.account(number).dropped;
            FlowReport { dropped_packets, ..std::mem::take(&mut flow.report) }
        })
        .collect()
}

fn drops(world: &World) -> Vec<DeviceDrops> {
    let name = |host: u32| world.net.hosts[host as usize].clone();
    let dropping = world.net.devices.iter().filter(|device| device.counters.dropped > 0);
    dropping
        .map(|device| DeviceDrops {
            host: name(device.host),
            peer: name(device.peer),
            packets: device.counters.dropped,
        })
        .collect()
}

/// Memory of a world besides packets and samples.
pub fn memory_bytes(world: &World) -> usize {
    let in_flight = world.ends.iter().flatten().filter(|end| end.endpoint.is_some()).count();
    world.event_queue.capacity_bytes()
        + world.net.capacity_bytes()
        + (world.instant.backlog.capacity() + world.instant.spare.capacity()) * size_of::<Arrival>()
        + world.flows.capacity() * size_of::<Flow>()
        + world.ends.capacity() * size_of::<[End; 2]>()
        + in_flight * size_of::<Endpoint>()
        + world.packet_accounting.capacity_bytes()
        + world.probes.iter().map(probe::Series::capacity_bytes).sum::<usize>()
}

fn cost(world: &World) -> Cost {
    let packet_accounting = &world.packet_accounting;
    Cost {
        events: world.events,
        data_packets: packet_accounting.data_packets,
        packets: packet_accounting.sent,
        peak_packets: packet_accounting.peak,
        memory_bytes: (memory_bytes(world) + world.sampler.capacity_bytes()) as u64
            + packet_accounting.peak * size_of::<Packet>() as u64,
    }
}

fn probe_table(world: &World) -> Table {
    let series: Vec<_> = world.probe_names.iter().map(|&(_, index)| &world.probes[index]).collect();
    probe::table(&series, world.probe_names.iter().map(|(name, _)| name.clone()).collect())
}
