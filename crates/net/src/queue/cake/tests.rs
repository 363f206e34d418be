//! cake as a whole: rate, fairness of flows and hosts, limits, and the ACK filter.

use crate::packet::{Body, Direction, Flags, Packet, Segment};
use crate::queue::tests::{Bench, ms, node, tcp};
use crate::queue::{AckFilter, CakeConfig, Config, DeviceContext, Framing, Isolation, Link, Queue, Verdict};
use crate::rate::Rate;
use crate::time::{Span, Time};
use alloc::boxed::Box;
use alloc::vec::Vec;

fn config(mbit: u64) -> CakeConfig {
    let rate = (mbit > 0).then(|| Rate::from_bits(mbit * 1_000_000));
    CakeConfig {
        rate,
        tin_rate: rate,
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        isolation: Isolation::TripleIsolate,
        ack_filter: AckFilter::None,
        link: Link { overhead: 0, raw: true, least: 0, framing: Framing::Plain },
        memory_limit: None,
        split_gso: true,
        ingress: false,
        mtu: 1_514,
    }
}

/// Flows 0 to 8 come from host 1, flow 9 from host 2; all go to host 7.
const ENDS: [[u32; 2]; 10] = [[1, 7], [1, 7], [1, 7], [1, 7], [1, 7], [1, 7], [1, 7], [1, 7], [1, 7], [2, 7]];

fn bench(config: CakeConfig) -> Bench {
    let node = node("1:", Config::Cake(Box::new(config)));
    let queue = Queue::with_device(&node, &DeviceContext { seed: 1, name: "bench", is_home: false, ends: &ENDS });
    Bench { queue, ..Bench::of(&node) }
}

/// Bytes of each flow in one second while `flows` are always backlogged.
fn shares(config: CakeConfig, flows: &[u32]) -> Vec<u64> {
    let mut bench = bench(config);
    for step in 0..1_000 {
        for flow in flows {
            bench.offer_many(tcp(*flow, 1_514, 1, 0), if step == 0 { 20 } else { 2 });
        }
        bench.run_until(ms(step + 1));
    }
    flows.iter().map(|flow| bench.bytes_of(|packet| packet.flow.0 == *flow)).collect()
}

#[test]
fn it_shapes_by_size_on_the_link() {
    let link = Link { overhead: 48, raw: false, least: 0, framing: Framing::Atm };
    for (link, bytes) in [(config(10).link, 1_514), (link, 33 * 53)] {
        let mut bench = bench(CakeConfig { link, ..config(10) });
        bench.offer_many(tcp(0, 1_514, 1, 0), 1_000);
        bench.run_until(ms(500));
        let expected = 625_000 / bytes + 1;
        assert!(bench.sent.len().abs_diff(expected) <= 1, "{} {expected}", bench.sent.len());
    }
}

#[test]
fn without_a_rate_packets_leave_immediately() {
    let mut bench = bench(config(0));
    bench.offer_many(tcp(0, 1_514, 1, 0), 100);
    bench.drain();
    assert_eq!(bench.sent.len(), 100);
}

#[test]
fn isolation_modes_share_among_hosts_and_flows() {
    let flows: Vec<u32> = (1..10).collect();
    for (isolation, of_ninth) in [(Isolation::DualSrchost, 2), (Isolation::Srchost, 2), (Isolation::Flows, 9)] {
        let shares = shares(CakeConfig { isolation, ..config(20) }, &flows);
        let all: u64 = shares.iter().sum();
        let share = shares[8] * of_ninth;
        assert!(share.abs_diff(all) * 10 < all, "{isolation:?}: {shares:?}");
    }
    // All nine are equal at their one receiver; where both ends count, the busier host decides.
    for isolation in [Isolation::DualDsthost, Isolation::TripleIsolate] {
        let alike = shares(CakeConfig { isolation, ..config(20) }, &flows);
        assert!(alike.iter().all(|share| share.abs_diff(alike[0]) * 10 < alike[0]), "{alike:?}");
    }
}

