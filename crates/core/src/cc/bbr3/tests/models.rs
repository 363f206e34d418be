//! Single rules of the model, checked by numbers.

use super::super::Bbr3;
use super::super::profile::{Marks, Profile};
use super::test_path::bbr3;
use crate::cc::testing::{cc, tp};
use crate::cc::{CaState, CongestionControl, Event, LostPacket, Parameters, RateSample, Setting};
use crate::rng::Rng;
use proptest::prelude::*;

fn version_2() -> Bbr3 {
    Bbr3::version_2(&mut Parameters::default(), Rng::from_name(1, "bbr2"))
}

#[test]
fn gains_are_those_of_each_version() {
    let of = |profile: &Profile| {
        [profile.startup, profile.drain, profile.probe_down, profile.cruise, profile.probe_up]
            .map(|gains| (gains.pacing, gains.window))
    };
    assert_eq!(of(&Profile::DRAFT), [(709, 512), (128, 512), (230, 512), (256, 512), (320, 576)]);
    assert_eq!(of(&Profile::GOOGLE), [(710, 512), (88, 512), (232, 512), (256, 512), (320, 576)]);
    assert_eq!(of(&Profile::VERSION_2), [(739, 739), (88, 739), (192, 512), (256, 512), (320, 512)]);
}

#[test]
fn names_are_those_of_the_versions() {
    assert_eq!((bbr3("draft").name(), bbr3("google").name(), version_2().name()), ("bbr3", "bbr3", "bbr2"));
}

/// 2 % of 100 packets are 2 (1.95 in Linux's integers: 1).
#[test]
fn more_than_two_percent_of_a_flight_is_too_much() {
    let sample = |lost, tx_in_flight| RateSample { tx_in_flight, lost, ..RateSample::default() };
    for (variant, fine, too_much) in [("draft", 2, 3), ("google", 1, 2)] {
        let bbr = bbr3(variant);
        assert!(!bbr.is_inflight_too_high(&sample(fine, 100)), "{variant}");
        assert!(bbr.is_inflight_too_high(&sample(too_much, 100)), "{variant}");
        assert!(!bbr.is_inflight_too_high(&sample(0, 0)));
    }
}

/// The flight at which losses reach 2 %: 3 of 100 packets lost, 97 were in flight before the first, and so on.
#[test]
fn inflight_at_loss_is_where_losses_crossed_the_threshold() {
    let (tp, mut cc) = (tp(), cc());
    let mut bbr = bbr3("draft");
    bbr.init(&tp, &mut cc);
    bbr.long_term.is_bw_probe_sample = true;
    let packet = |lost, is_app_limited| LostPacket { tx_in_flight: 100, lost, is_app_limited, begins_range: true };
    bbr.skb_marked_lost(&tp, &mut cc, &packet(2, false));
    assert_eq!(bbr.long_term.inflight_longterm, u32::MAX, "not yet");
    bbr.skb_marked_lost(&tp, &mut cc, &packet(3, false));
    assert_eq!(bbr.long_term.inflight_longterm, 99);
    bbr.skb_marked_lost(&tp, &mut cc, &packet(40, false));
    assert_eq!(bbr.long_term.inflight_longterm, 99, "once per probe");
}

#[test]
fn an_app_limited_sample_sets_no_bound() {
    let (tp, mut cc) = (tp(), cc());
    let mut bbr = bbr3("draft");
    bbr.init(&tp, &mut cc);
    bbr.long_term.is_bw_probe_sample = true;
    let packet = LostPacket { tx_in_flight: 10, lost: 5, is_app_limited: true, begins_range: true };
    bbr.skb_marked_lost(&tp, &mut cc, &packet);
    assert_eq!(bbr.long_term.inflight_longterm, u32::MAX);
    assert!(bbr.long_term.prev_probe_too_high);
}

#[test]
fn marks_count_as_losses_in_the_draft_only() {
    let marked = RateSample { tx_in_flight: 100, delivered_ce: 10, delivered: Some(100), ..RateSample::default() };
    assert!(bbr3("draft").is_inflight_too_high(&marked));
    assert!(!bbr3("google").is_inflight_too_high(&marked));
    assert!(!version_2().is_inflight_too_high(&marked));
}

