//! Spacing, sharing and borrowing, computed by hand.

use crate::packet::Packet;
use crate::queue::config::{Filter, HtbClass, HtbConfig};
use crate::queue::tests::{Bench, class, ms, node, packet, seq_of, shaper, tcp, transparent_netem};
use crate::queue::{Config, NetemConfig, Next, Verdict};
use crate::time::{Span, Time};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// 1514 bytes at 80 Mbit/s.
const PACKET_NS: u64 = 151_400;
/// A bucket of 1514 bytes at 80 Mbit/s is this much short of one packet: tc rounds it down to 2359 ticks of 64 ns.
const SHORT_NS: u64 = PACKET_NS - 2_359 * 64;

fn fifo() -> Config {
    Config::Pfifo { limit: 10_000 }
}

/// An htb that maps flow n to class n + 2.
fn classes<const N: usize>(classes: [HtbClass; N]) -> Bench {
    let filters = (0..8u16).map(|flow| Filter::Port { port: flow, minor: u32::from(flow) + 2 }).collect();
    let config = HtbConfig { default: 0, classes: classes.into(), filters, direct_limit: 10 };
    Bench::new(Config::Htb(Box::new(config)))
}

fn of_flow(flow: u16, bytes: u32) -> Packet {
    Packet { port: flow, ..tcp(u32::from(flow), bytes, 1, 0) }
}

/// Keeps the classes of these flows backlogged for ten seconds; returns their rates in kbit/s over the last nine.
fn shares(bench: &mut Bench, flows: &[u16]) -> Vec<u64> {
    for millis in 0..10_000 {
        for flow in flows {
            while bench.leaf_snapshot(*flow) < 20 {
                bench.offer(of_flow(*flow, 1_514));
            }
        }
        bench.run_until(ms(millis + 1));
    }
    bench.sent.retain(|(time, _)| *time >= ms(1_000));
    flows.iter().map(|flow| bench.bytes_of(|packet| packet.port == *flow) * 8 / 9_000).collect()
}

