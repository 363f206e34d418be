//! The example test cases of draft-ietf-ccwg-bbr, appendix "BBR Example Test Cases", by number: phases.
//!
//! | file | cases |
//! | --- | --- |
//! | this file | 1, 3, 4, 5, 8, 9, 10, 11, 20 |
//! | [`super::loss`] | 2, 6, 7, 18, 19, 21, 22 |
//! | [`super::changes`] | 12, 13, 14, 15, 16, 17 |

use super::super::phase::Phase;
use super::super::{Bbr3, UNIT};
use super::test_path::{TestPath, draft};
use crate::cc::{Parameters, Setting};
use crate::rng::Rng;
use alloc::vec::Vec;

/// 10 Mbit/s, 40 ms, a deep buffer: 33 packets.
pub(super) fn plain() -> TestPath {
    TestPath::new(draft(), 10_000, 40, 200)
}

/// Payload rate of a link of `kbit` kbit/s, as delivery rates show it.
pub(super) fn payload_kbit(kbit: u64) -> u64 {
    kbit * 1_448 / 1_514
}

pub(super) fn max_bw_kbit(test_path: &TestPath) -> u64 {
    test_path.bbr().max_bw.best().rate(1_448).as_bits() / 1_000
}

/// Is `value` within `percent` of `expected`?
pub(super) fn is_close(value: u64, expected: u64, percent: u64) -> bool {
    value.abs_diff(expected) * 100 <= expected * percent
}

fn target(test_path: &TestPath) -> u32 {
    test_path.bbr().inflight(test_path.tp(), test_path.cc(), test_path.bbr().max_bw.best(), UNIT)
}

#[test]
fn case_1_startup_ends_on_a_bandwidth_plateau() {
    let mut test_path = plain();
    let mut rounds = Vec::new();
    test_path.run_until(|test_path| {
        let (round, rate) = (test_path.bbr().rounds.count, test_path.bbr().delivery_rate);
        if test_path.bbr().rounds.started && rounds.last().is_none_or(|(last, _)| *last != round) {
            rounds.push((round, rate));
        }
        test_path.phase() != Phase::Startup
    });
    let [.., before, first, second, third] = rounds.as_slice() else { panic!("{rounds:?}") };
    for later in [first, second, third] {
        assert!(later.1 < before.1.scaled(UNIT * 5 / 4), "less than a quarter more: {rounds:?}");
    }
    assert!(test_path.bbr().full_bw.full_bw_now && test_path.bbr().full_bw.full_bw_reached);
    assert!(is_close(max_bw_kbit(&test_path), payload_kbit(10_000), 2), "{}", max_bw_kbit(&test_path));
    assert_eq!(test_path.phase(), Phase::Drain);
}

#[test]
fn case_3_drain_ends_when_the_queue_is_empty() {
    let mut test_path = plain();
    test_path.run_to(Phase::Drain);
    assert_eq!(test_path.bbr().gains.pacing, UNIT / 2);
    assert!(test_path.tp().in_flight() > target(&test_path));
    let started = test_path.bbr().rounds.count;
    test_path.run_until(|test_path| test_path.phase() != Phase::Drain);
    assert!(test_path.tp().in_flight() <= target(&test_path));
    assert!(test_path.phase().is_probe_bw());
    assert!(test_path.bbr().rounds.count - started <= 3);
}

/// A tenth less bandwidth, as the draft proposes, does not keep in-flight data up: at a gain of 0.5 it still drains in
/// time. With less than half of the bandwidth it does not, and the round limit ends Drain.
#[test]
fn case_4_drain_ends_after_three_rounds() {
    for (kbit, by_time) in [(9_000, false), (4_000, true)] {
        let mut test_path = plain();
        test_path.run_to(Phase::Drain);
        test_path.set_rate(kbit);
        test_path.run_until(|test_path| test_path.phase() != Phase::Drain);
        let rounds = test_path.bbr().rounds.count - test_path.bbr().drain_start_round;
        assert_eq!((rounds > 3, test_path.tp().in_flight() > target(&test_path)), (by_time, by_time), "{kbit} kbit/s");
        assert!(test_path.phase().is_probe_bw());
    }
}

#[test]
fn case_5_a_probe_ends_on_a_bandwidth_plateau() {
    let mut test_path = plain();
    test_path.run_to(Phase::ProbeBwUp);
    assert_eq!((test_path.bbr().gains.pacing, test_path.bbr().gains.window), (UNIT * 5 / 4, UNIT * 9 / 4));
    assert!(!test_path.bbr().full_bw.full_bw_now);
    let started = test_path.bbr().rounds.count;
    test_path.run_until(|test_path| test_path.phase() != Phase::ProbeBwUp);
    assert!(test_path.bbr().full_bw.full_bw_now);
    assert!((3..=4).contains(&(test_path.bbr().rounds.count - started)));
    assert_eq!((test_path.phase(), test_path.dropped), (Phase::ProbeBwDown, 0));
}

