//! drr: shares by quantum, unmatched packets, and classes that become active again.

use super::super::tests::{Bench, node, packet};
use super::super::{Config, DrrClass, DrrConfig, Filter, Next, Rule, Verdict};
use crate::packet::Packet;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

fn config(quanta: [u32; 2]) -> DrrConfig {
    let rule = |port, minor| Rule { filter: Filter::Port { port, minor }, police: None };
    DrrConfig {
        classes: vec![
            DrrClass { minor: 1, quantum: quanta[0], leaf: None },
            DrrClass { minor: 2, quantum: quanta[1], leaf: Some(node("20:", Config::Pfifo { limit: 400 })) },
        ],
        rules: vec![rule(1, 1), rule(2, 2), rule(3, 7)],
        class_limit: 400,
    }
}

fn to_port(port: u16, bytes: u32) -> Packet {
    Packet { port, ..packet(bytes) }
}

#[test]
fn shares_follow_quanta_for_any_packet_size() {
    let mut bench = Bench::new(Config::Drr(Box::new(config([1_500, 3_000]))));
    bench.offer_many(to_port(1, 300), 400);
    bench.offer_many(to_port(2, 1_500), 200);
    while bench.bytes_of(|packet| packet.port == 1) < 90_000 {
        let now = bench.now;
        let packet = bench.take().expect("a packet is queued");
        bench.sent.push((now, packet));
    }
    let other = bench.bytes_of(|packet| packet.port == 2);
    assert!((177_000..=183_000).contains(&other), "{other}");
}

#[test]
fn unmatched_packets_are_dropped_without_notice() {
    let mut bench = Bench::new(Config::Drr(Box::new(config([1_500, 1_500]))));
    assert_eq!([3, 4].map(|port| bench.offer(to_port(port, 100))), [Verdict::Queued; 2]);
    assert_eq!((bench.dropped.len(), bench.counters().drops), (2, 2));
    assert!(matches!(bench.drain(), Next::Empty));
}

#[test]
fn a_reactivated_class_starts_with_one_quantum() {
    let mut bench = Bench::new(Config::Drr(Box::new(config([500, 500]))));
    bench.offer(to_port(1, 1_400));
    assert!(matches!(bench.drain(), Next::Empty));
    bench.offer(to_port(1, 1_400));
    bench.offer_many(to_port(2, 500), 3);
    bench.sent.clear();
    bench.drain();
    let ports: Vec<u16> = bench.sent.iter().map(|(_, packet)| packet.port).collect();
    assert_eq!(ports, [2, 2, 1, 2], "1400 bytes take three quanta");
}
