//! sfb: probabilities of bins, limits, inelastic flows, rehashing and filters.

use super::super::tests::{Bench, ms, node, packet, tcp};
use super::super::{Config, Filter, Next, Rule, Verdict};
use super::SfbConfig;
use crate::packet::{Ecn, Packet};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

fn config() -> SfbConfig {
    SfbConfig {
        limit: 1_000,
        max: 25,
        target: 20,
        increment: 33,
        decrement: 3,
        rehash: 0,
        warmup: 0,
        penalty_rate: 10,
        penalty_burst: 20,
        rules: Vec::new(),
    }
}

fn bench(config: SfbConfig) -> Bench {
    Bench::new(Config::Sfb(Box::new(config)))
}

/// Holds the queue at `standing` packets while `count` more arrive; returns how many were refused.
fn refused(bench: &mut Bench, packet: Packet, standing: u32, count: u32) -> u32 {
    let mut refused = 0;
    for _ in 0..count {
        refused += u32::from(bench.offer(packet) != Verdict::Queued);
        while bench.queue.backlog().packets > standing {
            bench.take();
        }
    }
    refused
}

#[test]
fn a_flow_has_at_most_max_packets_and_all_flows_have_limit() {
    let mut one = bench(config());
    one.offer_many(packet(100), 60);
    assert_eq!((one.queue.backlog().packets, one.counters().overlimits), (25, 35));
    let mut many = bench(SfbConfig { limit: 100, ..config() });
    many.offer_all((0..400).map(|flow| tcp(flow, 100, 1, 0)));
    assert_eq!((many.queue.backlog().packets, many.dropped.len()), (100, 300));
}

#[test]
fn only_the_flow_that_fills_its_bins_is_selected() {
    let mut bench = bench(SfbConfig { max: 100, increment: 655, ..config() });
    // After 20 arrivals the bins are at the target; after 70 more the probability is 70 %: some 25 were selected.
    let early = refused(&mut bench, packet(100), 40, 90);
    assert!((15..35).contains(&early), "{early}");
    assert_eq!(refused(&mut bench, tcp(7, 100, 1, 0), 41, 20), 0, "its bins are below the target");
}

#[test]
fn below_a_half_capable_packets_are_marked_and_above_some_are_dropped() {
    let ect = Packet { ecn: Ecn::Ect0, ..packet(100) };
    let mut low = bench(SfbConfig { max: 100, increment: 300, ..config() });
    assert_eq!(refused(&mut low, ect, 30, 100), 0, "at most 300 x 80 of 65535");
    assert!(low.counters().marks > 5 && low.counters().drops == 0);
    let mut high = bench(SfbConfig { max: 100, increment: 600, ..config() });
    let dropped = refused(&mut high, ect, 30, 120);
    assert!(dropped > 5 && high.counters().marks > 10, "{dropped} {:?}", high.counters());
}

#[test]
fn an_inelastic_flow_gets_the_penalty_rate() {
    let mut bench = bench(SfbConfig { max: 100, increment: 65_535, ..config() });
    // 21 fill the bins to the target, 20 more pass by the burst.
    let before = refused(&mut bench, packet(100), 30, 60);
    assert_eq!(before, 20);
    bench.now = ms(1_000);
    assert_eq!(refused(&mut bench, packet(100), 30, 60), 50, "10 packets per second");
    assert_eq!(bench.counters().overlimits, 70);
}

#[test]
fn an_empty_bin_lowers_its_probability() {
    let mut bench = bench(SfbConfig { max: 100, increment: 65_535, decrement: 1_000, penalty_rate: 0, ..config() });
    assert_eq!(refused(&mut bench, packet(100), 30, 60), 40);
    bench.drain();
    // After 66 arrivals at an empty queue the probability is 0.
    refused(&mut bench, packet(100), 0, 200);
    assert_eq!(refused(&mut bench, packet(100), 0, 50), 0);
}

#[test]
fn a_rehash_moves_flows_to_empty_bins_and_loses_nothing() {
    let rehashing = SfbConfig { rehash: 250, increment: 65_535, penalty_rate: 0, max: 100, ..config() };
    let mut bench = bench(rehashing.clone());
    assert!(refused(&mut bench, packet(100), 30, 60) > 0);
    bench.now = ms(1_004);
    let dropped = bench.dropped.len();
    bench.offer(packet(100));
    assert_eq!(bench.dropped.len(), dropped, "the other bins are empty");
    // With a warm-up the flow is inelastic in the next bins, too.
    let mut warm = self::bench(SfbConfig { warmup: 125, penalty_rate: 1_000_000, penalty_burst: 1_000, ..rehashing });
    refused(&mut warm, packet(100), 30, 60);
    warm.now = ms(600);
    refused(&mut warm, packet(100), 30, 60);
    warm.now = ms(1_004);
    let before = warm.counters().drops;
    warm.offer_many(packet(100), 69);
    assert_eq!(warm.counters().drops, before, "70 packets are less than max, and tokens remain");
    warm.offer_many(packet(100), 2);
    assert_eq!(warm.counters().drops, before + 1, "the packets from the warm-up count in the new bins");
    assert!(matches!(warm.drain(), Next::Empty));
    assert_eq!(warm.queue.backlog().packets, 0);
}

#[test]
fn with_filters_classes_replace_flows_and_unmatched_packets_are_dropped() {
    let rule = |port, minor| Rule { filter: Filter::Port { port, minor }, police: None };
    let mut bench = bench(SfbConfig { rules: vec![rule(1, 1), rule(2, 2)], ..config() });
    for flow in 0..60 {
        bench.offer(Packet { port: 1, ..tcp(flow, 100, 1, 0) });
    }
    assert_eq!(bench.queue.backlog().packets, 25, "all flows of the class share its bins");
    assert_eq!(bench.offer(Packet { port: 2, ..packet(100) }), Verdict::Queued);
    let dropped = bench.dropped.len();
    assert_eq!(bench.offer(Packet { port: 3, ..packet(100) }), Verdict::Queued);
    assert_eq!(bench.dropped.len(), dropped + 1);
}

#[test]
fn a_change_restarts_the_bins_and_keeps_packets() {
    let mut bench = bench(SfbConfig { max: 100, increment: 65_535, penalty_rate: 0, ..config() });
    assert!(refused(&mut bench, packet(100), 30, 60) > 0);
    let (standing, drops) = (bench.queue.backlog(), bench.counters().drops);
    bench.queue.change(&node("1:", Config::Sfb(Box::new(config())))).expect("it is a sfb");
    assert_eq!(bench.queue.backlog(), standing);
    bench.offer_many(packet(100), 25);
    assert_eq!(bench.counters().drops, drops, "the packets before the change count in no bin");
    assert!(matches!(bench.drain(), Next::Empty));
    assert_eq!(bench.queue.backlog().packets, 0);
}

#[test]
fn equal_seeds_give_equal_drops() {
    let run = || {
        let mut bench = bench(SfbConfig { max: 100, increment: 400, ..config() });
        refused(&mut bench, packet(100), 30, 300)
    };
    assert_eq!(run(), run());
}
