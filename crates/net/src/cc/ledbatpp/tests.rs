//! LEDBAT++ on an ideal path: the draft's properties of a single flow.

use super::*;
use crate::cc::Controller;
use crate::cc::testing::path::Path;
use crate::cc::testing::{cc, ms, tp};
use crate::rng::Rng;
use alloc::vec::Vec;

fn path(bits_per_second: u64, rtt_ms: u64) -> Path {
    let controller =
        Controller::from_name("ledbat++", &mut Parameters::default(), Rng::from_name(1, "ledbat++")).unwrap();
    Path::new(controller, bits_per_second, rtt_ms)
}

fn alone() -> LedbatPp {
    LedbatPp::new(&mut Parameters::default())
}

/// Takes a sample of each round-trip time.
fn measure(ledbat: &mut LedbatPp, tp: &SenderState, cc: &mut CcState, rtts_ms: impl IntoIterator<Item = u64>) {
    for rtt in rtts_ms {
        let sample = AckSample { acked: 1, rtt: Some(Span::from_millis(rtt)), in_flight: 10 };
        ledbat.pkts_acked(tp, cc, &sample);
    }
}

#[test]
fn gain_is_a_sixteenth_on_short_paths_and_one_on_long_ones() {
    let gains = [1, 7, 8, 30, 40, 60, 120, 500].map(|base| alone().inverse_gain(Span::from_millis(base)));
    assert_eq!(gains, [16, 16, 15, 4, 3, 2, 1, 1]);
}

#[test]
fn above_the_target_the_window_falls_in_proportion_and_at_most_by_half() {
    for (rtt_ms, expected) in [(20 + 66, 91..=91), (20 + 90, 50..=52), (20 + 600, 50..=50)] {
        let (mut ledbat, mut tp, mut cc) = (alone(), tp(), cc());
        (cc.cwnd, cc.ssthresh, tp.srtt_us8) = (100, 50, 160_000);
        tp.snd_nxt = 144_801;
        ledbat.slowdown = Slowdown::Due(Time::NEVER);
        measure(&mut ledbat, &tp, &mut cc, [20, rtt_ms, rtt_ms, rtt_ms, rtt_ms]);
        for _ in 0..100 {
            ledbat.cong_avoid(&tp, &mut cc, 1);
        }
        assert!(expected.contains(&cc.cwnd), "{rtt_ms} ms: {} packets after a round trip", cc.cwnd);
    }
}

#[test]
fn the_first_slowdown_comes_two_round_trips_after_slow_start_and_the_next_after_nine_times_its_length() {
    let mut path = path(20_000_000, 40);
    let mut phases: Vec<(&str, u64)> = Vec::new();
    for at in 1_000..60_000 {
        path.run_until(ms(at));
        let phase = path.cc_info().phase;
        if phases.last().is_none_or(|(last, _)| *last != phase) {
            phases.push((phase, at));
        }
    }
    let names: Vec<_> = phases.iter().map(|(phase, _)| *phase).take(7).collect();
    let cycle = ["slowdown", "ramp_up", "avoidance"];
    assert_eq!(names, [&["slow_start", "avoidance"], &cycle[..], &cycle[..2]].concat());
    let [_, left, frozen, ramp, done, next_slowdown, ..] = phases[..] else { panic!("{phases:?}") };
    assert!((160..=200).contains(&(frozen.1 - left.1)), "two round trips with 45 ms of queue: {phases:?}");
    assert!((160..=240).contains(&(ramp.1 - frozen.1)), "frozen for two: {phases:?}");
    let ratio = 10 * (next_slowdown.1 - done.1) / (done.1 - frozen.1);
    assert!((88..=92).contains(&ratio), "nine times as long: {phases:?}");
}

#[test]
fn alone_it_keeps_the_queue_at_the_target() {
    let mut path = path(20_000_000, 40);
    let mut maximum = 0;
    for at in 20_000..60_000 {
        path.run_until(ms(at));
        maximum = maximum.max(path.tp.in_flight() * 1_514 * 8 / 20_000);
    }
    assert!((95..=110).contains(&maximum), "{maximum} ms of packets in flight: 40 of path and 60 of queue");
}
