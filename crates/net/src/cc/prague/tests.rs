//! Prague's arithmetic, computed by hand.

use super::*;
use crate::cc::testing::{cc, tp};

fn started(parameters: &mut Parameters) -> (Prague, SenderState, CcState) {
    let (tp, mut cc) = (SenderState { ecn: true, srtt_us8: 20_000 * 8, ..tp() }, cc());
    let mut prague = Prague::new(parameters);
    prague.init(&tp, &mut cc);
    (prague, tp, cc)
}

/// An ACK for `packets`, `marks` of them marked, at the end of a round trip or not.
fn ack(prague: &mut Prague, tp: &mut SenderState, cc: &mut CcState, packets: u32, marks: u64, ends_round: bool) {
    tp.delivered += u64::from(packets);
    tp.delivered_ce += marks;
    tp.now += Span::from_micros(50);
    if ends_round {
        tp.snd_nxt += u64::from(packets * tp.mss);
        tp.snd_una = tp.snd_nxt;
    } else {
        tp.snd_nxt = tp.snd_nxt.max(tp.snd_una + 1_000_000);
    }
    prague.cong_control(tp, cc, &RateSample { acked_sacked: packets, ..RateSample::default() });
}

fn avoiding(prague: &mut Prague, cc: &mut CcState, window: u32) {
    (cc.cwnd, cc.ssthresh) = (window, window);
    prague.window = u64::from(window) << POINT;
}

#[test]
fn slow_start_doubles_and_the_fractional_window_follows() {
    let (mut prague, mut tp, mut cc) = started(&mut Parameters::default());
    ack(&mut prague, &mut tp, &mut cc, 10, 0, true);
    assert_eq!((cc.cwnd, prague.window), (20, 20 << POINT));
    assert!(cc.paced);
    let rate = 2 * 20 * 1_500 * 50; // Twice the window in 20 ms, headers included.
    assert!(cc.pacing_rate.as_bytes().abs_diff(rate) < 100, "{:?}", cc.pacing_rate);
}

#[test]
fn a_window_of_unmarked_packets_adds_one() {
    let (mut prague, mut tp, mut cc) = started(&mut Parameters::default());
    avoiding(&mut prague, &mut cc, 100);
    for _ in 0..100 {
        ack(&mut prague, &mut tp, &mut cc, 1, 0, false);
    }
    let grown = prague.window - (100 << POINT);
    assert!(grown.abs_diff(ONE) < ONE / 100, "{grown}: 100 times 1/W, W from 100 to 101");
    assert_eq!(cc.cwnd, 101, "the sender's window is rounded up");
}

#[test]
fn marked_packets_add_nothing() {
    let (mut prague, mut tp, mut cc) = started(&mut Parameters::default());
    avoiding(&mut prague, &mut cc, 100);
    ack(&mut prague, &mut tp, &mut cc, 2, 2, false);
    assert_eq!(prague.window, 100 << POINT);
    ack(&mut prague, &mut tp, &mut cc, 2, 1, false);
    assert!(prague.window > 100 << POINT);
}

#[test]
fn a_mark_reduces_by_half_of_alphas_share_packet_by_packet() {
    let (mut prague, mut tp, mut cc) = started(&mut Parameters::default());
    avoiding(&mut prague, &mut cc, 100);
    prague.set_state(&tp, &mut cc, CaState::Cwr);
    assert_eq!(prague.window >> POINT, 50, "alpha starts at 1");
    tp.state = CaState::Cwr;
    ack(&mut prague, &mut tp, &mut cc, 1, 1, false);
    assert_eq!((cc.cwnd, cc.ssthresh), (99, 99), "one packet per ACK");
}

#[test]
fn alpha_waits_for_the_first_mark_and_then_decays_slowly() {
    let (mut prague, mut tp, mut cc) = started(&mut Parameters::default());
    avoiding(&mut prague, &mut cc, 100);
    ack(&mut prague, &mut tp, &mut cc, 10, 0, true);
    assert_eq!(prague.alpha.share(), 1 << POINT);
    ack(&mut prague, &mut tp, &mut cc, 10, 5, true);
    // 1 − 1/16 + (1/2)/16
    assert_eq!(prague.alpha.share(), (1 << POINT) * 31 / 32);
    for _ in 0..300 {
        ack(&mut prague, &mut tp, &mut cc, 16, 4, true);
    }
    assert!(prague.alpha.share().abs_diff(1 << 18) < 1 << 10, "a quarter");
}

/// 12.5 ms is half of the target: a quarter of the growth, and a reaction to marks once per 25 ms.
#[test]
fn a_short_round_trip_grows_as_a_long_one_after_the_transition() {
    let set = [("prague_rtt_transition".into(), crate::cc::Setting::Number(3))];
    let (mut prague, mut tp, mut cc) = started(&mut Parameters::of(set));
    avoiding(&mut prague, &mut cc, 100);
    tp.srtt_us8 = 12_480 * 8; // 97 units of 128 µs, with a target of 195.
    for _ in 0..2 {
        ack(&mut prague, &mut tp, &mut cc, 1, 0, true);
    }
    assert_eq!(prague.scaling.increase, ONE);
    for _ in 0..2 {
        ack(&mut prague, &mut tp, &mut cc, 1, 0, true);
    }
    assert_eq!(prague.scaling.increase, (ONE * 97 * 97 + 195 * 195 / 2) / (195 * 195));
    let window = prague.window;
    prague.cut_at = tp.now;
    tp.now += Span::from_millis(24);
    prague.set_state(&tp, &mut cc, CaState::Cwr);
    assert_eq!(prague.window, window, "24 ms after the last reduction");
    tp.now += Span::from_millis(1);
    prague.set_state(&tp, &mut cc, CaState::Cwr);
    assert!(prague.window < window);
}

#[test]
fn a_loss_halves_the_window_and_an_undo_restores_it() {
    let (mut prague, mut tp, mut cc) = started(&mut Parameters::default());
    avoiding(&mut prague, &mut cc, 100);
    prague.set_state(&tp, &mut cc, CaState::Recovery);
    assert_eq!((prague.window >> POINT, prague.in_loss), (50, true));
    tp.state = CaState::Recovery;
    cc.cwnd = 70;
    assert_eq!((prague.undo_cwnd(&tp, &mut cc), prague.window >> POINT), (100, 100));
}

#[test]
fn a_burst_is_a_quarter_of_a_millisecond() {
    let (mut prague, tp, mut cc) = started(&mut Parameters::default());
    avoiding(&mut prague, &mut cc, 1_640);
    prague.update_pacing(&tp, &mut cc);
    assert_eq!(prague.tso_segments(), Some(20), "82,000 packets per second / 4096");
    avoiding(&mut prague, &mut cc, 10);
    prague.update_pacing(&tp, &mut cc);
    assert_eq!(prague.tso_segments(), Some(1));
}

#[test]
fn without_accurate_ecn_it_is_reno() {
    let (tp, mut cc) = (tp(), cc());
    let mut prague = Prague::new(&mut Parameters::default());
    prague.init(&tp, &mut cc);
    assert_eq!((prague.name(), prague.has_cong_control(), prague.tso_segments()), ("prague-reno", false, None));
    cc.cwnd = 100;
    assert_eq!(prague.ssthresh(&tp, &mut cc), 50);
}
