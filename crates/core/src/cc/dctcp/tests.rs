//! DCTCP's arithmetic, worked out by hand from RFC 8257 with Linux's integers.

use super::*;
use crate::cc::testing::vitals;

fn started() -> (Dctcp, Vitals) {
    let mut vitals = Vitals { ecn: true, ..vitals() };
    let mut dctcp = Dctcp::new(&mut Parameters::default());
    dctcp.start(&mut vitals);
    (dctcp, vitals)
}

/// A round trip in which so many packets are delivered, `marked` of them with CE.
fn round(dctcp: &mut Dctcp, vitals: &mut Vitals, delivered: u64, marked: u64) {
    vitals.snd_nxt += delivered * u64::from(vitals.mss);
    vitals.snd_una = vitals.snd_nxt;
    vitals.delivered += delivered;
    vitals.delivered_ce += marked;
    dctcp.on_ack(vitals, true);
}

#[test]
fn alpha_forgets_a_sixteenth_each_round_trip() {
    let (mut dctcp, mut vitals) = started();
    let alphas: [u32; 4] = core::array::from_fn(|_| {
        round(&mut dctcp, &mut vitals, 10, 0);
        dctcp.alpha
    });
    assert_eq!(alphas, [960, 900, 844, 792], "1024, then each less its sixteenth, rounded down");
    for _ in 0..100 {
        round(&mut dctcp, &mut vitals, 10, 0);
    }
    assert_eq!(dctcp.alpha, 0, "what is below 16 goes at once");
}

#[test]
fn alpha_comes_to_the_share_of_marked_packets() {
    let (mut dctcp, mut vitals) = started();
    for _ in 0..100 {
        round(&mut dctcp, &mut vitals, 40, 10);
    }
    // 64 × 10/40 = 16 a round, which is what alpha = 256..271 loses in one.
    assert_eq!(dctcp.alpha, 271);
    assert_eq!(dctcp.insight(&vitals).marked_share, Some(271 << 10));
}

#[test]
fn a_round_is_judged_when_it_is_over() {
    let (mut dctcp, mut vitals) = started();
    vitals.snd_nxt += 10_000;
    round(&mut dctcp, &mut vitals, 1, 0);
    let alpha = dctcp.alpha;
    vitals.snd_una = vitals.snd_nxt - 1;
    dctcp.round_end = vitals.snd_nxt;
    dctcp.on_ack(&mut vitals, true);
    assert_eq!(dctcp.alpha, alpha);
}

#[test]
fn the_cut_is_half_of_alphas_share() {
    let (mut dctcp, mut vitals) = started();
    vitals.cwnd = 100;
    assert_eq!(dctcp.ssthresh(&mut vitals), 50, "alpha begins at 1");
    dctcp.alpha = 256;
    assert_eq!(dctcp.ssthresh(&mut vitals), 88, "100 × 256 / 2048 = 12");
    vitals.cwnd = 3;
    dctcp.alpha = 1_024;
    assert_eq!(dctcp.ssthresh(&mut vitals), 2);
}

#[test]
fn a_loss_halves_the_window_once() {
    let (mut dctcp, mut vitals) = started();
    dctcp.alpha = 64;
    (vitals.cwnd, vitals.state) = (100, CaState::Disorder);
    vitals.ssthresh = dctcp.ssthresh(&mut vitals);
    assert_eq!(vitals.ssthresh, 97);
    dctcp.on_state(&mut vitals, CaState::Recovery);
    assert_eq!(vitals.ssthresh, 50);
    vitals.state = CaState::Recovery;
    vitals.cwnd = 60;
    dctcp.on_state(&mut vitals, CaState::Recovery);
    assert_eq!((vitals.ssthresh, dctcp.undo_cwnd(&mut vitals)), (50, 100));
    dctcp.on_event(&mut vitals, Event::Loss);
    assert_eq!(vitals.ssthresh, 30);
}

#[test]
fn without_ecn_it_is_reno() {
    let mut vitals = vitals();
    let mut dctcp = Dctcp::new(&mut Parameters::default());
    dctcp.start(&mut vitals);
    assert_eq!(dctcp.name(), "dctcp-reno");
    vitals.cwnd = 100;
    dctcp.alpha = 0;
    assert_eq!(dctcp.ssthresh(&mut vitals), 50);
    assert_eq!(dctcp.insight(&vitals).marked_share, None);
}
