//! Time per data packet on a whole path: four hosts in a row, a delay in each direction, a bottleneck.
//!
//! `datagrams, plain` measures the world alone (devices without qdiscs); `datagrams` adds qdiscs; the others add TCP.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{bottleneck, chain, left, netem, right, root, tcp, udp};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dumbbell_net::queue::Config;
use dumbbell_net::time::{Span, Time};
use dumbbell_sim::World;
use dumbbell_sim::plan::{Plan, Work};

fn plain(millis: u64) -> Plan {
    chain(&["a-sender", "netem", "router", "z-receiver"], millis)
}

fn path(millis: u64, mbit: u64) -> Plan {
    let mut plan = plain(millis);
    let half = Config::Netem(Box::new(netem(Span::from_millis(5))));
    plan.devices =
        vec![root(left(1), "1:", half.clone()), bottleneck(left(2), mbit, 1_000), root(right(2), "1:", half)];
    plan
}

fn datagrams(mut plan: Plan, count: u64) -> Plan {
    for number in 0..count {
        plan.flows.push(udp(&plan, &format!("flow-{number}"), Span::from_micros(count * 10)));
    }
    plan
}

fn connections(mut plan: Plan, count: u64, cc: &str) -> Plan {
    for number in 0..count {
        plan.flows.push(tcp(&plan, &format!("flow-{number}"), cc, Work::Bulk));
    }
    plan
}

/// Runs the plan to its end; returns the number of data packets.
fn run(plan: &Plan) -> u64 {
    let mut world = World::new(plan).expect("the plan is valid");
    world.run(Time::NEVER).expect("the run succeeds");
    world.finish().report.cost.data_packets
}

fn worlds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("world");
    let plans = [
        ("datagrams, plain", datagrams(plain(1_000), 10)),
        ("datagrams", datagrams(path(1_000, 1_000), 10)),
        ("10 cubic, 1 Gbit/s", connections(path(2_000, 1_000), 10, "cubic")),
        ("1000 cubic, 10 Gbit/s", connections(path(300, 10_000), 1_000, "cubic")),
        ("10 bbr, 1 Gbit/s", connections(path(2_000, 1_000), 10, "bbr")),
    ];
    for (name, plan) in plans {
        group.throughput(Throughput::Elements(run(&plan)));
        group.bench_function(name, |bencher| bencher.iter(|| run(&plan)));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).without_plots();
    targets = worlds
}
criterion_main!(benches);
