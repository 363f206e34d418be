//! The example test cases of draft-ietf-ccwg-bbr, appendix "BBR Example Test Cases", by their numbers: phases.
//!
//! | here | cases |
//! | --- | --- |
//! | this file | 1, 3, 4, 5, 8, 9, 10, 11, 20 |
//! | [`super::loss`] | 2, 6, 7, 18, 19, 21, 22 |
//! | [`super::changes`] | 12, 13, 14, 15, 16, 17 |

use super::super::phase::Phase;
use super::super::{Bbr3, UNIT};
use super::lane::{Lane, bbr3};
use crate::cc::{Parameters, Setting};
use crate::dice::Dice;
use alloc::vec::Vec;

/// 10 Mbit/s, 40 ms, a deep buffer: 33 packets.
pub(super) fn plain() -> Lane {
    Lane::new(bbr3("draft"), 10_000, 40, 200)
}

/// Payload's share of the wire: what a delivery rate shows of a link of so many kbit/s.
pub(super) fn payload_kbit(kbit: u64) -> u64 {
    kbit * 1_448 / 1_514
}

pub(super) fn max_bw_kbit(lane: &Lane) -> u64 {
    lane.bbr().max_bw.best().rate(1_448).as_bits() / 1_000
}

/// Is `value` within so many per cent of `expected`?
pub(super) fn is_close(value: u64, expected: u64, percent: u64) -> bool {
    value.abs_diff(expected) * 100 <= expected * percent
}

fn target(lane: &Lane) -> u32 {
    lane.bbr().inflight(lane.vitals(), lane.bbr().max_bw.best(), UNIT)
}

#[test]
fn case_1_startup_ends_on_a_plateau_of_bandwidth() {
    let mut lane = plain();
    let mut rounds = Vec::new();
    lane.run_until(|lane| {
        let (round, rate) = (lane.bbr().rounds.count, lane.bbr().delivery_rate);
        if lane.bbr().rounds.started && rounds.last().is_none_or(|(last, _)| *last != round) {
            rounds.push((round, rate));
        }
        lane.phase() != Phase::Startup
    });
    let [.., before, first, second, third] = rounds.as_slice() else { panic!("{rounds:?}") };
    for later in [first, second, third] {
        assert!(later.1 < before.1.scaled(UNIT * 5 / 4), "less than a quarter more: {rounds:?}");
    }
    assert!(lane.bbr().full_bw.full_bw_now && lane.bbr().full_bw.full_bw_reached);
    assert!(is_close(max_bw_kbit(&lane), payload_kbit(10_000), 2), "{}", max_bw_kbit(&lane));
    assert_eq!(lane.phase(), Phase::Drain);
}

#[test]
fn case_3_drain_ends_when_the_queue_is_gone() {
    let mut lane = plain();
    lane.run_to(Phase::Drain);
    assert_eq!(lane.bbr().gains.pacing, UNIT / 2);
    assert!(lane.vitals().in_flight() > target(&lane));
    let started = lane.bbr().rounds.count;
    lane.run_until(|lane| lane.phase() != Phase::Drain);
    assert!(lane.vitals().in_flight() <= target(&lane));
    assert!(lane.phase().is_probe_bw());
    assert!(lane.bbr().rounds.count - started <= 3);
}

/// A tenth less bandwidth, as the draft proposes, does not hold the flight up: at a gain of 0.5 it still drains in time.
/// With less than half of the bandwidth it does not, and the rounds decide.
#[test]
fn case_4_drain_ends_after_three_rounds() {
    for (kbit, by_time) in [(9_000, false), (4_000, true)] {
        let mut lane = plain();
        lane.run_to(Phase::Drain);
        lane.set_rate(kbit);
        lane.run_until(|lane| lane.phase() != Phase::Drain);
        let rounds = lane.bbr().rounds.count - lane.bbr().drain_start_round;
        assert_eq!((rounds > 3, lane.vitals().in_flight() > target(&lane)), (by_time, by_time), "{kbit} kbit/s");
        assert!(lane.phase().is_probe_bw());
    }
}

#[test]
fn case_5_a_probe_ends_on_a_plateau_of_bandwidth() {
    let mut lane = plain();
    lane.run_to(Phase::ProbeBwUp);
    assert_eq!((lane.bbr().gains.pacing, lane.bbr().gains.window), (UNIT * 5 / 4, UNIT * 9 / 4));
    assert!(!lane.bbr().full_bw.full_bw_now);
    let started = lane.bbr().rounds.count;
    lane.run_until(|lane| lane.phase() != Phase::ProbeBwUp);
    assert!(lane.bbr().full_bw.full_bw_now);
    assert!((3..=4).contains(&(lane.bbr().rounds.count - started)));
    assert_eq!((lane.phase(), lane.dropped), (Phase::ProbeBwDown, 0));
}

