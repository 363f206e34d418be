//! A steady connection allocates nothing: buffers grow at the start, then packets only move.
//!
//! In its own test binary, because the allocator counts every test that runs at the same time.

mod common;

use common::{bottleneck, chain, left, millis, netem, right, root, tcp};
use dumbbell_net::queue::Config;
use dumbbell_net::time::Span;
use dumbbell_sim::World;
use dumbbell_sim::plan::{Plan, Work};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static MEMORY: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Two flows of each kind over 80 Mbit/s and 13 ms with losses; sampled only at the end, because tables grow.
fn dumbbell() -> Plan {
    let mut plan = chain(&["sender", "router", "receiver"], 10_000);
    let back = Config::Netem(Box::new(netem(Span::from_millis(13))));
    plan.devices = vec![bottleneck(left(1), 80, 150), root(right(0), "1:", back)];
    for (name, cc) in [("a", "bbr"), ("b", "bbr"), ("c", "cubic"), ("d", "reno")] {
        plan.flows.push(tcp(&plan, name, cc, Work::Bulk));
    }
    plan.sample = plan.duration;
    plan
}

#[test]
fn a_steady_run_allocates_nothing_per_packet() {
    let mut world = World::new(&dumbbell()).expect("a good plan");
    let before = world.run(millis(3_000)).expect("a good run").data_packets;
    let region = Region::new(MEMORY);
    let after = world.run(millis(9_000)).expect("a good run").data_packets;
    let change = region.change();
    assert!(after - before > 35_000, "only {} packets", after - before);
    let calls = change.allocations + change.reallocations;
    assert!(calls <= MAX_CALLS, "{calls} calls to the allocator: {change:?}");
}

/// A ring buffer that reaches a new maximum grows once more: six and four times in 40 s of the default experiment.
const MAX_CALLS: usize = 30;
