//! The draft's example test cases by number: loss, spurious loss, and application-limited flows.

use super::super::phase::Phase;
use super::cases::{max_bw_kbit, plain};
use super::test_path::{Delivery, TestPath, draft};
use crate::cc::{CaState, INFINITE_SSTHRESH};
use crate::time::Span;
use alloc::vec::Vec;

/// Drops every `every`-th segment from now on.
fn lose_every(test_path: &mut TestPath, every: u64) {
    test_path.judge(move |number| if number % every == 0 { Delivery::Dies } else { Delivery::Arrives });
}

/// Two bandwidth-delay products: the window outside of probes.
fn steady_cwnd(test_path: &TestPath) -> u32 {
    test_path.bbr().bdp_multiple(test_path.bbr().max_bw.best(), 512)
}

#[test]
fn case_2_loss_ends_startup_of_an_app_limited_flow() {
    let mut test_path = TestPath::idle(draft(), 50_000, 40, 100);
    test_path.trickle(20_000, 10);
    test_path.run_for(400);
    assert_ne!(test_path.cc().app_limited, 0);
    lose_every(&mut test_path, 5);
    test_path.run_until(|test_path| test_path.phase() != Phase::Startup);
    // So little is in flight that Drain ends with the ACK that started it; the threshold shows that it ran.
    assert!(test_path.phase().is_probe_bw() && test_path.cc().ssthresh < INFINITE_SSTHRESH);
    assert!(test_path.bbr().full_bw.full_bw_now && test_path.bbr().full_bw.full_bw_reached);
    assert!(test_path.ms() < 800, "{} ms", test_path.ms());
    assert!(test_path.bbr().long_term.inflight_longterm < 200);
}

#[test]
fn one_lost_packet_in_fifty_does_not_end_startup() {
    let mut test_path = TestPath::new(draft(), 50_000, 40, 100);
    lose_every(&mut test_path, 60);
    test_path.run_until(|test_path| test_path.phase() != Phase::Startup);
    assert_eq!(test_path.bbr().long_term.inflight_longterm, u32::MAX, "ended by the plateau");
}

#[test]
fn case_6_loss_ends_a_probe_of_an_app_limited_flow() {
    let mut test_path = plain();
    test_path.run_to(Phase::ProbeBwUp);
    test_path.trickle(8_000, 10);
    test_path.run_for(80);
    assert_eq!(test_path.phase(), Phase::ProbeBwUp);
    assert_ne!(test_path.cc().app_limited, 0);
    lose_every(&mut test_path, 4);
    test_path.run_until(|test_path| test_path.phase() != Phase::ProbeBwUp);
    // So little is in flight that DOWN ends with the ACK that ended the probe.
    assert!(matches!(test_path.phase(), Phase::ProbeBwDown | Phase::ProbeBwCruise), "{}", test_path.phase().name());
    assert!(test_path.bbr().long_term.prev_probe_too_high);
}

/// `ProbeRTT` still comes every five seconds.
#[test]
fn case_7_without_loss_an_app_limited_flow_stays_in_startup_and_in_a_probe() {
    let mut test_path = TestPath::idle(draft(), 50_000, 40, 100);
    test_path.trickle(20_000, 20);
    let phases = test_path.phase_log(20_000);
    assert!(phases.iter().all(|page| matches!(page.0, Phase::Startup | Phase::ProbeRtt)), "{phases:?}");
    let mut test_path = plain();
    test_path.run_to(Phase::ProbeBwUp);
    test_path.trickle(2_000, 10);
    let phases = test_path.phase_log(1_800);
    assert_eq!(phases.iter().map(|page| page.0).collect::<Vec<_>>(), [Phase::ProbeBwUp], "{phases:?}");
}