#[test]
fn case_8_down_ends_when_the_queue_is_gone_and_headroom_free() {
    let mut lane = Lane::new(bbr3("draft"), 10_000, 40, 15);
    lane.run_until(|lane| lane.bbr().long_term.inflight_longterm != u32::MAX && lane.phase() == Phase::ProbeBwUp);
    lane.run_until(|lane| lane.phase() == Phase::ProbeBwDown);
    assert_eq!(lane.bbr().gains.pacing, UNIT * 90 / 100);
    let limit = |lane: &Lane| target(lane).min(lane.bbr().inflight_with_headroom());
    assert!(lane.vitals().in_flight() > limit(&lane));
    lane.run_until(|lane| lane.phase() != Phase::ProbeBwDown);
    assert_eq!(lane.phase(), Phase::ProbeBwCruise);
    assert!(lane.vitals().in_flight() <= limit(&lane));
}

/// Without `ProbeRTT`, which would come in between.
#[test]
fn case_9_down_ends_after_the_wait_for_the_next_probe() {
    let set = [("probe_rtt_win_ms".into(), Setting::Number(10_000))];
    let controller = Bbr3::version_3(&mut Parameters::of(set), Dice::named(1, "bbr3"));
    let mut lane = Lane::new(controller, 40_000, 50, 300);
    lane.run_to(Phase::ProbeBwUp);
    lane.run_to(Phase::ProbeBwDown);
    lane.set_rate(36_000);
    let began = lane.ms();
    lane.run_until(|lane| lane.phase() != Phase::ProbeBwDown);
    assert_eq!(lane.phase(), Phase::ProbeBwRefill, "cruising is left out");
    assert!((2_000..3_100).contains(&(lane.ms() - began)), "{} ms", lane.ms() - began);
}

#[test]
fn case_10_probe_rtt_comes_after_five_seconds_for_200_ms_and_a_round() {
    let mut lane = plain();
    lane.run_to(Phase::ProbeBwCruise);
    lane.run_to(Phase::ProbeRtt);
    assert!((4_990..5_600).contains(&lane.ms()), "{} ms", lane.ms());
    assert_eq!(lane.bbr().gains.window, UNIT / 2);
    let began = lane.ms();
    let mut least = u32::MAX;
    lane.run_until(|lane| {
        least = least.min(lane.vitals().in_flight());
        lane.phase() != Phase::ProbeRtt
    });
    assert!((200..300).contains(&(lane.ms() - began)), "{} ms", lane.ms() - began);
    assert!(least <= 18, "half of 33 packets: {least}");
    assert!(lane.phase().is_probe_bw() && lane.bbr().full_bw.full_bw_reached);
    let delivered = lane.vitals().delivered;
    lane.run_for(1_000);
    assert!(lane.vitals().delivered - delivered > 780, "826 packets a second");
}

#[test]
fn case_11_an_idle_time_is_as_good_as_probe_rtt() {
    let mut lane = plain();
    lane.run_to(Phase::ProbeBwCruise);
    lane.run_for(1_000);
    lane.sleep(6_000);
    assert_eq!(lane.vitals().in_flight(), 0);
    lane.resume();
    lane.step();
    assert!(lane.bbr().idle_restart);
    let visited = lane.diary(1_500);
    assert!(visited.iter().all(|page| page.0 != Phase::ProbeRtt), "{visited:?}");
    assert!(!lane.bbr().idle_restart);
}

#[test]
fn case_20_probe_rtt_in_startup_returns_to_startup() {
    let mut lane = Lane::idle(bbr3("draft"), 50_000, 40, 100);
    lane.trickle(20_000, 20);
    lane.run_to(Phase::ProbeRtt);
    assert!(!lane.bbr().full_bw.full_bw_reached);
    lane.run_until(|lane| lane.phase() != Phase::ProbeRtt);
    assert_eq!(lane.phase(), Phase::Startup);
    lane.resume();
    lane.run_to(Phase::Drain);
    assert!(is_close(max_bw_kbit(&lane), payload_kbit(50_000), 3), "{}", max_bw_kbit(&lane));
}
