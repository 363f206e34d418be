//! The draft's example cases, by their numbers: loss, losses that were none, and applications that are the limit.

use super::super::phase::Phase;
use super::cases::{max_bw_kbit, plain};
use super::lane::{Fate, Lane, bbr3};
use crate::cc::{CaState, INFINITE_SSTHRESH};
use crate::time::Span;
use alloc::vec::Vec;

/// Every so many-th segment dies from now on.
fn lose_every(lane: &mut Lane, every: u64) {
    lane.judge(move |number| if number % every == 0 { Fate::Dies } else { Fate::Arrives });
}

/// Two bandwidth-delay products: the window outside of probes.
fn steady_cwnd(lane: &Lane) -> u32 {
    lane.bbr().bdp_multiple(lane.bbr().max_bw.best(), 512)
}

#[test]
fn case_2_loss_ends_startup_when_the_application_is_the_limit() {
    let mut lane = Lane::idle(bbr3("draft"), 50_000, 40, 100);
    lane.trickle(20_000, 10);
    lane.run_for(400);
    assert_ne!(lane.vitals().app_limited, 0);
    lose_every(&mut lane, 5);
    lane.run_until(|lane| lane.phase() != Phase::Startup);
    // So little is in flight that Drain is over with the ACK that began it; the threshold tells that it was there.
    assert!(lane.phase().is_probe_bw() && lane.vitals().ssthresh < INFINITE_SSTHRESH);
    assert!(lane.bbr().full_bw.full_bw_now && lane.bbr().full_bw.full_bw_reached);
    assert!(lane.ms() < 800, "{} ms", lane.ms());
    assert!(lane.bbr().long_term.inflight_longterm < 200);
}

#[test]
fn one_lost_packet_in_fifty_does_not_end_startup() {
    let mut lane = Lane::new(bbr3("draft"), 50_000, 40, 100);
    lose_every(&mut lane, 60);
    lane.run_until(|lane| lane.phase() != Phase::Startup);
    assert_eq!(lane.bbr().long_term.inflight_longterm, u32::MAX, "the plateau ended it");
}

#[test]
fn case_6_loss_ends_a_probe_when_the_application_is_the_limit() {
    let mut lane = plain();
    lane.run_to(Phase::ProbeBwUp);
    lane.trickle(8_000, 10);
    lane.run_for(80);
    assert_eq!(lane.phase(), Phase::ProbeBwUp);
    assert_ne!(lane.vitals().app_limited, 0);
    lose_every(&mut lane, 4);
    lane.run_until(|lane| lane.phase() != Phase::ProbeBwUp);
    // So little is in flight that DOWN is over with the ACK that ended the probe.
    assert!(matches!(lane.phase(), Phase::ProbeBwDown | Phase::ProbeBwCruise), "{}", lane.phase().name());
    assert!(lane.bbr().long_term.prev_probe_too_high);
}

/// `ProbeRTT` still comes every five seconds.
#[test]
fn case_7_without_loss_an_idle_application_stays_in_startup_and_in_a_probe() {
    let mut lane = Lane::idle(bbr3("draft"), 50_000, 40, 100);
    lane.trickle(20_000, 20);
    let phases = lane.diary(20_000);
    assert!(phases.iter().all(|page| matches!(page.0, Phase::Startup | Phase::ProbeRtt)), "{phases:?}");
    let mut lane = plain();
    lane.run_to(Phase::ProbeBwUp);
    lane.trickle(2_000, 10);
    let phases = lane.diary(1_800);
    assert_eq!(phases.iter().map(|page| page.0).collect::<Vec<_>>(), [Phase::ProbeBwUp], "{phases:?}");
}

