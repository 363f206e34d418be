//! Fairness, sparse flows, and drops over the limits.

use crate::packet::Packet;
use crate::queue::config::{CodelConfig, FqCodelConfig};
use crate::queue::flow_hash::FlowHash;
use crate::queue::tests::{Bench, ms, tcp};
use crate::queue::{Config, Verdict};
use crate::rng::Rng;
use crate::time::Span;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

fn config() -> FqCodelConfig {
    let codel = CodelConfig {
        limit: 0,
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        ecn: true,
        ce_threshold: None,
        ce_selector: None,
        mtu: 1_514,
    };
    FqCodelConfig { limit: 10_240, flows: 1_024, quantum: 1_514, memory_limit: 32 << 20, drop_batch: 64, codel }
}

fn bench(config: FqCodelConfig) -> Bench {
    Bench::new(Config::FqCodel(config))
}

fn flows(bench: &Bench) -> Vec<u32> {
    bench.sent.iter().map(|(_, packet)| packet.flow.0).collect()
}

#[test]
fn flows_alternate_whatever_they_send() {
    let mut bench = bench(config());
    bench.offer_many(tcp(1, 1_514, 1, 0), 90);
    bench.offer_many(tcp(2, 1_514, 1, 0), 10);
    bench.drain();
    let flows = flows(&bench);
    assert_eq!(flows[..20].iter().filter(|flow| **flow == 2).count(), 10);
    assert_eq!(flows[20..], [1; 80]);
}

#[test]
fn a_quantum_counts_bytes_not_packets() {
    let mut bench = bench(config());
    bench.offer_many(tcp(1, 1_514, 1, 0), 100);
    bench.offer_many(tcp(2, 151, 1, 0), 1_000);
    for _ in 0..550 {
        let left = bench.take().expect("there are enough");
        bench.sent.push((bench.now, left));
    }
    let small = bench.bytes_of(|packet| packet.flow.0 == 2);
    let large = bench.bytes_of(|packet| packet.flow.0 == 1);
    assert!(small.abs_diff(large) < 3_000, "{small} {large}");
}

#[test]
fn a_new_flow_is_served_first() {
    let mut bench = bench(config());
    bench.offer_many(tcp(1, 1_514, 1, 0), 50);
    for _ in 0..10 {
        bench.take();
    }
    bench.offer(tcp(2, 66, 1, 0));
    assert_eq!(bench.take().map(|packet| packet.flow.0), Some(2));
}

#[test]
fn over_the_limit_the_largest_flow_drops_half_up_to_a_batch() {
    let mut bench = bench(FqCodelConfig { limit: 100, ..config() });
    bench.offer_many(tcp(1, 1_514, 1, 0), 90);
    bench.offer_many(tcp(2, 1_514, 1, 0), 10);
    assert_eq!(bench.offer(tcp(2, 1_514, 1, 0)), Verdict::Queued, "another flow dropped a packet");
    assert!(bench.dropped.iter().all(|packet| packet.flow.0 == 1));
    assert_eq!((bench.dropped.len(), bench.counters().drops), (45, 45));
    bench.offer_many(tcp(1, 1_514, 1, 0), 44);
    assert_eq!(bench.offer(tcp(1, 1_514, 1, 0)), Verdict::Congested, "its own flow dropped a packet");
}

#[test]
fn memory_is_limited_too() {
    // 1448 bytes of payload and 960 of overhead.
    let mut bench = bench(FqCodelConfig { memory_limit: 10 * (1_448 + 960), drop_batch: 1, ..config() });
    bench.offer_many(tcp(1, 1_514, 1, 0), 10);
    assert!(bench.dropped.is_empty());
    assert_eq!(bench.offer(tcp(1, 1_514, 1, 0)), Verdict::Congested);
    assert_eq!(bench.queue.backlog().packets, 10);
}

#[test]
fn each_flow_has_its_own_control_loop() {
    let mut bench = bench(config());
    bench.offer_many(tcp(1, 1_514, 1, 0), 2_000);
    for millis in 0..1_000 {
        bench.now = ms(millis);
        bench.offer(tcp(2, 1_514, 1, 0));
        bench.take();
        bench.take();
    }
    assert!(bench.dropped.len() > 10, "{}", bench.dropped.len());
    assert!(bench.dropped.iter().all(|packet| packet.flow.0 == 1), "the other flow is never queued");
}

#[test]
fn flows_collide_with_few_queues_but_not_with_many() {
    let collisions = |queues| {
        let mut bench = bench(FqCodelConfig { flows: queues, ..config() });
        (1..=8).for_each(|flow| bench.offer_many(tcp(flow, 1_514, 1, 0), 2));
        bench.drain();
        // With its own queue each flow sends one packet in the first round.
        let mut first: Vec<u32> = flows(&bench)[..8].to_vec();
        first.sort_unstable();
        first.dedup();
        8 - first.len()
    };
    assert_eq!((collisions(65_536), collisions(1) > 0), (0, true));
}

/// A timeout draws another hash: over many draws a flow is in most queues, while its socket's packets share one.
#[test]
fn a_timeout_moves_a_flow_to_another_queue() {
    let hash = FlowHash::new(&mut Rng::from_name(1, "hash"));
    let queue = |rehashes| hash.queue_of(&Packet { rehashes, ..tcp(1, 1_514, 1, 0) }, 1_024);
    let queues: BTreeSet<usize> = (0..100).map(queue).collect();
    assert!(queues.len() > 80, "{}", queues.len());
    assert!((0..100).all(|rehashes| {
        let packet = Packet { rehashes, ..tcp(1, 1_514, 1, 0) };
        hash.queue_of_addresses(&packet, 1_024) == hash.queue_of_addresses(&tcp(1, 1_514, 1, 0), 1_024)
    }));
}
