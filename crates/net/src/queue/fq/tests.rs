//! Departure times, shares, rates, and the fast path.

use super::*;
use crate::queue::tests::{Bench, ms, node, tcp};
use crate::queue::{Config, DeviceContext, Queue};
use alloc::boxed::Box;

fn config() -> FqConfig {
    FqConfig {
        limit: 10_000,
        flow_limit: 100,
        quantum: 3_028,
        initial_quantum: 15_140,
        pacing: true,
        max_rate: None,
        refill_delay: Span::from_millis(40),
        low_rate_threshold: Rate::from_bits(550_000),
        orphan_mask: 1_023,
        ce_threshold: None,
        timer_slack: Span::from_micros(10),
        horizon: Span::from_secs(10),
        horizon_drop: true,
    }
}

/// An fq on the host of its packets' sockets, or on another host.
fn bench(config: FqConfig, is_home: bool) -> Bench {
    let node = node("1:", Config::Fq(Box::new(config)));
    let queue = Queue::with_device(&node, &DeviceContext { seed: 1, name: "bench", is_home, ends: &[] });
    Bench { queue, ..Bench::of(&node) }
}

fn departing(flow: u32, at: Time) -> Packet {
    let mut packet = tcp(flow, 1_514, 1, 0);
    if let Body::Tcp(segment) = &mut packet.body {
        segment.sent_at = at;
    }
    packet
}

fn flows(bench: &Bench) -> Vec<u32> {
    bench.sent.iter().map(|(_, packet)| packet.flow.0).collect()
}

#[test]
fn a_packet_leaves_at_its_departure_time_plus_slack() {
    let mut bench = bench(config(), true);
    bench.offer_all([departing(1, ms(3)), departing(1, ms(5)), departing(2, ms(4))]);
    bench.run_until(ms(10));
    assert_eq!(flows(&bench), [1, 2, 1]);
    assert_eq!(bench.times_ns(), [3_010_000, 4_010_000, 5_010_000], "the timer has ten microseconds of slack");
}

#[test]
fn an_arrival_releases_expired_packets_before_the_timer() {
    let mut bench = bench(config(), true);
    bench.offer(departing(1, ms(3)));
    assert!(matches!(bench.drain(), Next::At(_)));
    bench.now = ms(3);
    bench.offer(departing(2, ms(9)));
    bench.drain();
    assert_eq!(flows(&bench), [1]);
}

#[test]
fn forwarded_packets_ignore_departure_times_and_alternate() {
    let mut bench = bench(config(), false);
    (0..30).for_each(|_| bench.offer_all([departing(1, ms(50))]));
    (0..30).for_each(|_| bench.offer_all([departing(2, ms(50))]));
    assert!(matches!(bench.drain(), Next::Empty));
    let flows = flows(&bench);
    assert_eq!(flows[..8], [1; 8], "the first eight took the fast path");
    // Ten packets of each at first, then two at a time.
    assert_eq!(flows[8..28], [[1; 10], [2; 10]].concat());
    assert_eq!(flows[28..32], [1, 1, 2, 2]);
}

#[test]
fn flow_and_total_limits_apply() {
    let mut bench = bench(FqConfig { flow_limit: 5, limit: 8, ..config() }, true);
    (0..7).for_each(|_| bench.offer_all([departing(1, ms(50))]));
    assert_eq!(bench.dropped.len(), 2);
    (0..7).for_each(|_| bench.offer_all([departing(2, ms(50))]));
    assert_eq!((bench.dropped.len(), bench.queue.backlog().packets), (6, 8));
}

#[test]
fn packets_beyond_the_horizon_are_dropped_or_capped() {
    let horizon = Span::from_millis(20);
    let mut strict = bench(FqConfig { horizon, ..config() }, true);
    assert_eq!(strict.offer(departing(1, ms(21))), Verdict::Dropped);
    let mut kind = bench(FqConfig { horizon, horizon_drop: false, ..config() }, true);
    assert_eq!(kind.offer(departing(1, ms(100))), Verdict::Queued);
    kind.run_until(ms(30));
    assert_eq!(kind.times_ns(), [20_010_000]);
}

#[test]
fn maxrate_paces_packets_locally_and_quanta_when_forwarded() {
    let max_rate = Some(Rate::from_bits(12_112_000)); // One packet per millisecond.
    let mut home = bench(FqConfig { max_rate, ..config() }, true);
    (0..5).for_each(|_| home.offer_all([departing(1, Time::ZERO)]));
    home.run_until(ms(20));
    let gaps: Vec<u64> = home.times_ns().windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| gap.abs_diff(1_000_000) <= 20_000), "{gaps:?}");
    let mut other = bench(FqConfig { max_rate, ..config() }, false);
    (0..30).for_each(|_| other.offer_all([departing(1, Time::ZERO)]));
    other.run_until(ms(200));
    let at_once = other.sent.iter().filter(|(time, _)| *time == Time::ZERO).count();
    assert_eq!(at_once, 10, "its first quantum");
    let gap = other.times_ns()[29] - other.times_ns()[27];
    assert!(gap.abs_diff(2_000_000) <= 40_000, "{gap}");
}

#[test]
fn late_packets_count_as_marked_even_if_not_capable() {
    let mut bench = bench(FqConfig { ce_threshold: Some(Span::from_millis(1)), ..config() }, false);
    let filler = Packet { ecn: Ecn::Ect0, ..tcp(1, 1_514, 1, 0) };
    bench.offer_many(filler, 9);
    bench.offer(tcp(1, 1_514, 1, 0));
    bench.now = ms(2);
    bench.drain();
    assert_eq!(bench.counters().marks, 2, "eight of them took the fast path");
    assert_eq!(bench.sent.iter().filter(|(_, packet)| packet.ecn == Ecn::Ce).count(), 1);
}

#[test]
fn a_local_probe_has_its_own_queue() {
    let mut bench = bench(config(), true);
    (0..50).for_each(|_| bench.offer_all([departing(1, ms(5))]));
    let probe = Packet { body: Body::Probe { seq: 0, sent_at: Time::ZERO, turned_at: Time::ZERO }, ..tcp(1, 98, 1, 0) };
    bench.offer(probe);
    assert!(bench.take().is_some_and(|packet| packet.bytes == 98));
}

/// Linux lists a new flow in band 0 before it knows its band, and serves band 1 until its credit is used up. From then on
/// the flow is like others.
#[test]
fn a_new_flow_waits_for_the_credit_of_the_band_that_is_served() {
    let mut bench = bench(FqConfig { flow_limit: 1_000, ..config() }, false);
    bench.offer_all((0..20).map(|_| departing(1, ms(0))));
    bench.drain();
    let after = |bench: &Bench, number: usize| flows(bench)[number..].iter().position(|flow| *flow == 2);
    bench.offer_all((0..400).map(|_| departing(1, ms(0))));
    bench.offer(departing(2, ms(0)));
    bench.drain();
    // The first eight packets take the fast path, which uses no credit.
    assert_eq!(after(&bench, 20), Some(8 + (3_usize << 16).div_ceil(1_514)));
    bench.offer_all((0..20).map(|_| departing(1, ms(0))));
    bench.offer(departing(2, ms(0)));
    bench.drain();
    assert_eq!(after(&bench, 421), Some(8 + 2), "a quantum of the other flow first");
}
