//! sfq: round robin, depth, drops over the limit, and changes of the hash.

use super::super::tests::{Bench, ms, packet, seq_of, tcp};
use super::super::{Config, Next, Probability, RedConfig, SfqConfig, Verdict};
use crate::packet::{Ecn, Packet};
use alloc::boxed::Box;
use alloc::vec::Vec;

fn config() -> SfqConfig {
    SfqConfig {
        limit: 127,
        depth: 127,
        flows: 128,
        divisor: 1_024,
        quantum: 1_514,
        perturb: 0,
        headdrop: false,
        red: None,
    }
}

fn bench(config: SfqConfig) -> Bench {
    Bench::new(Config::Sfq(Box::new(config)))
}

fn drained(bench: &mut Bench) -> Vec<(u32, u64)> {
    assert!(matches!(bench.drain(), Next::Empty));
    bench.sent.iter().map(|(_, packet)| (packet.flow.0, seq_of(packet))).collect()
}

#[test]
fn flows_take_turns_by_bytes() {
    let mut bench = bench(config());
    (0..4).for_each(|seq| {
        bench.offer(tcp(1, 1_514, 1, seq));
    });
    (0..4).for_each(|seq| {
        bench.offer(tcp(2, 757, 1, seq));
    });
    let order: Vec<u32> = drained(&mut bench).iter().map(|(flow, _)| *flow).collect();
    assert_eq!(order, [1, 2, 2, 1, 2, 2, 1, 1]);
}

#[test]
fn over_the_limit_the_longest_queue_drops_its_newest() {
    let mut bench = bench(SfqConfig { limit: 10, ..config() });
    (0..9).for_each(|seq| {
        bench.offer(tcp(1, 1_514, 1, seq));
    });
    assert_eq!(bench.offer(tcp(2, 1_514, 1, 0)), Verdict::Queued);
    assert_eq!(bench.offer(tcp(2, 1_514, 1, 1)), Verdict::Queued, "another flow's packet is dropped");
    assert_eq!(bench.dropped.iter().map(|packet| (packet.flow.0, seq_of(packet))).collect::<Vec<_>>(), [(1, 8)]);
    assert_eq!(bench.offer(tcp(1, 1_514, 1, 9)), Verdict::Congested);
}

#[test]
fn with_headdrop_a_full_queue_drops_its_oldest() {
    let mut bench = bench(SfqConfig { depth: 3, headdrop: true, ..config() });
    let verdicts: Vec<Verdict> = (0..4).map(|seq| bench.offer(tcp(1, 1_514, 1, seq))).collect();
    assert_eq!(verdicts[2..], [Verdict::Queued, Verdict::Congested]);
    assert_eq!(drained(&mut bench), [(1, 1), (1, 2), (1, 3)]);
    let mut bench = self::bench(SfqConfig { depth: 3, ..config() });
    assert_eq!((0..4).map(|seq| bench.offer(tcp(1, 1_514, 1, seq))).last(), Some(Verdict::Dropped));
    assert_eq!(drained(&mut bench), [(1, 0), (1, 1), (1, 2)]);
}

#[test]
fn a_flow_without_a_free_queue_is_refused() {
    let mut bench = bench(SfqConfig { flows: 2, ..config() });
    let verdicts: Vec<Verdict> = (0..20).map(|flow| bench.offer(tcp(flow, 100, 1, 0))).collect();
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Dropped).count(), bench.dropped.len());
    assert!(bench.dropped.len() >= 16, "at most a few share a queue");
}

#[test]
fn a_change_of_hash_keeps_order_and_loses_nothing() {
    let mut bench = bench(SfqConfig { perturb: 1, ..config() });
    for seq in 0..30u32 {
        bench.offer(tcp(seq % 3, 1_514, 1, seq.into()));
    }
    bench.now = ms(5_000);
    let out = drained(&mut bench);
    assert_eq!(out.len(), 30);
    for flow in 0..3 {
        let seqs: Vec<u64> = out.iter().filter(|(of, _)| *of == flow).map(|(_, seq)| *seq).collect();
        assert!(seqs.is_sorted(), "{seqs:?}");
    }
}

#[test]
fn colliding_flows_separate_after_a_perturbation() {
    // Two flows and four hash buckets: within some seconds they have shared a bucket and been apart.
    let mut bench = bench(SfqConfig { perturb: 1, divisor: 4, ..config() });
    let mut shared = Vec::new();
    for second in 0..20 {
        bench.now = ms(second * 1_100 + 1);
        (0..4).for_each(|seq| {
            bench.offer(tcp(1, 1_514, 1, seq));
        });
        bench.offer(tcp(2, 1_514, 1, 0));
        bench.sent.clear();
        let position = drained(&mut bench).iter().position(|(flow, _)| *flow == 2);
        shared.push(position == Some(4));
    }
    assert!(shared.contains(&true) && shared.contains(&false), "{shared:?}");
}

#[test]
fn red_in_a_queue_marks_or_drops_the_flow_that_fills_it() {
    let red = RedConfig {
        limit: 0,
        min: 3_000,
        max: 15_000,
        wlog: 1,
        plog: 0,
        scell_log: 0,
        idle_damping: [0; 256].to_vec(),
        max_p: Probability(85_899_345),
        ecn: true,
        harddrop: false,
        nodrop: false,
        adaptive: false,
        inner: None,
    };
    let offered = |red: RedConfig, ecn| {
        let mut bench = bench(SfqConfig { red: Some(red), ..config() });
        bench.offer_many(Packet { ecn, ..packet(1_514) }, 100);
        bench.counters()
    };
    let marked = offered(red.clone(), Ecn::Ect0);
    assert!(marked.marks > 70 && marked.drops == 0, "{marked:?}");
    assert!(offered(red.clone(), Ecn::NotEct).drops > 70);
    let hard = offered(RedConfig { harddrop: true, ..red }, Ecn::Ect0);
    assert!(hard.drops > 70, "{hard:?}");
}
