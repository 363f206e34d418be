//! Spacing, sharing and borrowing, reckoned by hand.

use crate::packet::Packet;
use crate::queue::config::{Filter, HtbClass, HtbConfig};
use crate::queue::tests::{Bench, calm_netem, class, ms, node, packet, seq_of, shaper, tcp};
use crate::queue::{Config, NetemConfig, Next, Verdict};
use crate::time::{Span, Time};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// 1514 bytes at 80 Mbit/s.
const PACKET_NS: u64 = 151_400;
/// What a bucket of 1514 bytes lacks of a packet at 80 Mbit/s: tc rounds it down to 2359 ticks of 64 ns.
const SHORT_NS: u64 = PACKET_NS - 2_359 * 64;

fn fifo() -> Config {
    Config::Pfifo { limit: 10_000 }
}

/// An htb whose flow n goes to class n + 2.
fn classes<const N: usize>(classes: [HtbClass; N]) -> Bench {
    let filters = (0..8u16).map(|flow| Filter::Port { port: flow, minor: u32::from(flow) + 2 }).collect();
    let config = HtbConfig { default: 0, classes: classes.into(), filters, direct_limit: 10 };
    Bench::new(Config::Htb(Box::new(config)))
}

fn of_flow(flow: u16, bytes: u32) -> Packet {
    Packet { port: flow, ..tcp(u32::from(flow), bytes, 1, 0) }
}

/// Keeps these flows' classes full for ten seconds; their rates in kbit/s over the last nine.
fn shares(bench: &mut Bench, flows: &[u16]) -> Vec<u64> {
    for millis in 0..10_000 {
        for flow in flows {
            while bench.look_leaf(*flow) < 20 {
                bench.offer(of_flow(*flow, 1_514));
            }
        }
        bench.run_until(ms(millis + 1));
    }
    bench.sent.retain(|(time, _)| *time >= ms(1_000));
    flows.iter().map(|flow| bench.bytes_of(|packet| packet.port == *flow) * 8 / 9_000).collect()
}

impl Bench {
    /// Packets of a flow that stand.
    fn look_leaf(&self, flow: u16) -> u32 {
        self.look(&alloc::format!("{flow}0:")).backlog.packets
    }
}

fn with_leaf(flow: u16, mut class: HtbClass) -> HtbClass {
    class.leaf = Some(node(&alloc::format!("{flow}0:"), fifo()));
    class
}

fn within(value: u64, low: u64, high: u64) -> bool {
    (low..=high).contains(&value)
}

#[test]
fn one_class_is_a_link_that_sends_a_packet_every_packets_time() {
    let mut bench = Bench::new(shaper(80, fifo()));
    bench.offer_many(packet(1_514), 1_000);
    bench.run_until(ms(1_000));
    // The bucket holds almost a packet, and one may leave while it is not below zero.
    let times: Vec<u64> = (0..1_000).map(|n: u64| n.saturating_sub(1) * PACKET_NS + SHORT_NS * n.min(1)).collect();
    assert_eq!(bench.times_ns(), times);
}

#[test]
fn after_an_idle_time_the_first_packet_leaves_at_once() {
    let mut bench = Bench::new(shaper(80, fifo()));
    bench.offer_many(packet(1_514), 3);
    bench.run_until(ms(1_000));
    bench.offer_many(packet(1_514), 3);
    bench.run_until(ms(2_000));
    let second = [0, SHORT_NS, SHORT_NS + PACKET_NS].map(|offset| 1_000_000_000 + offset);
    assert_eq!(bench.times_ns()[3..], second);
}

#[test]
fn every_packet_that_empties_the_bucket_is_an_overlimit_however_often_it_is_asked() {
    let mut bench = Bench::new(shaper(80, fifo()));
    bench.offer_many(packet(1_514), 3);
    for _ in 0..5 {
        assert!(matches!(bench.drain(), Next::At(time) if time.as_nanos() == SHORT_NS));
    }
    assert_eq!(bench.counters().overlimits, 1);
    bench.run_until(ms(10));
    assert_eq!(bench.counters().overlimits, 3);
}

