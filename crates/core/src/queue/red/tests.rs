//! The average, the chance in the middle, what is done to a packet that is hit, and adaptation.

use super::*;
use crate::queue::tests::{Bench, ms, node, packet, percent};
use crate::queue::{Chance, Config};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// min 30 kB, max 90 kB, 10 % at max, a weight of 1/4, and a bit of damping every 512 µs.
fn config() -> RedConfig {
    RedConfig {
        limit: 1_000_000,
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
    }
}

fn bench(config: RedConfig) -> Bench {
    Bench::new(Config::Red(Box::new(config)))
}

/// Holds the queue at `standing` packets of 1000 bytes while `count` more come; how many of those were refused.
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
fn the_average_moves_by_its_weight() {
    let slope = Slope::new(&config());
    // 4 × 1000 bytes on average, 3000 in the queue: 1500.
    assert_eq!(slope.moved(4 * 1_000, 3_000), 4 * 1_500);
}

#[test]
fn idleness_halves_the_average_by_its_table() {
    let slope = Slope::new(&config());
    // Three cells of 512 µs: three bits.
    assert_eq!(slope.after_idling(8_000, Span::from_micros(3 * 512 + 5)), 1_000);
    // Within the first cell it falls in a straight line, to a half at most.
    assert_eq!(slope.after_idling(8_000, Span::from_micros(128)), 6_000);
    assert_eq!(slope.after_idling(8_000, Span::from_micros(500)), 4_000);
    assert_eq!(slope.after_idling(8_000, Span::from_secs(3_600)), 0);
}

#[test]
fn below_min_all_pass_and_above_max_all_are_hit() {
    let mut low = bench(config());
    assert_eq!(refused(&mut low, 29, 1_000), 0);
    let mut high = bench(config());
    high.offer_many(packet(1_000), 200);
    let (before, drops) = (high.queue.backlog(), high.counters().drops);
    high.offer_many(packet(1_000), 50);
    assert_eq!((high.queue.backlog(), high.counters().drops), (before, drops + 50));
    assert_eq!(high.counters().overlimits, high.counters().drops);
}

#[test]
fn in_the_middle_gaps_are_even_between_one_and_one_over_the_chance() {
    // At 60 kB the chance is 5 %: a gap is one of 1 to 20, 10.5 on average.
    let mut bench = bench(config());
    refused(&mut bench, 60, 500);
    let hits = refused(&mut bench, 60, 105_000);
    assert!((9_500..10_500).contains(&hits), "{hits}");
}

#[test]
fn a_capable_packet_is_marked_and_the_others_dropped() {
    let mut bench = bench(RedConfig { ecn: true, ..config() });
    bench.offer_many(packet(1_000), 200);
    let dropped = bench.dropped.len();
    assert_eq!(bench.offer(Packet { ecn: Ecn::Ect0, ..packet(1_000) }), Verdict::Queued);
    assert_eq!(bench.offer(packet(1_000)), Verdict::Congested);
    assert_eq!((bench.counters().marks, bench.dropped.len()), (1, dropped + 1));
}

#[test]
fn harddrop_drops_above_max_and_nodrop_lets_pass_what_can_not_be_marked() {
    let mut hard = bench(RedConfig { ecn: true, harddrop: true, ..config() });
    hard.offer_many(packet(1_000), 200);
    assert_eq!(hard.offer(Packet { ecn: Ecn::Ect0, ..packet(1_000) }), Verdict::Congested);
    let mut soft = bench(RedConfig { ecn: true, nodrop: true, ..config() });
    soft.offer_many(packet(1_000), 200);
    assert!(soft.dropped.is_empty());
}

#[test]
fn a_queue_that_was_asked_in_vain_is_idle() {
    let mut bench = bench(config());
    refused(&mut bench, 60, 500);
    bench.drain();
    bench.now = ms(100);
    // A hundred milliseconds are far more cells than an average of 60 kB has bits.
    assert_eq!(refused(&mut bench, 29, 100), 0);
}

#[test]
fn adaptation_moves_the_chance_towards_an_average_in_the_middle() {
    let mut slope = Slope::new(&config());
    // Above the target: a quarter of itself more, but a hundredth at most; below it a tenth less.
    let before = slope.max_p();
    slope.adapt(4 * 80_000);
    assert_eq!(slope.max_p() - before, percent(1.0).0 + 1);
    slope.adapt(4 * 40_000);
    assert_eq!(slope.max_p(), (before + percent(1.0).0 + 1) / 10 * 9);
    slope.adapt(4 * 60_000);
    assert_eq!(slope.max_p(), (before + percent(1.0).0 + 1) / 10 * 9);
    (0..1_000).for_each(|_| slope.adapt(0));
    assert!(slope.max_p() < percent(1.0).0);
}

#[test]
fn adaptation_happens_every_half_second_though_nobody_asks() {
    let mut bench = bench(RedConfig { adaptive: true, ..config() });
    refused(&mut bench, 85, 3_000);
    let before = bench.counters().drops;
    refused(&mut bench, 85, 20_000);
    let slow = bench.counters().drops - before;
    bench.now = ms(20_000);
    let before = bench.counters().drops;
    refused(&mut bench, 85, 20_000);
    let fast = bench.counters().drops - before;
    // 40 turns: from 10 % to 50 %.
    assert!(fast > 3 * slow, "{slow} {fast}");
}

#[test]
fn without_a_probability_the_slope_gives_it() {
    // plog 20 and 60000 bytes: 60000 / 2^20 = 5.7 %, a random number is below 2^20 (in fact 2^32 / (2^12 - 1)).
    let mut slope = Slope::new(&RedConfig { max_p: Chance(0), ..config() });
    let mut dice = Dice::named(1, "red");
    let throws: Vec<u64> = (0..10_000).map(|_| slope.throw(&mut dice)).collect();
    let most = throws.iter().max().copied().unwrap_or(0);
    assert!((1_040_000..1_048_833).contains(&most), "{most}");
    slope.adapt(4 * 60_000);
    assert_eq!(slope.throw(&mut Dice::named(1, "red")), throws[0], "in the middle nothing is adapted");
}

#[test]
fn a_change_begins_a_new_average_and_keeps_the_packets() {
    let mut bench = bench(config());
    bench.offer_many(packet(1_000), 80);
    let standing = bench.queue.backlog();
    let other = RedConfig { min: 200_000, max: 600_000, ..config() };
    bench.queue.change(&node("1:", Config::Red(Box::new(other)))).expect("it is a red");
    assert_eq!(bench.queue.backlog(), standing);
    assert_eq!(bench.offer(packet(1_000)), Verdict::Queued);
}