impl Bench {
    /// Queued packets of a flow.
    fn leaf_snapshot(&self, flow: u16) -> u32 {
        self.snapshot(&alloc::format!("{flow}0:")).backlog.packets
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
fn one_class_sends_packets_one_transmission_time_apart() {
    let mut bench = Bench::new(shaper(80, fifo()));
    bench.offer_many(packet(1_514), 1_000);
    bench.run_until(ms(1_000));
    // The bucket holds almost one packet, and a packet may leave while tokens are not negative.
    let times: Vec<u64> = (0..1_000).map(|n: u64| n.saturating_sub(1) * PACKET_NS + SHORT_NS * n.min(1)).collect();
    assert_eq!(bench.times_ns(), times);
}

#[test]
fn after_idling_the_first_packet_leaves_immediately() {
    let mut bench = Bench::new(shaper(80, fifo()));
    bench.offer_many(packet(1_514), 3);
    bench.run_until(ms(1_000));
    bench.offer_many(packet(1_514), 3);
    bench.run_until(ms(2_000));
    let second = [0, SHORT_NS, SHORT_NS + PACKET_NS].map(|offset| 1_000_000_000 + offset);
    assert_eq!(bench.times_ns()[3..], second);
}

#[test]
fn one_overlimit_per_wait_however_often_dequeue_is_called() {
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
fn a_new_rate_applies_from_the_next_packet() {
    let mut bench = Bench::new(shaper(80, fifo()));
    bench.offer_many(packet(1_514), 4);
    bench.run_until(Time::from_nanos(SHORT_NS));
    bench.queue.change_class("1:", &class(1, 0, 8, 8)).expect("the class exists");
    bench.run_until(ms(10));
    // The third was charged at the old rate; the fourth waits for the third's cost at the new rate.
    let third = SHORT_NS + PACKET_NS;
    assert_eq!(bench.times_ns(), [0, SHORT_NS, third, third + 1_514_000]);
}

#[test]
fn unmatched_packets_leave_first_and_unshaped() {
    let mut bench = classes([with_leaf(0, class(2, 0, 1, 1))]);
    bench.offer_many(of_flow(0, 1_514), 3);
    bench.offer_many(Packet { port: 99, ..packet(1_514) }, 10);
    assert_eq!(bench.offer(Packet { port: 99, ..packet(60) }), Verdict::Dropped, "the direct queue's limit is ten");
    bench.drain();
    let ports: Vec<u16> = bench.sent.iter().map(|(_, packet)| packet.port).collect();
    assert_eq!(ports[..10], [99; 10]);
    assert_eq!(ports[10], 0);
}

#[test]
fn a_mark_selects_a_leaf_but_not_an_inner_class() {
    let inner = class(1, 0, 8, 8);
    let filters = vec![Filter::Mark { mark: 7, minor: 2 }, Filter::Mark { mark: 8, minor: 1 }];
    let classes = vec![inner, with_leaf(0, class(2, 1, 4, 8)), with_leaf(1, class(3, 1, 4, 8))];
    let config = HtbConfig { default: 3, classes, filters, direct_limit: 10 };
    let mut bench = Bench::new(Config::Htb(Box::new(config)));
    bench.offer(Packet { mark: 7, ..packet(100) });
    bench.offer(Packet { mark: 8, ..packet(100) });
    bench.offer(packet(100));
    assert_eq!((bench.leaf_snapshot(0), bench.leaf_snapshot(1)), (1, 2));
}

#[test]
fn classes_get_their_rates_and_share_the_excess_evenly() {
    // 8 Mbit/s: 1 and 3 are guaranteed, 4 are left, and quanta are equal.
    let mut bench = classes([class(1, 0, 8, 8), with_leaf(0, class(2, 1, 1, 8)), with_leaf(1, class(3, 1, 3, 8))]);
    let shares = shares(&mut bench, &[0, 1]);
    assert!(within(shares[0], 2_940, 3_060) && within(shares[1], 4_900, 5_100), "{shares:?}");
    assert!(within(shares[0] + shares[1], 7_990, 8_010), "{shares:?}");
}

#[test]
fn the_excess_is_shared_by_quantum() {
    let triple = HtbClass { quantum: 3 * 1_514, ..class(3, 1, 1, 8) };
    let mut bench = classes([class(1, 0, 8, 8), with_leaf(0, class(2, 1, 1, 8)), with_leaf(1, triple)]);
    let shares = shares(&mut bench, &[0, 1]);
    // 6 Mbit/s are left: shares of one and three quarters.
    assert!(within(shares[0], 2_430, 2_570) && within(shares[1], 5_430, 5_570), "{shares:?}");
}

#[test]
fn the_excess_goes_to_the_lowest_priority_number_first() {
    let second = HtbClass { prio: 1, ..class(3, 1, 1, 8) };
    let mut bench = classes([class(1, 0, 8, 8), with_leaf(0, class(2, 1, 1, 8)), with_leaf(1, second)]);
    let shares = shares(&mut bench, &[0, 1]);
    assert!(within(shares[0], 6_900, 7_050) && within(shares[1], 980, 1_080), "{shares:?}");
}

#[test]
fn no_class_exceeds_its_ceiling() {
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
fn a_delaying_leaf_is_polled_in_time() {
    let delay = NetemConfig { delay: Span::from_millis(3), ..transparent_netem() };
    let mut bench = Bench::new(shaper(80, Config::Netem(Box::new(delay))));
    bench.offer_all((0..3).map(|seq| tcp(0, 1_514, 1, seq)));
    assert!(matches!(bench.drain(), Next::At(time) if time == ms(3)));
    bench.run_until(ms(10));
    assert_eq!(bench.times_ns(), [0, SHORT_NS, SHORT_NS + PACKET_NS].map(|offset| 3_000_000 + offset));
    assert_eq!(bench.sent.iter().map(|(_, packet)| seq_of(packet)).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn idle_time_accumulates_up_to_the_bucket_depth() {
    let mut bench = Bench::new(shaper(80, fifo()));
    bench.offer(packet(1_514));
    bench.run_until(ms(1_000_000));
    bench.offer_many(packet(1_514), 4);
    bench.drain();
    assert_eq!(bench.sent.len(), 2);
}

/// Measured on the `kernel` engine: three floods of 10 Mbit/s for ten seconds deliver 1652, 3301 and (with an
/// occasional ping) 1651 packets.
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
fn direct_packets_do_not_wait_for_a_throttled_class() {
    let mut bench = classes([class(2, 0, 80, 80)]);
    bench.offer_many(of_flow(0, 1_514), 3);
    bench.drain();
    assert!(bench.queue.next_departure(bench.now).is_some(), "the class has no tokens");
    bench.offer(of_flow(7, 1_514));
    assert!(bench.queue.next_departure(bench.now).is_none(), "this packet is unshaped");
    bench.drain();
    assert_eq!(bench.sent.last().map(|(_, packet)| packet.port), Some(7));
}