#[test]
fn a_new_rate_holds_from_the_next_packet_on() {
    let mut bench = Bench::new(shaper(80, fifo()));
    bench.offer_many(packet(1_514), 4);
    bench.run_until(Time::from_nanos(SHORT_NS));
    bench.queue.change_class("1:", &class(1, 0, 8, 8)).expect("it is there");
    bench.run_until(ms(10));
    // The third was paid for at the old rate; the fourth waits for what the third costs at the new one.
    let third = SHORT_NS + PACKET_NS;
    assert_eq!(bench.times_ns(), [0, SHORT_NS, third, third + 1_514_000]);
}

#[test]
fn what_nobody_claims_goes_unshaped_and_before_all_others() {
    let mut bench = classes([with_leaf(0, class(2, 0, 1, 1))]);
    bench.offer_many(of_flow(0, 1_514), 3);
    bench.offer_many(Packet { port: 99, ..packet(1_514) }, 10);
    assert_eq!(bench.offer(Packet { port: 99, ..packet(60) }), Verdict::Dropped, "ten are the direct queue's limit");
    bench.drain();
    let ports: Vec<u16> = bench.sent.iter().map(|(_, packet)| packet.port).collect();
    assert_eq!(ports[..10], [99; 10]);
    assert_eq!(ports[10], 0);
}

#[test]
fn a_mark_chooses_a_class_and_an_inner_class_is_not_chosen() {
    let inner = class(1, 0, 8, 8);
    let filters = vec![Filter::Mark { mark: 7, minor: 2 }, Filter::Mark { mark: 8, minor: 1 }];
    let classes = vec![inner, with_leaf(0, class(2, 1, 4, 8)), with_leaf(1, class(3, 1, 4, 8))];
    let config = HtbConfig { default: 3, classes, filters, direct_limit: 10 };
    let mut bench = Bench::new(Config::Htb(Box::new(config)));
    bench.offer(Packet { mark: 7, ..packet(100) });
    bench.offer(Packet { mark: 8, ..packet(100) });
    bench.offer(packet(100));
    assert_eq!((bench.look_leaf(0), bench.look_leaf(1)), (1, 2));
}

#[test]
fn classes_get_their_rates_and_share_evenly_what_is_left() {
    // 8 Mbit/s: 1 and 3 are guaranteed, 4 are left, and quanta are alike.
    let mut bench = classes([class(1, 0, 8, 8), with_leaf(0, class(2, 1, 1, 8)), with_leaf(1, class(3, 1, 3, 8))]);
    let shares = shares(&mut bench, &[0, 1]);
    assert!(within(shares[0], 2_940, 3_060) && within(shares[1], 4_900, 5_100), "{shares:?}");
    assert!(within(shares[0] + shares[1], 7_990, 8_010), "{shares:?}");
}

#[test]
fn what_is_left_goes_by_quantum() {
    let triple = HtbClass { quantum: 3 * 1_514, ..class(3, 1, 1, 8) };
    let mut bench = classes([class(1, 0, 8, 8), with_leaf(0, class(2, 1, 1, 8)), with_leaf(1, triple)]);
    let shares = shares(&mut bench, &[0, 1]);
    // 6 Mbit/s are left, a quarter and three quarters.
    assert!(within(shares[0], 2_430, 2_570) && within(shares[1], 5_430, 5_570), "{shares:?}");
}

#[test]
fn what_is_left_goes_to_the_lowest_priority_number_first() {
    let second = HtbClass { prio: 1, ..class(3, 1, 1, 8) };
    let mut bench = classes([class(1, 0, 8, 8), with_leaf(0, class(2, 1, 1, 8)), with_leaf(1, second)]);
    let shares = shares(&mut bench, &[0, 1]);
    assert!(within(shares[0], 6_900, 7_050) && within(shares[1], 980, 1_080), "{shares:?}");
}

