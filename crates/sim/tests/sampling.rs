//! Contents and times of samples, and their nulls.

mod common;

use common::{bottleneck, chain, left, millis, probe, run, tcp, udp, watched};
use dumbbell_net::time::Span;
use dumbbell_sim::plan::{Plan, Work};
use dumbbell_sim::{Table, World};

/// Datagrams of 1,042 bytes every millisecond into 4 Mbit/s (twice the capacity) with a queue of 20 packets.
fn crowded() -> Plan {
    let mut plan = chain(&["a", "router", "z"], 250);
    plan.sample = Span::from_millis(50);
    plan.devices = vec![bottleneck(left(1), 4, 20)];
    plan.queues = vec![watched("bottleneck", left(1), "10:"), watched("bottleneck.shaper", left(1), "1:")];
    plan.flows.push(udp(&plan, "crowd", Span::from_millis(1)));
    plan.probes.push(probe(&plan, "ping-1", Span::from_micros(40_300)));
    plan
}

fn some(table: &Table, columns: &[&str]) -> String {
    let cells = |row| columns.iter().map(|&name| table.column(name).expect("a column").text(row)).collect::<Vec<_>>();
    (0..table.rows()).map(|row| cells(row).join(" ")).collect::<Vec<_>>().join("\n")
}

/// 4 Mbit/s are 479.8 datagrams per second, and the bucket passes one more at first.
#[test]
fn a_queue_fills_and_drops_the_excess() {
    let outcome = run(&crowded());
    let columns = ["time_ns", "queue", "kind", "backlog_packets", "sent_packets", "drops_packets", "marks_packets"];
    insta::assert_snapshot!(some(&outcome.queues, &columns));
}

#[test]
fn probes_are_queued_and_some_are_dropped() {
    let outcome = run(&crowded());
    insta::assert_snapshot!(some(&outcome.probes, &["time_ns", "seq", "rtt_ns", "forward_ns", "backward_ns"]));
}

#[test]
fn a_udp_flow_is_sampled_while_it_sends() {
    let mut plan = crowded();
    (plan.flows[0].start, plan.flows[0].stop) = (millis(60), Some(millis(200)));
    let outcome = run(&plan);
    insta::assert_snapshot!(some(&outcome.flows, &["time_ns", "flow", "bytes_sent", "bytes_received", "cwnd_packets"]));
}

#[test]
fn the_last_sample_is_at_the_end_of_an_early_end() {
    let mut plan = chain(&["a", "z"], 10_000);
    plan.devices = vec![bottleneck(left(0), 8, 1_000)];
    plan.queues = vec![watched("bottleneck", left(0), "10:")];
    plan.ends_when_done = true;
    plan.flows.push(tcp(&plan, "one", "cubic", Work::Sized { bytes: 250_000 }));
    let outcome = run(&plan);
    let times = outcome.queues.column("time_ns").expect("a column");
    let last = times.text(outcome.queues.rows() - 1);
    assert_eq!(last, outcome.report.duration_ns.to_string());
    assert_eq!(times.text(0), "100000000");
    assert_eq!(outcome.queues.rows(), 3, "at 100 ms, at 200 ms, and at the end after 262 ms");
}

#[test]
fn every_change_of_a_queue_is_a_row_if_enabled() {
    let mut plan = crowded();
    plan.every_change = true;
    let outcome = run(&plan);
    let packets = outcome.queues.column("backlog_packets").expect("a column");
    let names = outcome.queues.column("queue").expect("a column");
    let seen: Vec<i64> = (0..outcome.queues.rows())
        .filter(|&row| names.text(row) == "bottleneck")
        .map(|row| packets.text(row).parse().expect("a number"))
        .collect();
    assert!(seen.len() > 300, "{} rows", seen.len());
    assert!(seen.windows(2).all(|pair| (pair[0] - pair[1]).abs() <= 1), "no change is missed: {seen:?}");
}

#[test]
fn every_change_of_a_flow_is_a_row_if_enabled() {
    let mut plan = chain(&["a", "z"], 500);
    plan.devices = vec![bottleneck(left(0), 8, 100)];
    plan.flows.push(tcp(&plan, "one", "cubic", Work::Bulk));
    let samples = run(&plan).flows.rows();
    plan.every_change = true;
    let outcome = run(&plan);
    assert_eq!(samples, 5);
    let cwnd = outcome.flows.column("cwnd_packets").expect("a column");
    let windows: Vec<i64> = (0..outcome.flows.rows()).map(|row| cwnd.text(row).parse().expect("a number")).collect();
    assert!(windows.len() > 100, "{} rows", windows.len());
    // Without delay ACKs wait for the program that writes, and count as one.
    let jumps = windows.windows(2).filter(|pair| (pair[1] - pair[0]).abs() > 3).count();
    assert!(jumps <= 1, "slow start by ones and twos: {windows:?}");
}

#[test]
fn a_world_is_send() {
    let mut world = World::new(&crowded()).expect("a good plan");
    let outcome = std::thread::spawn(move || world.run(millis(100)).map(|_| world.finish())).join();
    assert_eq!(outcome.expect("no panic").expect("a good run").report.duration_ns, 100_000_000);
}
