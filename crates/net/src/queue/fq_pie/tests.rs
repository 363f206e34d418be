//! `fq_pie`: flows alternate, and each has its own drop probability.

use super::super::pie::tests::config as pie;
use super::super::tests::{Bench, ms, tcp};
use super::super::{Config, FqPieConfig, Verdict};
use crate::packet::Packet;

fn config() -> FqPieConfig {
    FqPieConfig { limit: 10_240, flows: 1_024, quantum: 1_514, ecn_prob: 10, pie: pie() }
}

fn flow_of(packet: &Packet) -> u32 {
    packet.flow.0
}

#[test]
fn flows_take_turns() {
    let mut bench = Bench::new(Config::FqPie(config()));
    bench.offer_many(tcp(1, 1_514, 1, 0), 20);
    bench.offer_many(tcp(2, 1_514, 1, 0), 5);
    let first: alloc::vec::Vec<u32> = (0..10).filter_map(|_| bench.take()).map(|packet| flow_of(&packet)).collect();
    assert_eq!(first.iter().filter(|flow| **flow == 2).count(), 5, "{first:?}");
}

#[test]
fn only_the_overloading_flow_is_dropped_from() {
    let mut bench = Bench::new(Config::FqPie(config()));
    for step in 0..3_000 {
        bench.now = ms(step * 10);
        bench.offer_many(tcp(1, 1_514, 1, 0), 20);
        bench.offer(tcp(2, 1_514, 1, 0));
        (0..10).for_each(|_| {
            bench.take();
        });
    }
    assert!(bench.dropped.len() > 10_000, "{}", bench.dropped.len());
    assert_eq!(bench.dropped.iter().filter(|packet| flow_of(packet) == 2).count(), 0);
}

#[test]
fn a_full_queue_reports_congestion_to_the_sender() {
    let mut bench = Bench::new(Config::FqPie(FqPieConfig { limit: 1, ..config() }));
    assert_eq!(bench.offer(tcp(1, 100, 1, 0)), Verdict::Queued);
    assert_eq!(bench.offer(tcp(1, 100, 1, 1)), Verdict::Congested);
}

#[test]
fn the_timer_visits_all_flows_over_several_jiffies() {
    let many = FqPieConfig { flows: 5_000, ..config() };
    let mut bench = Bench::new(Config::FqPie(many));
    for step in 0..3_000 {
        bench.now = ms(step * 10);
        (1..=8).for_each(|flow| {
            bench.offer_many(tcp(flow, 1_514, 1, 0), 2);
        });
        (0..10).for_each(|_| {
            bench.take();
        });
    }
    for flow in 1..=8 {
        let dropped = bench.dropped.iter().filter(|packet| flow_of(packet) == flow).count();
        assert!(dropped > 500, "{dropped} of flow {flow}");
    }
}
