//! Delay, rate, reordering, duplication and corruption, computed by hand.

use crate::packet::{Damage, Packet};
use crate::queue::config::{Correlated, Distribution, Loss, NetemConfig, NetemRate, Probability, SlotConfig};
use crate::queue::tests::{Bench, ms, node, packet, percent, seq_of, tcp, transparent_netem};
use crate::queue::{Config, Verdict};
use crate::rate::Rate;
use crate::time::{Span, Time};
use alloc::boxed::Box;
use alloc::vec::Vec;

const ALWAYS: Correlated = Correlated { chance: Probability(u32::MAX), correlation: Probability(0) };

fn bench(config: NetemConfig) -> Bench {
    Bench::new(Config::Netem(Box::new(config)))
}

fn delayed(millis: u64) -> NetemConfig {
    NetemConfig { delay: Span::from_millis(millis), ..transparent_netem() }
}

fn rate(bits: u64) -> NetemRate {
    NetemRate { rate: Rate::from_bits(bits), packet_overhead: 0, cell_size: 0, cell_overhead: 0 }
}

fn order(bench: &Bench) -> Vec<u64> {
    bench.sent.iter().map(|(_, packet)| seq_of(packet)).collect()
}

#[test]
fn every_packet_has_the_same_delay() {
    let mut bench = bench(delayed(10));
    for millis in [0, 3, 7] {
        bench.run_until(ms(millis));
        bench.offer(packet(1_514));
    }
    bench.run_until(ms(100));
    assert_eq!(bench.times_ns(), [10_000_000, 13_000_000, 17_000_000]);
}

#[test]
fn the_limit_counts_packets_on_the_link() {
    let mut bench = bench(NetemConfig { limit: 2, ..delayed(10) });
    let verdicts = [1, 2, 3].map(|_| bench.offer(packet(1_514)));
    assert_eq!(verdicts, [Verdict::Queued, Verdict::Queued, Verdict::Dropped]);
    bench.run_until(ms(10));
    assert_eq!(bench.offer(packet(1_514)), Verdict::Queued);
}

#[test]
fn with_a_rate_delay_and_waiting_overlap() {
    // 1500 bytes at 1 Mbit/s take 12 ms, the delay is 10 ms: the second packet leaves after 22 ms.
    let mut bench = bench(NetemConfig { rate: Some(rate(1_000_000)), ..delayed(10) });
    bench.offer_many(packet(1_500), 3);
    bench.run_until(ms(100));
    assert_eq!(bench.times_ns(), [22_000_000, 34_000_000, 46_000_000]);
    // Arrives in the middle of a transmission: the part of the delay that the wait does not cover is added.
    bench.offer(packet(1_500));
    bench.run_until(ms(118));
    bench.offer(packet(1_500));
    bench.run_until(ms(200));
    // The fourth leaves at 122; at 118 the fifth has 4 ms to wait and 6 of its 10 left: 122 + 6 + 12.
    assert_eq!(bench.times_ns()[3..], [122_000_000, 140_000_000]);
}

#[test]
fn packets_take_full_cells_with_overhead() {
    // 100 + 5 bytes are three cells of 48, each with 5 more: 159 bytes, 1.272 ms.
    let atm = NetemRate { packet_overhead: 5, cell_size: 48, cell_overhead: 5, ..rate(1_000_000) };
    let mut bench = bench(NetemConfig { rate: Some(atm), ..transparent_netem() });
    bench.offer(packet(100));
    bench.run_until(ms(100));
    assert_eq!(bench.times_ns(), [1_272_000]);
}

#[test]
fn every_fifth_packet_skips_the_delay() {
    let mut bench = bench(NetemConfig { gap: 5, ..delayed(10) });
    bench.offer_all((1..=10).map(|seq| tcp(0, 100, 1, seq)));
    bench.run_until(ms(100));
    // The tenth was put before the fifth.
    assert_eq!(order(&bench), [10, 5, 1, 2, 3, 4, 6, 7, 8, 9]);
    assert_eq!(bench.times_ns()[..3], [0, 0, 10_000_000]);
}

