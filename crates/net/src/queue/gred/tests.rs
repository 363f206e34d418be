//! gred: which virtual queue decides, limits, marks, idle periods and changes.

use super::super::tests::{Bench, ms, node, packet, percent};
use super::super::{Config, RedConfig, Verdict};
use super::{GredConfig, GredQueue};
use crate::packet::{Ecn, Packet};
use alloc::boxed::Box;
use alloc::vec;

/// min 30 kB, max 90 kB, 10 % at max, weight 1/4, and one bit of damping every 512 µs.
fn queue(number: u32) -> GredQueue {
    let red = RedConfig {
        limit: 400_000,
        min: 30_000,
        max: 90_000,
        wlog: 2,
        plog: 20,
        scell_log: 9,
        idle_damping: (0..=255u8).map(|cell| cell.min(31)).collect(),
        max_p: percent(10.0),
        ecn: false,
        harddrop: false,
        nodrop: false,
        adaptive: false,
        inner: None,
    };
    GredQueue { number, prio: 8, red }
}

fn config(queues: alloc::vec::Vec<GredQueue>) -> GredConfig {
    GredConfig { limit: 500_000, default: 2, queues }
}

fn bench(config: GredConfig) -> Bench {
    Bench::new(Config::Gred(Box::new(config)))
}

/// Holds the queue at `standing` packets of 1000 bytes while `count` more arrive; returns how many were refused.
fn refused(bench: &mut Bench, standing: u32, count: u32) -> u32 {
    let mut refused = 0;
    for _ in 0..count {
        refused += u32::from(bench.offer(packet(1_000)) != Verdict::Queued);
        while bench.queue.backlog().packets > standing {
            bench.take();
        }
    }
    refused
}

#[test]
fn without_settings_packets_pass_up_to_the_limit() {
    for queues in [vec![], vec![queue(1)]] {
        let mut bench = bench(config(queues));
        bench.offer_many(packet(1_000), 501);
        assert_eq!((bench.queue.backlog().bytes, bench.counters().drops, bench.counters().overlimits), (500_000, 1, 0));
    }
}

#[test]
fn virtual_queue_0_precedes_the_default_one() {
    let other = GredQueue { red: RedConfig { limit: 10_000, ..queue(0).red }, ..queue(0) };
    let mut first = bench(config(vec![queue(2), other]));
    first.offer_many(packet(1_000), 20);
    assert_eq!(first.queue.backlog().bytes, 10_000);
    let mut default = bench(config(vec![queue(1), queue(2)]));
    default.offer_many(packet(1_000), 20);
    assert_eq!(default.queue.backlog().bytes, 20_000);
}

#[test]
fn all_pass_below_min_some_between_and_none_above_max() {
    let mut bench = bench(config(vec![queue(0)]));
    assert_eq!(refused(&mut bench, 29, 1_000), 0);
    // At 60 kB the probability is 5 %: a gap is 1 to 20, 10.5 on average.
    refused(&mut bench, 60, 500);
    let hits = refused(&mut bench, 60, 21_000);
    assert!((1_850..2_150).contains(&hits), "{hits}");
    bench.offer_many(packet(1_000), 200);
    let (before, drops) = (bench.queue.backlog(), bench.counters().drops);
    bench.offer_many(packet(1_000), 50);
    assert_eq!((bench.queue.backlog(), bench.counters().drops), (before, drops + 50));
    assert_eq!(bench.counters().overlimits, bench.counters().drops);
}

#[test]
fn capable_packets_are_marked_and_harddrop_drops_them_above_max() {
    let ect = Packet { ecn: Ecn::Ect0, ..packet(1_000) };
    let ecn = |harddrop| GredQueue { red: RedConfig { ecn: true, harddrop, ..queue(0).red }, ..queue(0) };
    let mut soft = bench(config(vec![ecn(false)]));
    soft.offer_many(ect, 200);
    assert!(soft.dropped.is_empty());
    soft.drain();
    assert!(soft.sent.iter().filter(|(_, packet)| packet.ecn == Ecn::Ce).count() > 90);
    let mut hard = bench(config(vec![ecn(true)]));
    hard.offer_many(ect, 200);
    assert_eq!(hard.offer(ect), Verdict::Congested);
}

#[test]
fn the_last_packet_starts_an_idle_period() {
    let mut bench = bench(config(vec![queue(0)]));
    refused(&mut bench, 80, 500);
    bench.drain();
    // Without idle time the average of some 80 kB decreases by a quarter per packet.
    bench.offer(packet(1_000));
    bench.drain();
    bench.now = ms(100);
    assert_eq!(refused(&mut bench, 29, 100), 0);
}

#[test]
fn a_change_of_the_virtual_queue_restarts_its_average_and_keeps_packets() {
    let mut bench = bench(config(vec![queue(0)]));
    bench.offer_many(packet(1_000), 200);
    let standing = bench.queue.backlog();
    assert_eq!(bench.offer(packet(1_000)), Verdict::Congested);
    let wide = GredQueue { red: RedConfig { min: 200_000, max: 600_000, ..queue(0).red }, ..queue(0) };
    bench.queue.change(&node("1:", Config::Gred(Box::new(config(vec![wide]))))).expect("it is a gred");
    assert_eq!(bench.queue.backlog(), standing);
    assert_eq!(bench.offer(packet(1_000)), Verdict::Queued);
}
