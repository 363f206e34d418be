//! DCTCP's arithmetic, computed by hand from RFC 8257 with Linux's integers.

use super::*;
use crate::cc::testing::{cc, tp};

fn started() -> (Dctcp, SenderState, CcState) {
    let (tp, mut cc) = (SenderState { ecn: true, ..tp() }, cc());
    let mut dctcp = Dctcp::new(&mut Parameters::default());
    dctcp.init(&tp, &mut cc);
    (dctcp, tp, cc)
}

/// A round trip that delivers `delivered` packets, `marked` of them with CE.
fn round(dctcp: &mut Dctcp, tp: &mut SenderState, cc: &mut CcState, delivered: u64, marked: u64) {
    tp.snd_nxt += delivered * u64::from(tp.mss);
    tp.snd_una = tp.snd_nxt;
    tp.delivered += delivered;
    tp.delivered_ce += marked;
    dctcp.in_ack_event(tp, cc, true);
}

#[test]
fn alpha_decays_by_a_sixteenth_each_round_trip() {
    let (mut dctcp, mut tp, mut cc) = started();
    let alphas: [u32; 4] = core::array::from_fn(|_| {
        round(&mut dctcp, &mut tp, &mut cc, 10, 0);
        dctcp.alpha
    });
    assert_eq!(alphas, [960, 900, 844, 792], "1024, then each less its sixteenth, rounded down");
    for _ in 0..100 {
        round(&mut dctcp, &mut tp, &mut cc, 10, 0);
    }
    assert_eq!(dctcp.alpha, 0, "values below 16 drop to 0");
}

#[test]
fn alpha_converges_to_the_share_of_marked_packets() {
    let (mut dctcp, mut tp, mut cc) = started();
    for _ in 0..100 {
        round(&mut dctcp, &mut tp, &mut cc, 40, 10);
    }
    // 64 × 10/40 = 16 per round, which is what alpha = 256..271 loses in one.
    assert_eq!(dctcp.alpha, 271);
    assert_eq!(dctcp.cc_info(&tp, &cc).marked_share, Some(271 << 10));
}

#[test]
fn a_round_is_evaluated_at_its_end() {
    let (mut dctcp, mut tp, mut cc) = started();
    tp.snd_nxt += 10_000;
    round(&mut dctcp, &mut tp, &mut cc, 1, 0);
    let alpha = dctcp.alpha;
    tp.snd_una = tp.snd_nxt - 1;
    dctcp.round_end = tp.snd_nxt;
    dctcp.in_ack_event(&tp, &mut cc, true);
    assert_eq!(dctcp.alpha, alpha);
}

#[test]
fn the_reduction_is_half_of_alphas_share() {
    let (mut dctcp, tp, mut cc) = started();
    cc.cwnd = 100;
    assert_eq!(dctcp.ssthresh(&tp, &mut cc), 50, "alpha starts at 1");
    dctcp.alpha = 256;
    assert_eq!(dctcp.ssthresh(&tp, &mut cc), 88, "100 × 256 / 2048 = 12");
    cc.cwnd = 3;
    dctcp.alpha = 1_024;
    assert_eq!(dctcp.ssthresh(&tp, &mut cc), 2);
}

#[test]
fn a_loss_halves_the_window_once() {
    let (mut dctcp, mut tp, mut cc) = started();
    dctcp.alpha = 64;
    (cc.cwnd, tp.state) = (100, CaState::Disorder);
    cc.ssthresh = dctcp.ssthresh(&tp, &mut cc);
    assert_eq!(cc.ssthresh, 97);
    dctcp.set_state(&tp, &mut cc, CaState::Recovery);
    assert_eq!(cc.ssthresh, 50);
    tp.state = CaState::Recovery;
    cc.cwnd = 60;
    dctcp.set_state(&tp, &mut cc, CaState::Recovery);
    assert_eq!((cc.ssthresh, dctcp.undo_cwnd(&tp, &mut cc)), (50, 100));
    dctcp.cwnd_event(&tp, &mut cc, Event::Loss);
    assert_eq!(cc.ssthresh, 30);
}

#[test]
fn without_ecn_it_is_reno() {
    let (tp, mut cc) = (tp(), cc());
    let mut dctcp = Dctcp::new(&mut Parameters::default());
    dctcp.init(&tp, &mut cc);
    assert_eq!(dctcp.name(), "dctcp-reno");
    cc.cwnd = 100;
    dctcp.alpha = 0;
    assert_eq!(dctcp.ssthresh(&tp, &mut cc), 50);
    assert_eq!(dctcp.cc_info(&tp, &cc).marked_share, None);
}