/// DCTCP's share: 1 at first, then a sixteenth of the way to each round's share.
#[test]
fn google_cuts_by_the_share_of_marks_on_paths_with_early_marking() {
    let (mut tp, mut cc) = (tp(), cc());
    tp.min_rtt_us = 1_000;
    let set = [("variant".into(), Setting::Word("google".into())), ("ecn_low".into(), Setting::Number(1))];
    let mut bbr = Bbr3::version_3(&mut Parameters::of(set), Rng::from_name(1, "bbr3"));
    assert_eq!(bbr.profile.marks, Marks::Low);
    bbr.init(&tp, &mut cc);
    assert_eq!(bbr.ecn.cut(256), 256 - 85, "a third");
    for _ in 0..200 {
        tp.delivered += 100;
        bbr.rounds.started = true;
        bbr.update_ecn_marks(&tp, &cc, &RateSample::default());
    }
    assert_eq!(bbr.ecn.cut(256), 256, "nothing was marked for a long time");
    assert!(bbr.ecn.exceeds(51, 100) && !bbr.ecn.exceeds(50, 100));
}

#[test]
fn parameters_change_their_field() {
    let set = |name: &str, number| Parameters::of([(name.into(), Setting::Number(number))]);
    let kept = Bbr3::version_3(&mut set("beta_cut_percent", 40), Rng::from_name(1, "x")).profile.beta;
    assert_eq!(kept.of(1_000), 600);
    let kept = Bbr3::version_2(&mut set("beta", 128), Rng::from_name(1, "x")).profile.beta;
    assert_eq!(kept.of(1_000), 500);
    let interval = Bbr3::version_3(&mut set("probe_rtt_win_ms", 3_000), Rng::from_name(1, "x")).profile;
    assert_eq!(interval.probe_rtt_interval_us, 3_000_000);
    for (mut parameters, version) in [(Parameters::default(), 2), (Parameters::default(), 3)] {
        let profile =
            if version == 2 { Profile::version_2(&mut parameters) } else { Profile::version_3(&mut parameters) };
        assert_eq!(profile, if version == 2 { Profile::VERSION_2 } else { Profile::DRAFT });
        assert_eq!(parameters.finish(), Ok(()));
    }
}

#[test]
fn sending_after_idle_time_starts_at_the_bandwidth() {
    let (tp, mut cc) = (tp(), cc());
    let mut bbr = bbr3("draft");
    bbr.init(&tp, &mut cc);
    bbr.cwnd_event(&tp, &mut cc, Event::TxStart);
    assert!(!bbr.idle_restart, "the application was not the limit");
    cc.app_limited = 1;
    bbr.cwnd_event(&tp, &mut cc, Event::TxStart);
    assert!(bbr.idle_restart);
}

#[test]
fn a_timeout_keeps_the_bound_from_the_window() {
    let (mut tp, mut cc) = (tp(), cc());
    let mut bbr = bbr3("draft");
    bbr.init(&tp, &mut cc);
    bbr.phase = super::super::phase::Phase::ProbeBwCruise;
    cc.cwnd = 80;
    bbr.ssthresh(&tp, &mut cc);
    cc.cwnd = 1;
    bbr.set_state(&tp, &mut cc, CaState::Loss);
    assert_eq!(bbr.short_term.inflight_shortterm, 80);
    tp.state = CaState::Loss;
    bbr.set_state(&tp, &mut cc, CaState::Open);
    assert_eq!(cc.cwnd, 80, "the window returns");
}

proptest! {
    /// For any losses of a probe, the bound is at most what was in flight.
    #[test]
    fn the_bound_never_exceeds_the_flight_that_lost(tx_in_flight in 1_u32..10_000, lost in 1_u32..10_000) {
        let (tp, mut cc) = (tp(), cc());
        for variant in ["draft", "google"] {
            let mut bbr = bbr3(variant);
            bbr.init(&tp, &mut cc);
            bbr.long_term.is_bw_probe_sample = true;
            let lost = lost.min(tx_in_flight);
            bbr.skb_marked_lost(&tp, &mut cc, &LostPacket { tx_in_flight, lost, is_app_limited: false, begins_range: true });
            let bound = bbr.long_term.inflight_longterm;
            let minimum = bbr.target_inflight(&tp, &cc) * 7 / 10;
            prop_assert!(bound == u32::MAX || bound <= tx_in_flight.max(minimum + 1), "{bound} of {tx_in_flight}");
        }
    }
}