#[test]
fn case_8_down_ends_when_the_queue_is_empty_and_headroom_is_free() {
    let mut test_path = TestPath::new(draft(), 10_000, 40, 15);
    test_path.run_until(|test_path| {
        test_path.bbr().long_term.inflight_longterm != u32::MAX && test_path.phase() == Phase::ProbeBwUp
    });
    test_path.run_until(|test_path| test_path.phase() == Phase::ProbeBwDown);
    assert_eq!(test_path.bbr().gains.pacing, UNIT * 90 / 100);
    let limit = |test_path: &TestPath| target(test_path).min(test_path.bbr().inflight_with_headroom());
    assert!(test_path.tp().in_flight() > limit(&test_path));
    test_path.run_until(|test_path| test_path.phase() != Phase::ProbeBwDown);
    assert_eq!(test_path.phase(), Phase::ProbeBwCruise);
    assert!(test_path.tp().in_flight() <= limit(&test_path));
}

/// Without `ProbeRTT`, which would interrupt the wait.
#[test]
fn case_9_down_ends_after_the_wait_for_the_next_probe() {
    let set = [("probe_rtt_win_ms".into(), Setting::Number(10_000))];
    let controller = Bbr3::new(&mut Parameters::of(set), Rng::from_name(1, "bbr3"));
    let mut test_path = TestPath::new(controller, 40_000, 50, 300);
    test_path.run_to(Phase::ProbeBwUp);
    test_path.run_to(Phase::ProbeBwDown);
    test_path.set_rate(36_000);
    let began = test_path.ms();
    test_path.run_until(|test_path| test_path.phase() != Phase::ProbeBwDown);
    assert_eq!(test_path.phase(), Phase::ProbeBwRefill, "CRUISE is skipped");
    assert!((2_000..3_100).contains(&(test_path.ms() - began)), "{} ms", test_path.ms() - began);
}

#[test]
fn case_10_probe_rtt_comes_after_five_seconds_for_200_ms_and_a_round() {
    let mut test_path = plain();
    test_path.run_to(Phase::ProbeBwCruise);
    test_path.run_to(Phase::ProbeRtt);
    assert!((4_990..5_600).contains(&test_path.ms()), "{} ms", test_path.ms());
    assert_eq!(test_path.bbr().gains.window, UNIT / 2);
    let began = test_path.ms();
    let mut minimum = u32::MAX;
    test_path.run_until(|test_path| {
        minimum = minimum.min(test_path.tp().in_flight());
        test_path.phase() != Phase::ProbeRtt
    });
    assert!((200..300).contains(&(test_path.ms() - began)), "{} ms", test_path.ms() - began);
    assert!(minimum <= 18, "half of 33 packets: {minimum}");
    assert!(test_path.phase().is_probe_bw() && test_path.bbr().full_bw.full_bw_reached);
    let delivered = test_path.tp().delivered;
    test_path.run_for(1_000);
    assert!(test_path.tp().delivered - delivered > 780, "826 packets per second");
}

#[test]
fn case_11_idle_time_replaces_probe_rtt() {
    let mut test_path = plain();
    test_path.run_to(Phase::ProbeBwCruise);
    test_path.run_for(1_000);
    test_path.sleep(6_000);
    assert_eq!(test_path.tp().in_flight(), 0);
    test_path.resume();
    test_path.step();
    assert!(test_path.bbr().idle_restart);
    let visited = test_path.phase_log(1_500);
    assert!(visited.iter().all(|page| page.0 != Phase::ProbeRtt), "{visited:?}");
    assert!(!test_path.bbr().idle_restart);
}

#[test]
fn case_20_probe_rtt_in_startup_returns_to_startup() {
    let mut test_path = TestPath::idle(draft(), 50_000, 40, 100);
    test_path.trickle(20_000, 20);
    test_path.run_to(Phase::ProbeRtt);
    assert!(!test_path.bbr().full_bw.full_bw_reached);
    test_path.run_until(|test_path| test_path.phase() != Phase::ProbeRtt);
    assert_eq!(test_path.phase(), Phase::Startup);
    test_path.resume();
    test_path.run_to(Phase::Drain);
    assert!(is_close(max_bw_kbit(&test_path), payload_kbit(50_000), 3), "{}", max_bw_kbit(&test_path));
}