#[test]
fn flowblind_uses_one_queue() {
    let mut bench = bench(CakeConfig { isolation: Isolation::Flowblind, ..config(0) });
    let order = [1, 2, 2, 9, 1, 9];
    bench.offer_all(order.map(|flow| tcp(flow, 1_514, 1, 0)));
    bench.drain();
    assert_eq!(bench.sent.iter().map(|(_, packet)| packet.flow.0).collect::<Vec<_>>(), order);
}

#[test]
fn a_sparse_flow_goes_first() {
    let mut bench = bench(config(10));
    bench.offer_many(tcp(1, 1_514, 1, 0), 50);
    bench.run_until(ms(20));
    let before = bench.sent.len();
    bench.offer(tcp(2, 66, 1, 0));
    bench.run_until(ms(22));
    assert_eq!(bench.sent[before].1.flow.0, 2);
}

#[test]
fn a_standing_queue_shrinks_but_never_empties() {
    let mut bench = bench(config(10));
    for step in 0..2_000 {
        bench.offer_many(tcp(1, 1_514, 1, 0), 1 + usize::from(step % 2 == 0));
        bench.run_until(ms(step + 1));
    }
    assert!(bench.dropped.len() > 100, "{}", bench.dropped.len());
    let sent = u64::try_from(bench.sent.len()).unwrap() * 1_514 * 8;
    assert!(sent.abs_diff(20_000_000) < 200_000, "the link was busy: {sent}");
}

#[test]
fn over_the_memory_limit_the_longest_queue_drops_its_head() {
    let mut bench = bench(CakeConfig { memory_limit: Some(10 * (1_448 + 960)), ..config(10) });
    bench.offer_many(tcp(1, 1_514, 1, 0), 8);
    bench.offer_many(tcp(2, 1_514, 1, 0), 2);
    assert!(bench.dropped.is_empty());
    assert_eq!(bench.offer(tcp(2, 1_514, 1, 0)), Verdict::Queued, "another queue dropped a packet");
    assert_eq!(bench.offer(tcp(1, 1_514, 1, 0)), Verdict::Congested, "its own queue dropped a packet");
    assert!(bench.dropped.iter().all(|packet| packet.flow.0 == 1));
}

#[test]
fn super_packets_are_split_unless_disabled() {
    for (split_gso, packets) in [(true, 3), (false, 1)] {
        let mut bench = bench(CakeConfig { split_gso, ..config(10) });
        bench.offer(tcp(1, 3 * 1_514, 3, 0));
        assert_eq!(bench.queue.backlog().packets, packets);
        bench.run_until(ms(10));
        assert_eq!(bench.counters().sent_packets, 3);
    }
}

#[test]
fn the_ack_filter_keeps_the_newest_acks() {
    let ack = |number| {
        let flags = Flags { ack: true, ..Flags::default() };
        let body = Body::Tcp(Segment { ack: number, flags, ..Segment::default() });
        Packet { direction: Direction::Backward, body, ..tcp(1, 66, 1, 0) }
    };
    let mut bench = bench(CakeConfig { ack_filter: AckFilter::Filter, ..config(1) });
    bench.offer_all((1..=20).map(ack));
    assert_eq!((bench.dropped.len(), bench.queue.backlog().packets), (18, 2));
    bench.run_until(Time::ZERO + Span::from_secs(1));
    let left = bench.sent.last().map(|(_, packet)| if let Body::Tcp(segment) = packet.body { segment.ack } else { 0 });
    assert_eq!(left, Some(20));
}

#[test]
fn ingress_mode_counts_dropped_packets() {
    let sent = |ingress| {
        let mut bench = bench(CakeConfig { ingress, ..config(10) });
        for step in 0..2_000 {
            bench.offer_many(tcp(1, 1_514, 1, 0), 1 + usize::from(step % 2 == 0));
            bench.run_until(ms(step + 1));
        }
        (bench.sent.len(), bench.dropped.len())
    };
    let ((plain, _), (counted, dropped)) = (sent(false), sent(true));
    assert!(counted < plain && counted + dropped > plain - 20, "{plain} {counted} {dropped}");
}
