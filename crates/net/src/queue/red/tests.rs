//! The average, the probability between the thresholds, drops and marks.

use super::*;
use crate::queue::tests::{Bench, ms, node, packet, percent};
use crate::queue::{Config, Probability};
use crate::time::Span;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// min 30 kB, max 90 kB, 10 % at max, weight 1/4, and one bit of damping every 512 µs.
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
fn the_average_follows_by_its_weight() {
    let slope = Slope::new(&config());
    // 4 × 1000 bytes on average, 3000 in the queue: 1500.
    assert_eq!(slope.moved(4 * 1_000, 3_000), 4 * 1_500);
}

#[test]
fn idle_time_decays_the_average_by_the_table() {
    let slope = Slope::new(&config());
    // Three cells of 512 µs: three bits.
    assert_eq!(slope.after_idling(8_000, Span::from_micros(3 * 512 + 5)), 1_000);
    // Within the first cell it decreases linearly, at most to a half.
    assert_eq!(slope.after_idling(8_000, Span::from_micros(128)), 6_000);
    assert_eq!(slope.after_idling(8_000, Span::from_micros(500)), 4_000);
    assert_eq!(slope.after_idling(8_000, Span::from_secs(3_600)), 0);
}

#[test]
fn all_pass_below_min_and_none_above_max() {
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
fn gaps_are_uniform_up_to_one_over_the_probability() {
    // At 60 kB the probability is 5 %: a gap is 1 to 20, 10.5 on average.
    let mut bench = bench(config());
    refused(&mut bench, 60, 500);
    let hits = refused(&mut bench, 60, 105_000);
    assert!((9_500..10_500).contains(&hits), "{hits}");
}

#[test]
fn capable_packets_are_marked_and_others_dropped() {
    let mut bench = bench(RedConfig { ecn: true, ..config() });
    bench.offer_many(packet(1_000), 200);
    let dropped = bench.dropped.len();
    assert_eq!(bench.offer(Packet { ecn: Ecn::Ect0, ..packet(1_000) }), Verdict::Queued);
    assert_eq!(bench.offer(packet(1_000)), Verdict::Congested);
    assert_eq!((bench.counters().marks, bench.dropped.len()), (1, dropped + 1));
}

#[test]
fn harddrop_drops_above_max_and_nodrop_passes_incapable_packets() {
    let mut hard = bench(RedConfig { ecn: true, harddrop: true, ..config() });
    hard.offer_many(packet(1_000), 200);
    assert_eq!(hard.offer(Packet { ecn: Ecn::Ect0, ..packet(1_000) }), Verdict::Congested);
    let mut soft = bench(RedConfig { ecn: true, nodrop: true, ..config() });
    soft.offer_many(packet(1_000), 200);
    assert!(soft.dropped.is_empty());
}

#[test]
fn an_empty_dequeue_starts_an_idle_period() {
    let mut bench = bench(config());
    refused(&mut bench, 60, 500);
    bench.drain();
    bench.now = ms(100);
    // A hundred milliseconds are many more cells than an average of 60 kB has bits.
    assert_eq!(refused(&mut bench, 29, 100), 0);
}

/// tc 5.7 and newer tell the kernel of `adaptive` where it does not look before it starts the timer.
#[test]
fn adaptive_changes_nothing() {
    let drops = [false, true].map(|adaptive| {
        let mut bench = bench(RedConfig { adaptive, ..config() });
        let early = refused(&mut bench, 85, 3_000);
        bench.now = ms(20_000);
        [early, refused(&mut bench, 85, 20_000)]
    });
    assert_eq!(drops[0], drops[1]);
}

#[test]
fn without_max_p_plog_sets_the_probability() {
    // plog 20 and 60000 bytes: 60000 / 2^20 = 5.7 %; the random number is below 2^20 (exactly 2^32 / (2^12 - 1)).
    let slope = Slope::new(&RedConfig { max_p: Probability(0), ..config() });
    let mut rng = Rng::from_name(1, "red");
    let draws: Vec<u64> = (0..10_000).map(|_| slope.throw(&mut rng)).collect();
    let most = draws.iter().max().copied().unwrap_or(0);
    assert!((1_040_000..1_048_833).contains(&most), "{most}");
}

#[test]
fn a_change_resets_the_average_and_keeps_packets() {
    let mut bench = bench(config());
    bench.offer_many(packet(1_000), 80);
    let standing = bench.queue.backlog();
    let other = RedConfig { min: 200_000, max: 600_000, ..config() };
    bench.queue.change(&node("1:", Config::Red(Box::new(other)))).expect("it is a red");
    assert_eq!(bench.queue.backlog(), standing);
    assert_eq!(bench.offer(packet(1_000)), Verdict::Queued);
}
