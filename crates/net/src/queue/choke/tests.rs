//! choke: short queues are untouched, and flows with large backlogs are dropped.

use super::super::tests::{Bench, ms, tcp};
use super::super::{ChokeConfig, Config, Probability, RedConfig, Verdict};
use crate::packet::{Ecn, Packet};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The average follows immediately; between 5 and 50 packets the probability is at most 2 %.
fn config(limit: u32) -> ChokeConfig {
    let red = RedConfig {
        limit: 0,
        min: 5,
        max: 50,
        wlog: 1,
        plog: 0,
        scell_log: 9,
        idle_damping: (0..=255).map(|cell: u8| cell / 9).collect(),
        max_p: Probability(85_899_345),
        ecn: false,
        harddrop: false,
        nodrop: false,
        adaptive: false,
        inner: None,
    };
    ChokeConfig { limit, red }
}

fn bench(config: ChokeConfig) -> Bench {
    Bench::new(Config::Choke(Box::new(config)))
}

#[test]
fn below_the_lower_threshold_every_packet_passes() {
    let mut bench = bench(config(200));
    bench.offer_many(tcp(1, 1_514, 1, 0), 5);
    assert_eq!((bench.dropped.len(), bench.queue.backlog().packets), (0, 5));
}

#[test]
fn above_the_lower_threshold_matching_packets_are_dropped_in_pairs() {
    let mut bench = bench(config(200));
    let mut verdict = Verdict::Queued;
    while verdict == Verdict::Queued {
        verdict = bench.offer(tcp(1, 1_514, 1, 0));
    }
    assert_eq!((verdict, bench.dropped.len()), (Verdict::Congested, 2));
    assert_eq!(bench.counters().overlimits, 0, "red selected no packet");
}

#[test]
fn one_flow_loses_more_than_many_flows() {
    let crowd = |flows: u32| {
        let mut bench = bench(config(200));
        for step in 0..2_000u32 {
            bench.now = ms(step.into());
            bench.offer(tcp(step % flows, 1_514, 1, step.into()));
            if step % 2 == 0 {
                bench.take();
            }
        }
        bench.dropped.len()
    };
    let (one, many) = (crowd(1), crowd(100));
    assert!(one > many, "{one} of one flow, {many} of a hundred");
    let mut bench = bench(config(200));
    (0..40).for_each(|flow| {
        bench.offer(tcp(flow, 1_514, 1, 0));
    });
    assert!(bench.dropped.len() <= 2, "two packets of a flow are never queued: {}", bench.dropped.len());
}

#[test]
fn above_the_upper_threshold_capable_packets_are_marked() {
    let marking = |harddrop| {
        let mut config = config(2_000);
        (config.red.ecn, config.red.harddrop) = (true, harddrop);
        let mut bench = bench(config);
        (0..500).for_each(|flow| {
            bench.offer(Packet { ecn: Ecn::Ect0, ..tcp(flow, 1_514, 1, 0) });
        });
        bench.counters()
    };
    assert!(marking(false).marks > 400);
    assert!(marking(true).drops > 400);
}

#[test]
fn holes_are_skipped_and_order_is_kept() {
    let mut bench = bench(config(200));
    for seq in 0..300u32 {
        bench.offer(tcp(seq % 5, 1_514, 1, seq.into()));
        if seq % 3 == 0 {
            let now = bench.now;
            let taken = bench.take();
            bench.sent.extend(taken.map(|packet| (now, packet)));
        }
    }
    bench.drain();
    let order: Vec<u64> = bench.sent.iter().map(|(_, packet)| super::super::tests::seq_of(packet)).collect();
    assert!(order.is_sorted());
    assert_eq!(order.len() + bench.dropped.len(), 300);
}