#[test]
fn slots_release_packets_in_bursts() {
    // 1 ms of delay, a slot every 4 ms: the first slot starts when the first packet misses the one at 0.
    let slot = SlotConfig { least: Span::from_millis(4), most: Span::from_millis(4), packets: 3, bytes: u32::MAX };
    let mut bench = bench(NetemConfig { slot: Some(slot), ..delayed(1) });
    bench.offer_many(packet(1_514), 5);
    bench.run_until(ms(100));
    assert_eq!(bench.times_ns(), [4_000_000, 4_000_000, 4_000_000, 8_000_000, 8_000_000]);
}

#[test]
fn a_slot_ends_with_the_packet_that_exceeds_its_bytes() {
    let slot = SlotConfig { least: Span::from_millis(4), most: Span::from_millis(4), packets: u32::MAX, bytes: 2_000 };
    let mut bench = bench(NetemConfig { slot: Some(slot), ..delayed(1) });
    bench.offer_many(packet(1_514), 3);
    bench.run_until(ms(100));
    assert_eq!(bench.times_ns(), [4_000_000, 4_000_000, 8_000_000]);
}

#[test]
fn the_time_between_slots_is_drawn() {
    let slot = SlotConfig { least: Span::from_millis(2), most: Span::from_millis(6), packets: 1, bytes: u32::MAX };
    let mut bench = bench(NetemConfig { slot: Some(slot), ..delayed(1) });
    bench.offer_many(packet(1_514), 1_001);
    bench.run_until(ms(100_000));
    let times = bench.times_ns();
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (2_000_000..=6_000_000).contains(gap)));
    assert!((3_900_000..4_100_000).contains(&((times[1_000] - times[0]) / 1_000)), "4 ms on average");
}

#[test]
fn a_share_is_reordered() {
    let reorder = Correlated { chance: percent(25.0), correlation: Probability(0) };
    let mut bench = bench(NetemConfig { reorder, ..delayed(10) });
    bench.offer_many(packet(100), 10_000);
    bench.drain();
    assert!((2_350..2_650).contains(&bench.sent.len()), "{}", bench.sent.len());
}

#[test]
fn jitter_larger_than_the_spacing_reorders_packets() {
    let mut bench = bench(NetemConfig { jitter: Span::from_millis(5), ..delayed(10) });
    bench.offer_all((0..1_000).map(|seq| tcp(0, 100, 1, seq)));
    bench.run_until(ms(100));
    assert!(!order(&bench).is_sorted());
    assert!(bench.times_ns().is_sorted());
    let (first, last) = (bench.times_ns()[0], bench.times_ns()[999]);
    assert!(first >= 5_000_000 && last < 15_000_000, "{first} {last}");
}

