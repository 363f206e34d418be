//! Prague's arithmetic, worked out by hand.

use super::*;
use crate::cc::testing::vitals;

fn started(parameters: &mut Parameters) -> (Prague, Vitals) {
    let mut vitals = Vitals { ecn: true, srtt_us8: 20_000 * 8, ..vitals() };
    let mut prague = Prague::new(parameters);
    prague.start(&mut vitals);
    (prague, vitals)
}

/// An ACK for so many packets, `marks` of them marked, at the end of a round trip or not.
fn ack(prague: &mut Prague, vitals: &mut Vitals, packets: u32, marks: u64, ends_round: bool) {
    vitals.delivered += u64::from(packets);
    vitals.delivered_ce += marks;
    vitals.now += Span::from_micros(50);
    if ends_round {
        vitals.snd_nxt += u64::from(packets * vitals.mss);
        vitals.snd_una = vitals.snd_nxt;
    } else {
        vitals.snd_nxt = vitals.snd_nxt.max(vitals.snd_una + 1_000_000);
    }
    prague.control(vitals, &RateSample { acked_sacked: packets, ..RateSample::default() });
}

fn avoiding(prague: &mut Prague, vitals: &mut Vitals, window: u32) {
    (vitals.cwnd, vitals.ssthresh) = (window, window);
    prague.window = u64::from(window) << POINT;
}

#[test]
fn slow_start_doubles_and_the_fraction_follows() {
    let (mut prague, mut vitals) = started(&mut Parameters::default());
    ack(&mut prague, &mut vitals, 10, 0, true);
    assert_eq!((vitals.cwnd, prague.window), (20, 20 << POINT));
    assert!(vitals.paced);
    let rate = 2 * 20 * 1_500 * 50; // Twice the window in 20 ms, headers included.
    assert!(vitals.pacing_rate.as_bytes().abs_diff(rate) < 100, "{:?}", vitals.pacing_rate);
}

#[test]
fn a_window_of_unmarked_packets_is_worth_one() {
    let (mut prague, mut vitals) = started(&mut Parameters::default());
    avoiding(&mut prague, &mut vitals, 100);
    for _ in 0..100 {
        ack(&mut prague, &mut vitals, 1, 0, false);
    }
    let grown = prague.window - (100 << POINT);
    assert!(grown.abs_diff(ONE) < ONE / 100, "{grown}: 100 times 1/W, W from 100 to 101");
    assert_eq!(vitals.cwnd, 101, "what is begun is allowed");
}

#[test]
fn marked_packets_grow_nothing() {
    let (mut prague, mut vitals) = started(&mut Parameters::default());
    avoiding(&mut prague, &mut vitals, 100);
    ack(&mut prague, &mut vitals, 2, 2, false);
    assert_eq!(prague.window, 100 << POINT);
    ack(&mut prague, &mut vitals, 2, 1, false);
    assert!(prague.window > 100 << POINT);
}

#[test]
fn a_mark_cuts_half_of_alphas_share_packet_by_packet() {
    let (mut prague, mut vitals) = started(&mut Parameters::default());
    avoiding(&mut prague, &mut vitals, 100);
    prague.on_state(&mut vitals, CaState::Cwr);
    assert_eq!(prague.window >> POINT, 50, "alpha begins at 1");
    vitals.state = CaState::Cwr;
    ack(&mut prague, &mut vitals, 1, 1, false);
    assert_eq!((vitals.cwnd, vitals.ssthresh), (99, 99), "one packet an ACK");
}

#[test]
fn alpha_waits_for_the_first_mark_and_then_forgets_slowly() {
    let (mut prague, mut vitals) = started(&mut Parameters::default());
    avoiding(&mut prague, &mut vitals, 100);
    ack(&mut prague, &mut vitals, 10, 0, true);
    assert_eq!(prague.alpha.share(), 1 << POINT);
    ack(&mut prague, &mut vitals, 10, 5, true);
    // 1 − 1/16 + (1/2)/16
    assert_eq!(prague.alpha.share(), (1 << POINT) * 31 / 32);
    for _ in 0..300 {
        ack(&mut prague, &mut vitals, 16, 4, true);
    }
    assert!(prague.alpha.share().abs_diff(1 << 18) < 1 << 10, "a quarter");
}

/// 12.5 ms is half of the target: a quarter of the growth, and marks are answered once in 25 ms.
#[test]
fn a_short_round_trip_grows_as_a_long_one_after_its_transition() {
    let set = [("prague_rtt_transition".into(), crate::cc::Setting::Number(3))];
    let (mut prague, mut vitals) = started(&mut Parameters::of(set));
    avoiding(&mut prague, &mut vitals, 100);
    vitals.srtt_us8 = 12_480 * 8; // 97 units of 128 µs, where the target is 195.
    for _ in 0..2 {
        ack(&mut prague, &mut vitals, 1, 0, true);
    }
    assert_eq!(prague.scaling.increase, ONE);
    for _ in 0..2 {
        ack(&mut prague, &mut vitals, 1, 0, true);
    }
    assert_eq!(prague.scaling.increase, (ONE * 97 * 97 + 195 * 195 / 2) / (195 * 195));
    let window = prague.window;
    prague.cut_at = vitals.now;
    vitals.now += Span::from_millis(24);
    prague.on_state(&mut vitals, CaState::Cwr);
    assert_eq!(prague.window, window, "24 ms after the last cut");
    vitals.now += Span::from_millis(1);
    prague.on_state(&mut vitals, CaState::Cwr);
    assert!(prague.window < window);
}

#[test]
fn a_loss_halves_the_window_and_an_undo_gives_it_back() {
    let (mut prague, mut vitals) = started(&mut Parameters::default());
    avoiding(&mut prague, &mut vitals, 100);
    prague.on_state(&mut vitals, CaState::Recovery);
    assert_eq!((prague.window >> POINT, prague.in_loss), (50, true));
    vitals.state = CaState::Recovery;
    vitals.cwnd = 70;
    assert_eq!((prague.undo_cwnd(&mut vitals), prague.window >> POINT), (100, 100));
}

#[test]
fn a_burst_is_a_quarter_of_a_millisecond() {
    let (mut prague, mut vitals) = started(&mut Parameters::default());
    avoiding(&mut prague, &mut vitals, 1_640);
    prague.update_pacing(&mut vitals);
    assert_eq!(prague.tso_segments(), Some(20), "82,000 packets a second / 4096");
    avoiding(&mut prague, &mut vitals, 10);
    prague.update_pacing(&mut vitals);
    assert_eq!(prague.tso_segments(), Some(1));
}

#[test]
fn without_accurate_ecn_it_is_reno() {
    let mut vitals = vitals();
    let mut prague = Prague::new(&mut Parameters::default());
    prague.start(&mut vitals);
    assert_eq!((prague.name(), prague.controls(), prague.tso_segments()), ("prague-reno", false, None));
    vitals.cwnd = 100;
    assert_eq!(prague.ssthresh(&mut vitals), 50);
}
