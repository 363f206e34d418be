//! Single rules of the model, checked by numbers.

use super::super::tuning::Tuning;
use super::super::version::{PhaseGains, Version};
use super::super::{Bandwidth, Bbr3, Draft, GoogleV3, V2Alpha};
use super::test_path::draft;
use crate::cc::testing::{cc, tp};
use crate::cc::{CaState, CongestionControl, Event, LostPacket, Parameters, RateSample, Setting};
use crate::rng::Rng;
use proptest::prelude::*;

/// A version with these numbers as parameters.
fn with<V: Version>(set: &[(&str, u64)]) -> Bbr3<V> {
    let set = set.iter().map(|&(name, number)| (name.into(), Setting::Number(number)));
    Bbr3::new(&mut Parameters::of(set), Rng::from_name(1, "bbr"))
}

fn google() -> Bbr3<GoogleV3> {
    with(&[])
}

fn version_2() -> Bbr3<V2Alpha> {
    with(&[])
}

#[test]
fn gains_are_those_of_each_version() {
    let of = |phase: PhaseGains| {
        [phase.startup, phase.drain, phase.probe_down, phase.cruise, phase.probe_up]
            .map(|gains| (gains.pacing, gains.window))
    };
    assert_eq!(of(Draft::GAINS), [(709, 512), (128, 512), (230, 512), (256, 512), (320, 576)]);
    assert_eq!(of(<GoogleV3 as Version>::GAINS), [(710, 512), (88, 512), (232, 512), (256, 512), (320, 576)]);
    assert_eq!(of(<V2Alpha as Version>::GAINS), [(739, 739), (88, 739), (192, 512), (256, 512), (320, 512)]);
}

#[test]
fn names_are_those_of_the_versions() {
    assert_eq!((draft().name(), google().name(), version_2().name()), ("bbr3", "bbr3", "bbr2"));
}

/// 2 % of 100 packets are 2 (1.95 in Linux's integers: 1).
#[test]
fn more_than_two_percent_of_a_flight_is_too_much() {
    fn tolerates<V: Version>(bbr: &Bbr3<V>, lost: u32, tx_in_flight: u32) -> bool {
        !bbr.is_inflight_too_high(&RateSample { tx_in_flight, lost, ..RateSample::default() })
    }
    assert!(tolerates(&draft(), 2, 100) && !tolerates(&draft(), 3, 100) && tolerates(&draft(), 0, 0));
    assert!(tolerates(&google(), 1, 100) && !tolerates(&google(), 2, 100) && tolerates(&google(), 0, 0));
}

/// The flight at which losses reach 2 %: 3 of 100 packets lost, 97 were in flight before the first, and so on.
#[test]
fn inflight_at_loss_is_where_losses_crossed_the_threshold() {
    let (tp, mut cc) = (tp(), cc());
    let mut bbr = draft();
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
    let mut bbr = draft();
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
    assert!(draft().is_inflight_too_high(&marked));
    assert!(!google().is_inflight_too_high(&marked));
    assert!(!version_2().is_inflight_too_high(&marked));
}

/// DCTCP's share: 1 at first, then a sixteenth of the way to each round's share.
#[test]
fn google_cuts_by_the_share_of_marks_on_paths_with_early_marking() {
    let (mut tp, mut cc) = (tp(), cc());
    tp.min_rtt_us = 1_000;
    let mut bbr = with::<GoogleV3>(&[("ecn_low", 1)]);
    bbr.init(&tp, &mut cc);
    assert_eq!(bbr.ecn.as_ref().map(|ecn| ecn.cut(256)), Some(256 - 85), "a third");
    for _ in 0..200 {
        tp.delivered += 100;
        bbr.rounds.started = true;
        bbr.update_ecn_marks(&tp, &cc, &RateSample::default());
    }
    let ecn = bbr.ecn.expect("the path marks early");
    assert_eq!(ecn.cut(256), 256, "nothing was marked for a long time");
    assert!(ecn.exceeds(51, 100) && !ecn.exceeds(50, 100));
}

#[test]
fn parameters_change_their_field() {
    assert_eq!(with::<Draft>(&[("beta_cut_percent", 40)]).tuning.beta.of(1_000), 600);
    assert_eq!(with::<V2Alpha>(&[("beta", 128)]).tuning.beta.of(1_000), 500);
    assert_eq!(with::<Draft>(&[("probe_rtt_win_ms", 3_000)]).tuning.probe_rtt_interval_us, 3_000_000);
}