/// Twenty packets of a probe are late; three later ones are enough for Linux to think them lost. Their DSACKs tell.
#[test]
fn case_18_a_recovery_that_was_needless_is_taken_back() {
    let mut lane = plain();
    lane.run_to(Phase::ProbeBwUp);
    let before = (lane.bbr().short_term.clone(), lane.bbr().long_term.inflight_longterm, steady_cwnd(&lane));
    let mut left = 20;
    lane.judge(move |_| {
        left -= 1;
        if (0..15).contains(&left) { Fate::Late(Span::from_millis(30)) } else { Fate::Arrives }
    });
    lane.run_until(|lane| lane.vitals().state == CaState::Recovery);
    lane.run_until(|lane| lane.phase() == Phase::ProbeBwDown);
    assert!(lane.bbr().long_term.inflight_longterm < u32::MAX);
    lane.run_until(|lane| lane.vitals().state < CaState::Recovery);
    let after = (lane.bbr().short_term.clone(), lane.bbr().long_term.inflight_longterm);
    assert_eq!((&after.0, after.1), (&before.0, before.1), "the bounds are back");
    assert!(lane.vitals().cwnd >= before.2, "and the window: {} of {}", lane.vitals().cwnd, before.2);
    assert_eq!(lane.phase(), Phase::ProbeBwRefill);
    lane.run_for(100);
    assert_eq!(lane.phase(), Phase::ProbeBwUp, "the probe goes on");
}

/// Everything is held up for longer than the timeout, then arrives.
#[test]
fn case_19_a_timeout_that_was_needless_is_taken_back() {
    let mut lane = plain();
    lane.run_to(Phase::ProbeBwUp);
    let (bounds, longterm, cwnd) =
        (lane.bbr().short_term.clone(), lane.bbr().long_term.inflight_longterm, steady_cwnd(&lane));
    let mut left = 120;
    lane.judge(move |_| {
        left -= 1;
        if left > 0 { Fate::Late(Span::from_millis(700)) } else { Fate::Arrives }
    });
    lane.run_until(|lane| lane.vitals().state == CaState::Loss);
    assert_eq!(lane.phase(), Phase::ProbeBwDown);
    lane.run_until(|lane| lane.vitals().state == CaState::Open);
    assert_eq!((&lane.bbr().short_term, lane.bbr().long_term.inflight_longterm), (&bounds, longterm));
    assert!(lane.vitals().cwnd >= cwnd);
    assert_eq!(lane.phase(), Phase::ProbeBwRefill);
}

#[test]
fn case_21_loss_in_a_probe_lowers_the_bound() {
    let mut lane = Lane::new(bbr3("draft"), 10_000, 40, 30);
    lane.run_until(|lane| lane.bbr().long_term.inflight_longterm != u32::MAX);
    lane.run_for(500);
    lane.run_until(|lane| lane.phase() == Phase::ProbeBwUp && !lane.bbr().long_term.prev_probe_too_high);
    let (before, target) = (lane.bbr().long_term.inflight_longterm, lane.bbr().target_inflight(lane.vitals()));
    lose_every(&mut lane, 10);
    lane.run_until(|lane| lane.phase() != Phase::ProbeBwUp);
    assert_eq!(lane.phase(), Phase::ProbeBwDown);
    assert!(!lane.bbr().full_bw.full_bw_now, "no plateau ended it");
    let after = lane.bbr().long_term.inflight_longterm;
    assert!(after < before && after >= target * 7 / 10, "{before} -> {after}, 0.7 of {target} at least");
}

#[test]
fn case_22_an_application_that_stops_while_the_pipe_refills_lowers_no_bandwidth() {
    let mut lane = plain();
    lane.run_to(Phase::ProbeBwRefill);
    lane.trickle(3_000, 10);
    let before = max_bw_kbit(&lane);
    lane.run_until(|lane| {
        assert!(max_bw_kbit(lane) >= before);
        lane.phase() != Phase::ProbeBwRefill
    });
    assert_eq!(lane.phase(), Phase::ProbeBwUp);
    lane.run_for(500);
    assert_eq!(max_bw_kbit(&lane), before);
    lane.resume();
    lane.run_to(Phase::ProbeBwDown);
    lane.run_to(Phase::ProbeBwCruise);
}
