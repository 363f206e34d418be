//! COBALT against packets with given sojourn times, and its invariants under random input.

use super::*;
use crate::packet::Ecn;
use crate::queue::tests::{ms, tcp};
use crate::rng::Rng;
use crate::table_checksum::table_checksum;
use crate::time::Time;
use alloc::vec::Vec;
use proptest::prelude::*;

fn params() -> Params {
    Params::new(Some(Rate::from_bits(100_000_000)), 1_514, Span::from_millis(5), Span::from_millis(100))
}

fn queued(at: Time, ecn: Ecn) -> Packet {
    Packet { queued_at: at, ecn, ..tcp(0, 1_514, 1, 0) }
}

/// Dequeues one packet per millisecond, each after `wait_ms` in the queue; returns the times of drops.
fn drops(loop_: &mut Cobalt, from_ms: u64, to_ms: u64, wait_ms: u64) -> Vec<u64> {
    let mut rng = Rng::from_name(1, "cobalt");
    (from_ms..to_ms)
        .filter(|now| {
            let mut packet = queued(ms(now.saturating_sub(wait_ms)), Ecn::NotEct);
            loop_.judges(&params(), nanos(ms(*now)), &mut packet, 0, &mut rng)
        })
        .collect()
}

#[test]
fn target_and_interval_grow_at_low_rates() {
    let slow = Params::new(Some(Rate::from_bits(1_000_000)), 1_514, Span::from_millis(5), Span::from_millis(100));
    assert_eq!((slow.packet_ns, slow.target_ns, slow.interval_ns), (12_112_000, 18_168_000, 113_168_000));
    let fast = params();
    assert_eq!((fast.packet_ns, fast.target_ns, fast.interval_ns), (121_120, 5_000_000, 100_000_000));
}

#[test]
fn the_table_holds_one_over_the_root() {
    for (count, root) in (1_u32..16).zip(&ROOTS[1..]) {
        let exact = 4_294_967_296.0 / f64::from(count).sqrt();
        assert!((f64::from(*root) - exact).abs() <= 1.0, "{count}: {root}");
    }
}

#[test]
fn signals_speed_up_above_target_and_the_count_persists() {
    let mut cobalt = Cobalt::default();
    assert!(drops(&mut cobalt, 1, 200, 2).is_empty());
    let first = drops(&mut cobalt, 200, 1_500, 20);
    let gaps: Vec<u64> = first.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(first.len() > 15 && gaps.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{gaps:?}");
    let count = cobalt.count;
    assert!(drops(&mut cobalt, 1_500, 1_510, 2).is_empty() && cobalt.count >= count - 2);
    assert!(drops(&mut cobalt, 1_510, 6_000, 2).is_empty());
    assert!(cobalt.count == 0 && cobalt.is_settled(nanos(ms(6_200))));
}

#[test]
fn a_packet_that_can_be_marked_is_not_dropped() {
    let mut cobalt = Cobalt::default();
    let mut rng = Rng::from_name(1, "cobalt");
    let mut marks = 0;
    for now in 1..1_000 {
        let mut packet = queued(ms(now - now.min(20)), Ecn::Ect0);
        assert!(!cobalt.judges(&params(), nanos(ms(now)), &mut packet, 0, &mut rng));
        assert_eq!(cobalt.marked, packet.ecn == Ecn::Ce);
        marks += u32::from(cobalt.marked);
    }
    assert!(marks > 10);
}

#[test]
fn blue_drops_after_overflows_and_decays_when_the_queue_is_empty() {
    let mut cobalt = Cobalt::default();
    for now in 0..100 {
        cobalt.overflows(&params(), nanos(ms(6 * now + 6)));
    }
    assert_eq!(cobalt.blue, 100 * BLUE_UP);
    let mut rng = Rng::from_name(1, "cobalt");
    let now = nanos(ms(601));
    let dropped = (0..1_000)
        .filter(|_| {
            let mut packet = queued(ms(601), Ecn::Ect0);
            cobalt.clone().judges(&params(), now, &mut packet, 0, &mut rng)
        })
        .count();
    assert!((330..450).contains(&dropped), "{dropped} of 1000 at 100/256");
    for round in 0..1_700 {
        cobalt.runs_empty(&params(), nanos(ms(700 + 6 * round)));
    }
    assert_eq!((cobalt.blue, cobalt.count), (0, 0));
}

proptest! {
    /// No overflow and no drop of a packet below target unless the queue overflowed.
    #[test]
    fn a_packet_below_target_is_never_dropped(
        steps in prop::collection::vec((0_u64..2_000_000_000, 0_u64..3_000_000_000, 0_u8..3), 1..300),
    ) {
        let (mut cobalt, mut rng, mut now) = (Cobalt::default(), Rng::from_name(1, "cobalt"), Time::ZERO);
        for (pause, wait, kind) in steps {
            now += Span::from_nanos(pause);
            match kind {
                0 => cobalt.runs_empty(&params(), nanos(now)),
                1 => {
                    let mut packet = queued(now, Ecn::NotEct);
                    prop_assert!(!cobalt.judges(&params(), nanos(now), &mut packet, 0, &mut rng));
                }
                _ => {
                    let mut packet = queued(Time::from_nanos(now.as_nanos().saturating_sub(wait)), Ecn::NotEct);
                    cobalt.judges(&params(), nanos(now), &mut packet, 4, &mut rng);
                }
            }
        }
    }
}

#[test]
fn the_table_of_roots_is_linux_s() {
    assert_eq!(table_checksum(ROOTS), 0x4ef6_8c66_9648_c591);
}