/// 2 % in 1/256 are 1.95 %; a percentage that is set counts exactly, 1 % too.
#[test]
fn google_rounds_only_its_defaults_to_1_256() {
    let kept = |set: &[(&str, u64)]| {
        let Tuning { loss_thresh, beta, headroom, .. } = with::<GoogleV3>(set).tuning;
        [loss_thresh, beta, headroom].map(|share| share.of(25_600))
    };
    assert_eq!(kept(&[]), [500, 18_000, 3_800]);
    let set = [("loss_thresh_percent", 1), ("beta_cut_percent", 29), ("headroom_percent", 14)];
    assert_eq!(kept(&set), [256, 18_176, 3_584]);
}

/// After how many rounds of these delivery rates the pipe counts as full.
fn full_after<V: Version>(mut bbr: Bbr3<V>, rates: &[u32]) -> Option<usize> {
    rates.iter().position(|&rate| {
        take_rate(&mut bbr, rate, true);
        bbr.full_bw.full_bw_now
    })
}

fn take_rate<V: Version>(bbr: &mut Bbr3<V>, rate: u32, starts_round: bool) {
    bbr.delivery_rate = Bandwidth(rate);
    bbr.max_bw.take(Bandwidth(rate));
    bbr.rounds.started = starts_round;
    V::check_full_bw(bbr);
}

#[test]
fn three_rounds_with_less_than_a_quarter_more_fill_the_pipe() {
    let cases: [(&[u32], usize); 3] =
        [(&[100, 200, 400, 400, 400, 400], 5), (&[100, 124, 124, 124], 3), (&[100, 110, 120, 125, 125, 125, 125], 6)];
    for (rates, rounds) in cases {
        assert_eq!(full_after(draft(), rates), Some(rounds));
        assert_eq!(full_after(google(), rates), Some(rounds));
        assert_eq!(full_after(version_2(), rates), Some(rounds));
    }
}

#[test]
fn growth_within_a_round_counts_only_in_googles_version_3() {
    fn rounds_without_growth<V: Version>(mut bbr: Bbr3<V>) -> u8 {
        take_rate(&mut bbr, 100, true);
        take_rate(&mut bbr, 100, true);
        take_rate(&mut bbr, 200, false);
        bbr.full_bw.count()
    }
    assert_eq!((rounds_without_growth(draft()), rounds_without_growth(google())), (1, 0));
    assert_eq!(rounds_without_growth(version_2()), 1);
}

#[test]
fn a_probe_restarts_detection_and_full_bw_reached_stays_set() {
    let mut bbr = draft();
    bbr.full_bw.reach();
    bbr.full_bw.reset(Bandwidth(100));
    assert!(!bbr.full_bw.full_bw_now && bbr.full_bw.full_bw_reached);
    assert_eq!(full_after(bbr, &[110, 110, 110]), Some(2));
}

#[test]
fn version_2_detects_only_once() {
    let mut bbr = version_2();
    bbr.full_bw.reach();
    bbr.full_bw.reset(Bandwidth::ZERO);
    assert_eq!(full_after(bbr, &[100; 6]), None);
}

#[test]
fn sending_after_idle_time_starts_at_the_bandwidth() {
    let (tp, mut cc) = (tp(), cc());
    let mut bbr = draft();
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
    let mut bbr = draft();
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

/// The bound and the target after this loss in a probe.
fn after_loss<V: Version>(mut bbr: Bbr3<V>, lost: u32, tx_in_flight: u32) -> (u32, u32) {
    let (tp, mut cc) = (tp(), cc());
    bbr.init(&tp, &mut cc);
    bbr.long_term.is_bw_probe_sample = true;
    bbr.skb_marked_lost(&tp, &mut cc, &LostPacket { tx_in_flight, lost, is_app_limited: false, begins_range: true });
    (bbr.long_term.inflight_longterm, bbr.target_inflight(&tp, &cc))
}

proptest! {
    /// For any losses of a probe, the bound is at most what was in flight.
    #[test]
    fn the_bound_never_exceeds_the_flight_that_lost(tx_in_flight in 1_u32..10_000, lost in 1_u32..10_000) {
        let lost = lost.min(tx_in_flight);
        for (bound, target) in [after_loss(draft(), lost, tx_in_flight), after_loss(google(), lost, tx_in_flight)] {
            let minimum = target * 7 / 10;
            prop_assert!(bound == u32::MAX || bound <= tx_in_flight.max(minimum + 1), "{bound} of {tx_in_flight}");
        }
    }
}
