//! hhf: which flows are heavy hitters, for how long, the shares of both fifos, and drops.

use super::super::tests::{Bench, ms, node, seq_of, tcp};
use super::super::{Config, Next, Verdict};
use super::HhfConfig;
use alloc::vec::Vec;

/// 10 kB within 40 ms make a heavy hitter.
fn config() -> HhfConfig {
    HhfConfig {
        limit: 1_000,
        quantum: 1_500,
        hh_limit: 2_048,
        reset_timeout: 10,
        admit_bytes: 10_000,
        evict_timeout: 250,
        non_hh_weight: 2,
    }
}

fn bench(config: HhfConfig) -> Bench {
    Bench::new(Config::Hhf(config))
}

fn flows(bench: &mut Bench, count: usize) -> Vec<u32> {
    (0..count).map_while(|_| bench.take()).map(|packet| packet.flow.0).collect()
}

/// Sends packets of 1500 bytes of a flow through the empty queue.
fn send(bench: &mut Bench, flow: u32, count: u64) {
    for seq in 0..count {
        bench.offer(tcp(flow, 1_500, 1, seq));
        assert!(matches!(bench.drain(), Next::Empty));
    }
}

/// Whether a packet of this flow waits behind one of a light flow that arrives later.
fn is_heavy(bench: &mut Bench, flow: u32) -> bool {
    bench.offer(tcp(flow, 100, 1, 0));
    bench.offer(tcp(1_000, 100, 1, 0));
    let order = flows(bench, 2);
    assert!(matches!(bench.drain(), Next::Empty));
    order == [1_000, flow]
}

#[test]
fn a_flow_is_heavy_from_admit_bytes_on_until_it_is_silent() {
    let mut bench = bench(config());
    send(&mut bench, 1, 6);
    assert!(!is_heavy(&mut bench, 1), "9,100 bytes");
    send(&mut bench, 1, 1);
    assert!(is_heavy(&mut bench, 1), "10,600 bytes");
    bench.now = ms(1_000);
    assert!(is_heavy(&mut bench, 1));
    bench.now = ms(2_000);
    assert!(is_heavy(&mut bench, 1), "250 jiffies later");
    bench.now = ms(3_004);
    assert!(!is_heavy(&mut bench, 1), "251 jiffies later");
}

#[test]
fn a_flow_that_spreads_its_bytes_over_resets_is_not_heavy() {
    let mut bench = bench(config());
    for period in 0..20 {
        bench.now = ms(44 * period);
        send(&mut bench, 1, 6);
    }
    assert!(!is_heavy(&mut bench, 1));
}

#[test]
fn others_have_twice_the_share_of_heavy_hitters() {
    let mut bench = bench(HhfConfig { admit_bytes: 1, ..config() });
    bench.offer_all((0..40).map(|seq| tcp(1, 1_500, 1, seq)));
    bench.queue.change(&node("1:", Config::Hhf(HhfConfig { admit_bytes: u32::MAX, ..config() }))).expect("an hhf");
    bench.offer_all((0..40).map(|seq| tcp(2, 1_500, 1, seq)));
    let mut order = flows(&mut bench, 33);
    assert_eq!(order[..3], [2, 2, 1]);
    order.retain(|flow| *flow == 1);
    assert_eq!(order.len(), 11);
}

#[test]
fn over_the_limit_the_oldest_packet_of_the_heavy_hitters_is_dropped() {
    let mut bench = bench(HhfConfig { limit: 10, ..config() });
    send(&mut bench, 1, 7);
    bench.offer_all((0..8).map(|seq| tcp(1, 1_500, 1, 100 + seq)));
    let verdicts: Vec<Verdict> = (0..3).map(|flow| bench.offer(tcp(50 + flow, 100, 1, 0))).collect();
    assert_eq!(verdicts, [Verdict::Queued; 3]);
    assert_eq!(bench.offer(tcp(1, 1_500, 1, 200)), Verdict::Congested);
    assert_eq!(bench.dropped.iter().map(seq_of).collect::<Vec<_>>(), [100, 101]);
    let mut light = self::bench(HhfConfig { limit: 2, ..config() });
    let verdicts: Vec<Verdict> = (0..3).map(|flow| light.offer(tcp(flow, 100, 1, flow.into()))).collect();
    assert_eq!((verdicts[2], seq_of(&light.dropped[0])), (Verdict::Congested, 0));
}

#[test]
fn beyond_hh_limit_no_flow_becomes_heavy() {
    let mut bench = bench(HhfConfig { hh_limit: 1, ..config() });
    for flow in [1, 2] {
        send(&mut bench, flow, 8);
    }
    assert!(is_heavy(&mut bench, 1));
    assert!(!is_heavy(&mut bench, 2));
}

#[test]
fn light_flows_that_share_counters_with_a_heavy_hitter_stay_light() {
    let mut bench = bench(config());
    send(&mut bench, 1, 100);
    // A thousand flows of one packet each: together they fill no four counters.
    (2..900).for_each(|flow| send(&mut bench, flow, 1));
    let heavy = (2..900).filter(|flow| is_heavy(&mut bench, *flow)).count();
    assert_eq!(heavy, 0);
}
