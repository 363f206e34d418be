//! dualpi2: hand-computed cases and invariants.

use super::*;
use crate::packet::Body;
use crate::queue::tests::{node, tcp};
use crate::queue::{Config, Queue};
use crate::time::Span;
use alloc::vec::Vec;
use proptest::prelude::*;

/// The kernel's defaults.
pub(super) fn config() -> DualPi2Config {
    DualPi2Config {
        limit: 10_000,
        memory_limit: 10_000 * 2 * 1_514,
        target: Span::from_millis(15),
        tupdate: Span::from_millis(16),
        alpha: 41,
        beta: 819,
        step: StepThreshold::Time(Span::from_millis(1)),
        min_qlen_step: 0,
        coupling: 2,
        classic_protection: 10,
        drop_on_overload: true,
        drop_enqueue: false,
        any_ect: false,
        split_gso: true,
        mtu: 1_514,
    }
}

fn queue(config: DualPi2Config) -> Queue {
    Queue::new(&node("1:", Config::DualPi2(config)), 1, "eth0")
}

fn packet(number: u64, ecn: Ecn) -> Packet {
    Packet { ecn, ..tcp(0, 1_514, 1, number) }
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// Enqueues `count` packets at once; none is dropped.
fn fill(queue: &mut Queue, count: u64, ecn: Ecn, now: Time) {
    let mut dropped = Vec::new();
    for number in 0..count {
        assert_eq!(queue.enqueue(&packet(number, ecn), now, &mut dropped), Verdict::Queued);
    }
    assert!(dropped.is_empty());
}

/// The packets that leave at a time.
fn drain(queue: &mut Queue, now: Time) -> Vec<Packet> {
    let mut dropped = Vec::new();
    core::iter::from_fn(|| match queue.dequeue(now, &mut dropped) {
        Next::Packet(packet) => Some(packet),
        _ => None,
    })
    .collect()
}

#[test]
fn low_latency_is_served_first_until_the_credit_favors_classic() {
    let mut queue = queue(config());
    fill(&mut queue, 40, Ecn::NotEct, at(0));
    fill(&mut queue, 40, Ecn::Ect1, at(0));
    let order: Vec<bool> = drain(&mut queue, at(100)).iter().map(|packet| packet.ecn == Ecn::NotEct).collect();
    // The credit starts at −80 and each low-latency packet adds 10: the ninth raises it above 0, the tenth packet is
    // classic.
    let classics: Vec<usize> = order.iter().take(40).enumerate().filter(|(_, is)| **is).map(|(at, _)| at).collect();
    assert_eq!(classics, [9, 19, 29, 39]);
    assert_eq!(order.len(), 80);
}

#[test]
fn the_step_marks_packets_queued_longer_than_a_millisecond() {
    let mut queue = queue(config());
    fill(&mut queue, 1, Ecn::Ect1, at(0));
    assert_eq!(drain(&mut queue, at(1_000))[0].ecn, Ecn::Ect1, "a millisecond is not longer than one");
    fill(&mut queue, 1, Ecn::Ect1, at(2_000));
    assert_eq!(drain(&mut queue, at(3_001))[0].ecn, Ecn::Ce);
    fill(&mut queue, 1, Ecn::Ect0, at(4_000));
    assert_eq!(drain(&mut queue, at(8_000))[0].ecn, Ecn::Ect0, "the classic queue has no step");
    let snapshot = queue.snapshot(&queue.find_path("1:").unwrap());
    assert_eq!((snapshot.counters.marks, snapshot.counters.drops, snapshot.marks), (1, 0, true));
}

#[test]
fn the_step_may_count_packets_and_need_a_minimum_queue() {
    let mut three = queue(DualPi2Config { step: StepThreshold::Packets(3), ..config() });
    fill(&mut three, 6, Ecn::Ect1, at(0));
    let marked = drain(&mut three, at(1)).iter().filter(|packet| packet.ecn == Ecn::Ce).count();
    assert_eq!(marked, 2, "five and four packets were queued behind the first two");
    let mut patient = queue(DualPi2Config { min_qlen_step: 4, ..config() });
    fill(&mut patient, 6, Ecn::Ect1, at(0));
    let marked: Vec<bool> = drain(&mut patient, at(5_000)).iter().map(|packet| packet.ecn == Ecn::Ce).collect();
    assert_eq!(marked, [false, false, false, false, true, true]);
}

#[test]
fn ect0_is_classic_unless_any_ect_is_low_latency() {
    for (any_ect, first) in [(false, Ecn::Ect1), (true, Ecn::Ect0)] {
        let mut queue = queue(DualPi2Config { any_ect, ..config() });
        fill(&mut queue, 1, Ecn::Ect0, at(0));
        fill(&mut queue, 1, Ecn::Ect1, at(0));
        assert_eq!(drain(&mut queue, at(1))[0].ecn, first);
    }
}

#[test]
fn super_packets_are_split_and_each_segment_counts() {
    let super_packet = Packet { ecn: Ecn::Ect1, ..tcp(0, 3 * 1_514, 3, 1_000) };
    let mut dropped = Vec::new();
    let mut queue = queue(DualPi2Config { limit: 2, ..config() });
    assert_eq!(queue.enqueue(&super_packet, at(0), &mut dropped), Verdict::Queued);
    assert_eq!((queue.backlog().packets, dropped.len()), (2, 1), "there was no room for the third segment");
    let seqs: Vec<u64> = drain(&mut queue, at(1))
        .iter()
        .map(|part| if let Body::Tcp(segment) = part.body { segment.seq } else { 0 })
        .collect();
    assert_eq!(seqs, [1_000, 2_448]);
}

/// With a standing classic queue, scalable packets are marked k times as often as the square root of the classic drop
/// probability (RFC 9332 section 2.1).
#[test]
fn both_queues_are_coupled() {
    let mut queue = DualPi2::new(&config(), &QdiscContext { seed: 7, name: "eth0", is_home: false, ends: &[] }, "1:");
    let quarter = Control::new(&config()).at_probability(u32::MAX / 4);
    queue.control = quarter;
    let draws = 100_000;
    let marked = (0..draws).filter(|_| queue.decide_scalable() == Decision::Mark).count();
    let dropped = (0..draws).filter(|_| queue.decide_classic(Ecn::NotEct) == Decision::Drop).count();
    let (half, sixteenth) = (draws / 2, draws / 16);
    assert!(marked.abs_diff(half) < 1_000, "{marked}: 2 × 1/4");
    assert!(dropped.abs_diff(sixteenth) < 500, "{dropped}: 1/4 squared");
    assert_ne!(queue.decide_classic(Ecn::Ect0), Decision::Drop, "a capable classic packet is marked, not dropped");
}

#[test]
fn on_overload_both_drop_or_all_low_latency_is_marked() {
    let mut queue = DualPi2::new(&config(), &QdiscContext { seed: 7, name: "eth0", is_home: false, ends: &[] }, "1:");
    queue.control = Control::new(&config()).at_probability(u32::MAX);
    assert_eq!(queue.decide_scalable(), Decision::Drop);
    assert_eq!(queue.decide_classic(Ecn::Ect0), Decision::Drop, "marks are ignored");
    queue.config.drop_on_overload = false;
    assert_eq!(queue.decide_scalable(), Decision::Mark);
}

fn ecn() -> impl Strategy<Value = Ecn> {
    prop::sample::select(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][..])
}

