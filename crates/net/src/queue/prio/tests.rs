//! prio: order of bands, unmatched packets, and policers.

use super::super::tests::{Bench, ms, node, packet, tcp};
use super::super::{Config, Filter, PoliceConfig, PrioConfig, Rule, Verdict};
use crate::packet::{Packet, TCP_HEADERS_BYTES};
use crate::rate::Rate;
use crate::time::Span;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

fn config(rules: Vec<Rule>) -> PrioConfig {
    PrioConfig { bands: vec![None, None, None], default: 1, rules, band_limit: 1_000 }
}

fn bench(config: PrioConfig) -> Bench {
    Bench::new(Config::Prio(Box::new(config)))
}

fn port(port: u16, minor: u32) -> Rule {
    Rule { filter: Filter::Port { port, minor }, police: None }
}

/// 8 Mbit/s with a bucket of ten packets of 1500 bytes.
fn police(mtu: u32, peak: Option<Rate>) -> Rule {
    let police = PoliceConfig { rate: Rate::from_bits(8_000_000), burst: Span::from_millis(15), mtu, peak };
    Rule { filter: Filter::All { minor: 1 }, police: Some(police) }
}

fn to_port(port: u16) -> Packet {
    Packet { port, ..packet(1_000) }
}

#[test]
fn the_first_band_is_served_first_and_priomap_takes_unmatched_packets() {
    let mut bench = bench(config(vec![port(1, 3), port(2, 1), port(3, 9)]));
    bench.offer_all([1, 7, 3, 2].map(to_port));
    bench.drain();
    let ports: Vec<u16> = bench.sent.iter().map(|(_, packet)| packet.port).collect();
    assert_eq!(ports, [2, 7, 3, 1], "band 0; 7 by the map; 3 too, as there is no class 9; band 2");
}

#[test]
fn a_band_may_hold_any_qdisc_and_is_found_by_its_handle() {
    let mut config = config(vec![]);
    config.bands[1] = Some(node("20:", Config::Pfifo { limit: 1 }));
    let mut bench = bench(config);
    assert_eq!([(); 2].map(|()| bench.offer(packet(100))), [Verdict::Queued, Verdict::Dropped]);
    assert_eq!((bench.snapshot("20:").counters.drops, bench.snapshot("1:").counters.drops), (1, 1));
}

#[test]
fn a_policer_passes_a_burst_and_then_its_rate() {
    let mut bench = bench(config(vec![police(2_040, None)]));
    bench.offer_many(packet(1_500), 100);
    assert_eq!(bench.dropped.len(), 90);
    for millis in 1..=1_000 {
        bench.now = ms(millis);
        bench.offer(packet(1_000));
        bench.drain();
    }
    // Afterwards packets of a thousand bytes conform one per millisecond.
    assert_eq!(bench.dropped.len(), 90);
    assert_eq!(bench.counters().drops, 90);
}

#[test]
fn policer_drops_are_not_reported_to_the_sender() {
    let mut bench = bench(config(vec![police(2_040, None)]));
    let verdicts: Vec<Verdict> = (0..20).map(|_| bench.offer(packet(1_500))).collect();
    assert_eq!((verdicts[19], bench.dropped.len()), (Verdict::Queued, 10));
}

#[test]
fn a_policer_mtu_applies_to_segments_of_super_packets() {
    let mut bench = bench(config(vec![police(1_514, None)]));
    bench.offer(tcp(0, 1_515, 1, 0));
    assert_eq!(bench.dropped.len(), 1);
    bench.offer(tcp(0, 3 * 1_514, 3, 0));
    assert_eq!(bench.dropped.len(), 1);
    bench.offer(tcp(0, 2 * (1_515 + TCP_HEADERS_BYTES), 2, 0));
    assert_eq!(bench.dropped.len(), 2);
}

#[test]
fn a_peak_rate_stops_a_burst() {
    let mut bench = bench(config(vec![police(1_514, Some(Rate::from_bits(16_000_000)))]));
    bench.offer_many(packet(1_514), 10);
    assert_eq!(bench.dropped.len(), 9);
}
