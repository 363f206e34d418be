//! ets: strict bands first, shares by quantum, unmatched packets, and changes.

use super::super::tests::{Bench, node, packet};
use super::super::{Config, Filter, Next, Rule, Verdict};
use super::EtsConfig;
use crate::packet::Packet;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// A strict band, then two that share 1 : 2; port n selects band n.
fn config() -> EtsConfig {
    let rule = |port| Rule { filter: Filter::Port { port, minor: port.into() }, police: None };
    EtsConfig {
        strict: 1,
        quanta: vec![1_514, 1_500, 3_000],
        bands: vec![None, Some(node("20:", Config::Pfifo { limit: 400 })), None],
        default: 2,
        rules: [1, 2, 3, 9].map(rule).to_vec(),
        band_limit: 400,
    }
}

fn bench(config: EtsConfig) -> Bench {
    Bench::new(Config::Ets(Box::new(config)))
}

fn to_port(port: u16, bytes: u32) -> Packet {
    Packet { port, ..packet(bytes) }
}

/// The ports of the next packets.
fn ports(bench: &mut Bench, count: usize) -> Vec<u16> {
    (0..count).map_while(|_| bench.take()).map(|packet| packet.port).collect()
}

#[test]
fn a_strict_band_goes_first_and_the_others_share_by_quantum() {
    let mut bench = bench(config());
    for port in [2, 3, 1] {
        bench.offer_many(to_port(port, 1_500), 6);
    }
    assert_eq!(ports(&mut bench, 6), [1; 6]);
    assert_eq!(ports(&mut bench, 6), [2, 3, 3, 2, 3, 3]);
    bench.offer(to_port(1, 100));
    assert_eq!(ports(&mut bench, 1), [1], "a strict band interrupts the round");
}

#[test]
fn unmatched_packets_and_those_of_missing_classes_go_to_the_default_band() {
    let mut bench = bench(EtsConfig { default: 1, ..config() });
    let verdicts = [7, 9].map(|port| bench.offer(to_port(port, 100)));
    assert_eq!(verdicts, [Verdict::Queued; 2]);
    assert_eq!(bench.snapshot("20:").backlog.packets, 2);
}

#[test]
fn a_reactivated_band_starts_with_one_quantum() {
    let mut bench = bench(EtsConfig { quanta: vec![500, 500, 500], ..config() });
    bench.offer(to_port(2, 1_400));
    assert!(matches!(bench.drain(), Next::Empty));
    bench.offer(to_port(2, 1_400));
    bench.offer_many(to_port(3, 500), 3);
    assert_eq!(ports(&mut bench, 4), [3, 3, 2, 3], "1400 bytes take three quanta");
}

#[test]
fn a_change_moves_bands_between_strict_and_shared() {
    let mut bench = bench(config());
    for port in [1, 2, 3] {
        bench.offer_many(to_port(port, 1_500), 4);
    }
    let strict = EtsConfig { strict: 3, ..config() };
    bench.queue.change(&node("1:", Config::Ets(Box::new(strict)))).expect("it is an ets");
    assert_eq!(ports(&mut bench, 6), [1, 1, 1, 1, 2, 2]);
    let shared = EtsConfig { strict: 0, quanta: vec![1_500; 3], ..config() };
    bench.queue.change(&node("1:", Config::Ets(Box::new(shared)))).expect("it is an ets");
    bench.offer(to_port(1, 1_500));
    assert_eq!(ports(&mut bench, 7), [2, 3, 1, 2, 3, 3, 3]);
    assert_eq!(bench.queue.backlog().packets, 0);
}