proptest! {
    /// Packets are conserved, never reordered within a queue, and counted consistently.
    #[test]
    fn packets_are_conserved_and_keep_their_order(
        arrivals in prop::collection::vec((0..3_000_u64, ecn(), 0..3_u8), 1..400),
        drop_enqueue in any::<bool>(),
        limit in 1..60_u32,
    ) {
        let mut queue = queue(DualPi2Config { limit, drop_enqueue, ..config() });
        let (mut now, mut dropped, mut out) = (0, Vec::new(), Vec::new());
        for (number, &(gap, ecn, takes)) in (0..).zip(&arrivals) {
            now += gap;
            queue.enqueue(&Packet { mark: u16::from(matches!(ecn, Ecn::Ect1 | Ecn::Ce)), ..packet(number, ecn) }, at(now), &mut dropped);
            for _ in 0..takes {
                if let Next::Packet(packet) = queue.dequeue(at(now), &mut dropped) {
                    out.push(packet);
                }
            }
        }
        let snapshot = queue.snapshot(&queue.find_path("1:").unwrap());
        let standing = queue.backlog().packets as usize;
        prop_assert!(standing <= limit as usize);
        prop_assert_eq!(out.len() + dropped.len() + standing, arrivals.len());
        prop_assert_eq!(snapshot.counters.drops, dropped.len() as u64);
        for scalable in [0, 1] {
            let seqs: Vec<u64> = out.iter().filter(|packet| packet.mark == scalable)
                .map(|packet| if let Body::Tcp(segment) = packet.body { segment.seq } else { 0 }).collect();
            prop_assert!(seqs.is_sorted());
        }
    }
}
