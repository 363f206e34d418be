//! Spacing by hand: a bucket of B bytes passes B immediately, then a packet of L bytes every L/rate.

use crate::queue::tests::{Bench, ms, node, packet, tcp};
use crate::queue::{CodelConfig, Config, Next, TbfConfig, Verdict};
use crate::rate::Rate;
use crate::time::{Span, Time};
use alloc::boxed::Box;

/// 1 Mbit/s: 1500 bytes take 12 ms.
fn config(burst: u64) -> TbfConfig {
    TbfConfig { rate: Rate::from_bits(1_000_000), burst, limit: 100_000, peak: None, inner: None }
}

fn bench(config: TbfConfig) -> Bench {
    Bench::new(Config::Tbf(Box::new(config)))
}

#[test]
fn a_burst_leaves_immediately_and_the_rest_at_the_rate() {
    let mut bench = bench(config(3_000));
    bench.offer_many(packet(1_500), 5);
    bench.run_until(ms(1_000));
    assert_eq!(bench.times_ns(), [0, 0, 12_000_000, 24_000_000, 36_000_000]);
}

#[test]
fn a_peak_rate_spreads_the_burst() {
    // At 2 Mbit/s 1500 bytes take 6 ms; the large bucket is empty after the third packet.
    let mut bench = bench(TbfConfig { peak: Some((Rate::from_bits(2_000_000), 1_500)), ..config(3_000) });
    bench.offer_many(packet(1_500), 5);
    bench.run_until(ms(1_000));
    assert_eq!(bench.times_ns(), [0, 6_000_000, 12_000_000, 24_000_000, 36_000_000]);
}

#[test]
fn idle_time_fills_the_bucket_up_to_its_depth() {
    let mut bench = bench(config(3_000));
    bench.offer_many(packet(1_500), 2);
    bench.run_until(ms(5_000));
    bench.offer_many(packet(1_500), 3);
    bench.run_until(ms(6_000));
    assert_eq!(bench.times_ns()[2..], [5_000_000_000, 5_000_000_000, 5_012_000_000]);
}

#[test]
fn each_wait_is_an_overlimit_with_its_end_time() {
    let mut bench = bench(config(1_500));
    bench.offer_many(packet(1_500), 2);
    assert!(matches!(bench.drain(), Next::At(time) if time == ms(12)));
    assert!(matches!(bench.drain(), Next::At(time) if time == ms(12)));
    assert_eq!(bench.counters().overlimits, 2);
}

#[test]
fn super_packets_larger_than_the_bucket_are_split_and_large_packets_dropped() {
    let mut bench = bench(config(1_514));
    assert_eq!(bench.offer(tcp(0, 3 * 1_514, 3, 0)), Verdict::Queued);
    assert_eq!(bench.queue.backlog().packets, 3);
    assert_eq!(bench.offer(tcp(0, 1_515, 1, 0)), Verdict::Dropped);
    assert_eq!(bench.offer(tcp(0, 3 * 1_515, 3, 0)), Verdict::Dropped, "its segments are too large as well");
    bench.run_until(ms(1_000));
    // 1514 bytes at 125 bytes per millisecond.
    assert_eq!(bench.times_ns(), [0, 12_112_000, 24_224_000]);
}

#[test]
fn a_super_packet_that_fits_the_bucket_is_not_split() {
    let mut bench = bench(config(10_000));
    bench.offer(tcp(0, 3 * 1_514, 3, 0));
    assert_eq!(bench.take().map(|packet| packet.segments), Some(3));
}

#[test]
fn a_peeked_packet_still_counts_in_the_backlog() {
    let codel = CodelConfig {
        limit: 2,
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        ecn: false,
        ce_threshold: None,
        ce_selector: None,
        mtu: 1_514,
    };
    let mut bench = bench(TbfConfig { inner: Some(node("2:", Config::Codel(codel))), ..config(1_500) });
    bench.offer(packet(1_500));
    bench.drain();
    bench.offer_many(packet(1_500), 3);
    assert!(matches!(bench.drain(), Next::At(_)), "the bucket is empty");
    assert_eq!((bench.snapshot("1:").backlog, bench.snapshot("2:").backlog.packets), (bench.snapshot("2:").backlog, 2));
    assert_eq!(bench.offer(packet(1_500)), Verdict::Dropped, "codel's limit counts it too");
    bench.run_until(ms(100));
    assert_eq!(bench.sent.len(), 3);
}

#[test]
fn a_change_fills_the_buckets() {
    let mut bench = bench(config(1_500));
    bench.offer_many(packet(1_500), 3);
    bench.drain();
    let faster = TbfConfig { rate: Rate::from_bits(12_000_000), ..config(1_500) };
    bench.queue.change(&node("1:", Config::Tbf(Box::new(faster)))).expect("it is a tbf");
    bench.run_until(ms(10));
    assert_eq!(bench.times_ns(), [0, 0, 999_999], "the reciprocal of 1.5 MB/s is rounded down");
    assert_eq!(bench.now, Time::ZERO + Span::from_millis(10));
}