#[test]
fn nobody_gets_more_than_its_ceiling() {
    let mut bench = classes([class(1, 0, 8, 8), with_leaf(0, class(2, 1, 1, 2))]);
    let shares = shares(&mut bench, &[0]);
    assert!(within(shares[0], 1_998, 2_002), "{shares:?}");
}

#[test]
fn a_grandchild_borrows_from_its_grandparent() {
    let mut bench = classes([class(1, 0, 8, 8), class(9, 1, 2, 8), with_leaf(0, class(2, 9, 1, 8))]);
    let shares = shares(&mut bench, &[0]);
    assert!(within(shares[0], 7_990, 8_010), "{shares:?}");
}

#[test]
fn a_leaf_that_holds_packets_back_is_asked_again_in_time() {
    let delay = NetemConfig { delay: Span::from_millis(3), ..calm_netem() };
    let mut bench = Bench::new(shaper(80, Config::Netem(Box::new(delay))));
    bench.offer_all((0..3).map(|seq| tcp(0, 1_514, 1, seq)));
    assert!(matches!(bench.drain(), Next::At(time) if time == ms(3)));
    bench.run_until(ms(10));
    assert_eq!(bench.times_ns(), [0, SHORT_NS, SHORT_NS + PACKET_NS].map(|offset| 3_000_000 + offset));
    assert_eq!(bench.sent.iter().map(|(_, packet)| seq_of(packet)).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn a_long_silence_is_saved_up_to_the_bucket_only() {
    let mut bench = Bench::new(shaper(80, fifo()));
    bench.offer(packet(1_514));
    bench.run_until(ms(1_000_000));
    bench.offer_many(packet(1_514), 4);
    bench.drain();
    assert_eq!(bench.sent.len(), 2);
}

/// The `kernel` engine's own figures for three floods of 10 Mbit/s in ten seconds: 1652, 3301 and (with a ping now and
/// then) 1651 packets.
#[test]
fn three_floods_share_as_they_do_in_linux() {
    let small = |flow: u16, class| {
        let leaf = Some(node(&alloc::format!("{flow}0:"), Config::Pfifo { limit: 20 }));
        HtbClass { leaf, ..class }
    };
    let slow = HtbClass { quantum: 4_542, ..class(4, 1, 1, 2) };
    let inner = [small(0, class(2, 1, 1, 8)), small(1, class(3, 1, 3, 8)), small(2, slow)];
    let [first, second, third] = inner;
    let mut bench = classes([class(1, 0, 8, 8), first, second, third]);
    // 1472 bytes of payload every 1177.6 µs.
    for round in 0..8_492u64 {
        bench.run_until(Time::from_nanos(round * 1_177_600));
        for flow in 0..3 {
            bench.offer(of_flow(flow, 1_514));
            bench.drain();
        }
    }
    let sent = [0, 1, 2].map(|flow| bench.bytes_of(|packet| packet.port == flow) / 1_514);
    assert!(
        within(sent[0], 1_651, 1_653) && within(sent[1], 3_300, 3_304) && within(sent[2], 1_650, 1_653),
        "{sent:?}"
    );
}

#[test]
fn who_passes_by_a_class_that_waits_is_not_said_to_wait() {
    let mut bench = classes([class(2, 0, 80, 80)]);
    bench.offer_many(of_flow(0, 1_514), 3);
    bench.drain();
    assert!(bench.queue.waits(bench.now).is_some(), "its bucket is empty");
    bench.offer(of_flow(7, 1_514));
    assert!(bench.queue.waits(bench.now).is_none(), "this one is unshaped");
    bench.drain();
    assert_eq!(bench.sent.last().map(|(_, packet)| packet.port), Some(7));
}
