//! The loop's spells by hand-made packets, and what must hold whatever comes.

use super::*;
use crate::queue::tests::{ms, tcp};
use crate::time::Time;
use alloc::vec::Vec;
use proptest::prelude::*;

fn params() -> Params {
    Params::new(Some(Rate::from_bits(100_000_000)), 1_514, Span::from_millis(5), Span::from_millis(100))
}

fn queued(at: Time, ecn: Ecn) -> Packet {
    Packet { queued_at: at, ecn, ..tcp(0, 1_514, 1, 0) }
}

/// Packets that have waited `wait_ms` leave every millisecond; says when one was dropped.
fn drops(loop_: &mut Cobalt, from_ms: u64, to_ms: u64, wait_ms: u64) -> Vec<u64> {
    let mut dice = Dice::named(1, "cobalt");
    (from_ms..to_ms)
        .filter(|now| {
            let mut packet = queued(ms(now.saturating_sub(wait_ms)), Ecn::NotEct);
            loop_.judges(&params(), nanos(ms(*now)), &mut packet, 0, &mut dice)
        })
        .collect()
}

#[test]
fn times_grow_where_a_packet_takes_longer_than_the_target() {
    let slow = Params::new(Some(Rate::from_bits(1_000_000)), 1_514, Span::from_millis(5), Span::from_millis(100));
    assert_eq!((slow.packet_ns, slow.target_ns, slow.interval_ns), (12_112_000, 18_168_000, 113_168_000));
    let fast = params();
    assert_eq!((fast.packet_ns, fast.target_ns, fast.interval_ns), (121_120, 5_000_000, 100_000_000));
}

#[test]
fn roots_are_those_of_their_counts() {
    for (count, root) in (1_u32..16).zip(&ROOTS[1..]) {
        let exact = 4_294_967_296.0 / f64::from(count).sqrt();
        assert!((f64::from(*root) - exact).abs() <= 1.0, "{count}: {root}");
    }
}

#[test]
fn signals_come_faster_while_packets_wait_too_long_and_the_count_stays_for_the_next_spell() {
    let mut cobalt = Cobalt::default();
    assert!(drops(&mut cobalt, 1, 200, 2).is_empty());
    let first = drops(&mut cobalt, 200, 1_500, 20);
    let gaps: Vec<u64> = first.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(first.len() > 15 && gaps.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{gaps:?}");
    let count = cobalt.count;
    assert!(drops(&mut cobalt, 1_500, 1_510, 2).is_empty() && cobalt.count >= count - 2);
    assert!(drops(&mut cobalt, 1_510, 6_000, 2).is_empty());
    assert!(cobalt.count == 0 && cobalt.is_calm(nanos(ms(6_200))));
}

#[test]
fn what_can_be_marked_is_not_dropped() {
    let mut cobalt = Cobalt::default();
    let mut dice = Dice::named(1, "cobalt");
    let mut marks = 0;
    for now in 1..1_000 {
        let mut packet = queued(ms(now - now.min(20)), Ecn::Ect0);
        assert!(!cobalt.judges(&params(), nanos(ms(now)), &mut packet, 0, &mut dice));
        assert_eq!(cobalt.marked, packet.ecn == Ecn::Ce);
        marks += u32::from(cobalt.marked);
    }
    assert!(marks > 10);
}

#[test]
fn blue_drops_by_chance_after_overflows_and_forgets_when_the_queue_runs_empty() {
    let mut cobalt = Cobalt::default();
    for now in 0..100 {
        cobalt.overflows(&params(), nanos(ms(6 * now + 6)));
    }
    assert_eq!(cobalt.blue, 100 * BLUE_UP);
    let mut dice = Dice::named(1, "cobalt");
    let now = nanos(ms(601));
    let dropped = (0..1_000)
        .filter(|_| {
            let mut packet = queued(ms(601), Ecn::Ect0);
            cobalt.clone().judges(&params(), now, &mut packet, 0, &mut dice)
        })
        .count();
    assert!((330..450).contains(&dropped), "{dropped} of 1000 at 100/256");
    for round in 0..1_700 {
        cobalt.runs_empty(&params(), nanos(ms(700 + 6 * round)));
    }
    assert_eq!((cobalt.blue, cobalt.count), (0, 0));
}

proptest! {
    /// Nothing overflows, and nothing that was quick is dropped while nothing overflowed.
    #[test]
    fn whatever_comes_a_quick_packet_passes(
        steps in prop::collection::vec((0_u64..2_000_000_000, 0_u64..3_000_000_000, 0_u8..3), 1..300),
    ) {
        let (mut cobalt, mut dice, mut now) = (Cobalt::default(), Dice::named(1, "cobalt"), Time::ZERO);
        for (pause, wait, kind) in steps {
            now += Span::from_nanos(pause);
            match kind {
                0 => cobalt.runs_empty(&params(), nanos(now)),
                1 => {
                    let mut packet = queued(now, Ecn::NotEct);
                    prop_assert!(!cobalt.judges(&params(), nanos(now), &mut packet, 0, &mut dice));
                }
                _ => {
                    let mut packet = queued(Time::from_nanos(now.as_nanos().saturating_sub(wait)), Ecn::NotEct);
                    cobalt.judges(&params(), nanos(now), &mut packet, 4, &mut dice);
                }
            }
        }
    }
}