#[test]
fn delays_have_the_configured_mean_and_deviation() {
    for (shape, mean, deviation) in [
        (Distribution::Uniform, 50.0, 10.0 / 3f64.sqrt()),
        (Distribution::Normal, 50.0, 10.0),
        (Distribution::Pareto, 50.0 - 0.335, 8.197),
        (Distribution::Paretonormal, 50.0 - 0.253, 8.339),
    ] {
        let jitter = Span::from_millis(10);
        let mut bench = bench(NetemConfig { jitter, distribution: shape, ..delayed(50) });
        bench.offer_many(packet(100), 40_000);
        bench.run_until(ms(1_000));
        #[expect(clippy::cast_precision_loss, reason = "milliseconds")]
        let millis: Vec<f64> = bench.times_ns().iter().map(|nanos| *nanos as f64 / 1e6).collect();
        let (seen_mean, seen_deviation) = moments(&millis);
        assert!((seen_mean - mean).abs() < 0.2, "{shape:?}: mean {seen_mean}");
        assert!((seen_deviation - deviation).abs() < 0.15, "{shape:?}: deviation {seen_deviation}");
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub(super) fn moments(numbers: &[f64]) -> (f64, f64) {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / numbers.len() as f64;
    (mean, variance.sqrt())
}

#[test]
fn a_lost_packet_returns_queued_and_counts_as_dropped() {
    let mut bench = bench(NetemConfig { loss: Loss::Random(ALWAYS), ..transparent_netem() });
    assert_eq!(bench.offer(packet(100)), Verdict::Queued);
    assert_eq!((bench.dropped.len(), bench.counters().drops, bench.queue.backlog().packets), (1, 1, 0));
}

#[test]
fn a_duplicated_packet_arrives_twice_not_four_times() {
    let mut bench = bench(NetemConfig { duplicate: ALWAYS, ..delayed(10) });
    bench.offer(packet(1_514));
    assert_eq!(bench.queue.backlog().packets, 2);
    bench.run_until(ms(100));
    assert_eq!(bench.times_ns(), [10_000_000, 10_000_000]);
    let counters = bench.counters();
    assert_eq!((counters.duplicated_packets, counters.duplicated_bytes), (1, 1_514));
    assert_eq!(bench.queue.duplicated(), (1, 1_514));
}

#[test]
fn a_packet_duplicated_and_lost_arrives_once() {
    let mut bench = bench(NetemConfig { duplicate: ALWAYS, loss: Loss::Random(ALWAYS), ..transparent_netem() });
    bench.offer_many(packet(100), 10);
    bench.drain();
    // Copies of lost packets do not exist, and nothing is dropped either.
    assert_eq!((bench.sent.len(), bench.dropped.len(), bench.queue.duplicated()), (10, 0, (0, 0)));
}

#[test]
fn a_copy_fits_within_the_limit_of_its_original() {
    let mut bench = bench(NetemConfig { duplicate: ALWAYS, limit: 1, ..delayed(10) });
    bench.offer(packet(100));
    assert_eq!(bench.queue.backlog().packets, 2);
    assert_eq!(bench.offer(packet(100)), Verdict::Dropped);
}

#[test]
fn a_corrupted_packet_leaves_damaged() {
    let mut bench = bench(NetemConfig { corrupt: ALWAYS, ..delayed(10) });
    (0..1_000).for_each(|_| assert_eq!(bench.offer(tcp(0, 1_514, 1, 1)), Verdict::Queued));
    bench.run_until(ms(100));
    assert_eq!((bench.sent.len(), bench.dropped.len()), (1_000, 0));
    // Of the 66 bytes of headers 28 are the link's and IP's, 32 are TCP's, and 6 are the unchecked source address.
    let of = |damage| bench.sent.iter().filter(|(_, packet)| packet.damage == damage).count();
    let counts = [Damage::Network, Damage::Transport, Damage::None].map(of);
    let expected = [424, 485, 91];
    assert!(counts.iter().zip(expected).all(|(count, expected)| count.abs_diff(expected) < 50), "{counts:?}");
}

#[test]
fn only_one_segment_of_a_super_packet_is_corrupted() {
    let corrupt = Correlated { chance: percent(1.0), correlation: Probability(0) };
    let mut bench = bench(NetemConfig { corrupt, ..transparent_netem() });
    for seq in 0..1_000 {
        bench.offer(tcp(0, 10 * 1_514, 10, seq * 14_480));
        bench.drain();
    }
    let (damaged, alone): (Vec<Packet>, Vec<Packet>) =
        bench.sent.iter().map(|(_, packet)| *packet).partition(|packet| packet.damage != Damage::None);
    assert!(damaged.iter().all(|packet| packet.segments == 1 && packet.bytes == 1_514));
    assert!((3..25).contains(&damaged.len()), "{} of 1000 super-packets", damaged.len());
    assert!(alone.len() > 1_000 && bench.dropped.is_empty());
}

#[test]
fn the_child_receives_packets_when_they_leave_the_link() {
    let inner = Some(Box::new(node("2:", Config::Pfifo { limit: 1 })));
    let mut bench = bench(NetemConfig { inner, ..delayed(10) });
    bench.offer_many(packet(100), 3);
    assert_eq!((bench.snapshot("1:").backlog.packets, bench.snapshot("2:").backlog.packets), (3, 0));
    bench.run_until(ms(100));
    // All three leave the link before the first is dequeued, and there is room for one.
    assert_eq!((bench.sent.len(), bench.counters().drops, bench.snapshot("2:").counters.drops), (1, 2, 2));
}

#[test]
fn a_change_keeps_departure_times_of_packets_on_the_link() {
    let mut bench = bench(delayed(10));
    bench.offer(tcp(0, 100, 1, 1));
    bench.queue.change(&node("1:", Config::Netem(Box::new(delayed(2))))).expect("it is a netem");
    bench.offer(tcp(0, 100, 1, 2));
    bench.run_until(ms(100));
    // The new delay is shorter, so the second overtakes.
    assert_eq!((order(&bench).as_slice(), bench.times_ns().as_slice()), (&[2, 1][..], &[2_000_000, 10_000_000][..]));
    assert_eq!(bench.now, Time::ZERO + Span::from_millis(100));
}