/// Twenty packets of a probe are late; after three later ones Linux marks them lost. Their DSACKs undo that.
#[test]
fn case_18_a_spurious_recovery_is_undone() {
    let mut test_path = plain();
    test_path.run_to(Phase::ProbeBwUp);
    let before =
        (test_path.bbr().short_term.clone(), test_path.bbr().long_term.inflight_longterm, steady_cwnd(&test_path));
    let mut left = 20;
    test_path.judge(move |_| {
        left -= 1;
        if (0..15).contains(&left) { Delivery::Late(Span::from_millis(30)) } else { Delivery::Arrives }
    });
    test_path.run_until(|test_path| test_path.tp().state == CaState::Recovery);
    test_path.run_until(|test_path| test_path.phase() == Phase::ProbeBwDown);
    assert!(test_path.bbr().long_term.inflight_longterm < u32::MAX);
    test_path.run_until(|test_path| test_path.tp().state < CaState::Recovery);
    let after = (test_path.bbr().short_term.clone(), test_path.bbr().long_term.inflight_longterm);
    assert_eq!((&after.0, after.1), (&before.0, before.1), "the bounds are restored");
    assert!(test_path.cc().cwnd >= before.2, "the window is not restored: {} of {}", test_path.cc().cwnd, before.2);
    assert_eq!(test_path.phase(), Phase::ProbeBwRefill);
    test_path.run_for(100);
    assert_eq!(test_path.phase(), Phase::ProbeBwUp, "the probe continues");
}

/// All packets are delayed for longer than the timeout, then arrive.
#[test]
fn case_19_a_spurious_timeout_is_undone() {
    let mut test_path = plain();
    test_path.run_to(Phase::ProbeBwUp);
    let (bounds, longterm, cwnd) =
        (test_path.bbr().short_term.clone(), test_path.bbr().long_term.inflight_longterm, steady_cwnd(&test_path));
    let mut left = 120;
    test_path.judge(move |_| {
        left -= 1;
        if left > 0 { Delivery::Late(Span::from_millis(700)) } else { Delivery::Arrives }
    });
    test_path.run_until(|test_path| test_path.tp().state == CaState::Loss);
    assert_eq!(test_path.phase(), Phase::ProbeBwDown);
    test_path.run_until(|test_path| test_path.tp().state == CaState::Open);
    assert_eq!((&test_path.bbr().short_term, test_path.bbr().long_term.inflight_longterm), (&bounds, longterm));
    assert!(test_path.cc().cwnd >= cwnd);
    assert_eq!(test_path.phase(), Phase::ProbeBwRefill);
}

#[test]
fn case_21_loss_in_a_probe_lowers_the_bound() {
    let mut test_path = TestPath::new(draft(), 10_000, 40, 30);
    test_path.run_until(|test_path| test_path.bbr().long_term.inflight_longterm != u32::MAX);
    test_path.run_for(500);
    test_path
        .run_until(|test_path| test_path.phase() == Phase::ProbeBwUp && !test_path.bbr().long_term.prev_probe_too_high);
    let (before, target) =
        (test_path.bbr().long_term.inflight_longterm, test_path.bbr().target_inflight(test_path.tp(), test_path.cc()));
    lose_every(&mut test_path, 10);
    test_path.run_until(|test_path| test_path.phase() != Phase::ProbeBwUp);
    assert_eq!(test_path.phase(), Phase::ProbeBwDown);
    assert!(!test_path.bbr().full_bw.full_bw_now, "not ended by a plateau");
    let after = test_path.bbr().long_term.inflight_longterm;
    assert!(after < before && after >= target * 7 / 10, "{before} -> {after}, expected at least 0.7 of {target}");
}

#[test]
fn case_22_an_application_that_stops_during_refill_does_not_lower_the_bandwidth() {
    let mut test_path = plain();
    test_path.run_to(Phase::ProbeBwRefill);
    test_path.trickle(3_000, 10);
    let before = max_bw_kbit(&test_path);
    test_path.run_until(|test_path| {
        assert!(max_bw_kbit(test_path) >= before);
        test_path.phase() != Phase::ProbeBwRefill
    });
    assert_eq!(test_path.phase(), Phase::ProbeBwUp);
    test_path.run_for(500);
    assert_eq!(max_bw_kbit(&test_path), before);
    test_path.resume();
    test_path.run_to(Phase::ProbeBwDown);
    test_path.run_to(Phase::ProbeBwCruise);
}
