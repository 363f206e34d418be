//! Telemetry from links to senders.

mod common;

use common::{bottleneck, chain, left, netem, right, root, run, tcp, watched};
use dumbbell_net::cc::{Parameters, Setting};
use dumbbell_net::queue::Config;
use dumbbell_net::time::Span;
use dumbbell_sim::World;
use dumbbell_sim::plan::{Plan, Traffic, Work};

/// One HPCC flow over two links, 10 Gbit/s then 1 Gbit/s, and 100 us back.
fn two_links() -> Plan {
    let mut plan = chain(&["a", "b", "c", "z"], 40);
    for (wire, mbit) in [(1, 10_000), (2, 1_000)] {
        let mut link = bottleneck(left(wire), mbit, 10_000);
        link.telemetry = true;
        plan.devices.push(link);
    }
    plan.devices.push(root(right(2), "1:", Config::Netem(Box::new(netem(Span::from_micros(100))))));
    plan.sample = Span::from_micros(10);
    plan.queues.push(watched("bottleneck", left(2), "10:"));
    let mut flow = tcp(&plan, "hpcc-1", "hpcc", Work::Bulk);
    if let Traffic::Tcp(tcp) = &mut flow.traffic {
        tcp.parameters = Parameters::of([("base_rtt".into(), Setting::Number(115_000))]);
    }
    plan.flows.push(flow);
    plan
}

#[test]
fn a_flow_uses_95_per_cent_of_its_slowest_link() {
    let outcome = run(&two_links());
    let wire_bytes = outcome.report.flows[0].bytes_received * 1_514 / 1_448;
    let permille = wire_bytes * 1_000 / (125_000_000 * 40 / 1_000);
    assert!((930..=960).contains(&permille), "{permille} of 1000");
    assert_eq!(outcome.report.flows[0].retransmits, 0);
}

#[test]
fn stamps_are_dropped_with_their_packets() {
    let mut plan = two_links();
    plan.devices[1] = bottleneck(left(2), 1_000, 5);
    plan.devices[1].telemetry = true;
    let mut other = tcp(&plan, "cubic-1", "cubic", Work::Bulk);
    other.start = common::millis(5);
    plan.flows.push(other);
    let outcome = run(&plan);
    assert!(outcome.report.flows.iter().all(|flow| flow.bytes_received > 100_000), "{:?}", outcome.report.flows);
}

#[test]
fn a_plan_without_a_stamping_link_is_refused() {
    let mut plan = two_links();
    for device in &mut plan.devices {
        device.telemetry = false;
    }
    let refusal = World::new(&plan).expect_err("no link stamps").to_string();
    assert!(refusal.contains("hpcc-1") && refusal.contains("telemetry = true"), "{refusal}");
}

#[test]
fn a_device_without_a_rate_cannot_stamp() {
    let mut plan = two_links();
    plan.devices[2].telemetry = true;
    let refusal = World::new(&plan).expect_err("a netem that only delays has no rate").to_string();
    assert!(refusal.contains("no rate"), "{refusal}");
}

#[test]
fn stamping_does_not_affect_other_flows() {
    let mut plan = two_links();
    plan.flows[0] = tcp(&plan, "cubic-1", "cubic", Work::Bulk);
    let stamped = run(&plan);
    for device in &mut plan.devices {
        device.telemetry = false;
    }
    assert_eq!(stamped.flows.text(), run(&plan).flows.text());
}
