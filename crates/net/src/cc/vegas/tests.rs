//! Vegas' rounds, computed by hand: propagation is 99 999 µs, plus the microsecond that Vegas adds.

use super::*;
use crate::cc::testing::{cc, tp};
use crate::time::Span;

/// A flow in avoidance with a window of 20 and a minimum round-trip time of 100 ms.
fn flow(ssthresh: u32) -> (Vegas, SenderState, CcState) {
    let mut vegas = Vegas::new(&mut Parameters::default());
    let (tp, mut cc) = (tp(), CcState { cwnd: 20, ssthresh, ..cc() });
    vegas.init(&tp, &mut cc);
    vegas.pkts_acked(&tp, &mut cc, &sample(100_000));
    (vegas, tp, cc)
}

fn sample(rtt_us: u64) -> AckSample {
    AckSample { acked: 1, rtt: Some(Span::from_micros(rtt_us - 1)), in_flight: 20 }
}

/// A round with this many samples of a delay, and the ACK that ends it.
fn round(vegas: &mut Vegas, tp: &mut SenderState, cc: &mut CcState, rtt_us: u64, samples: u32) {
    vegas.round.begin(tp);
    (0..samples).for_each(|_| vegas.pkts_acked(tp, cc, &sample(rtt_us)));
    tp.snd_nxt += 20_000;
    tp.snd_una = vegas_end(tp);
    vegas.cong_avoid(tp, cc, 1);
}

/// One byte beyond what was sent when the round began.
fn vegas_end(tp: &SenderState) -> u64 {
    tp.snd_nxt - 19_999
}

/// 20 packets of which 20 · 9/100 → 1, 2, 4 and 5 are queued.
#[test]
fn the_window_keeps_two_to_four_packets_queued() {
    for (rtt_us, window) in [(109_000, 21), (110_000, 20), (124_000, 20), (125_000, 19)] {
        let (mut vegas, mut tp, mut cc) = flow(10);
        round(&mut vegas, &mut tp, &mut cc, rtt_us, 3);
        assert_eq!(cc.cwnd, window, "{rtt_us} us");
    }
}

/// Two queued packets end slow start at 20 · 100/110 = 18, plus one.
#[test]
fn slow_start_ends_when_two_packets_are_queued() {
    let (mut vegas, mut tp, mut cc) = flow(1_000);
    round(&mut vegas, &mut tp, &mut cc, 110_000, 3);
    assert_eq!((cc.cwnd, cc.ssthresh), (19, 19));
    assert_eq!(vegas.cc_info(&tp, &cc).phase, "avoidance");

    let (mut vegas, mut tp, mut cc) = flow(1_000);
    round(&mut vegas, &mut tp, &mut cc, 109_000, 3);
    assert_eq!((cc.cwnd, vegas.cc_info(&tp, &cc).phase), (21, "slow_start"));
}

/// Two samples may both be from delayed ACKs: it grows as Reno, one packet per window.
#[test]
fn a_round_of_two_samples_is_not_evaluated() {
    let (mut vegas, mut tp, mut cc) = flow(10);
    round(&mut vegas, &mut tp, &mut cc, 300_000, 2);
    assert_eq!((cc.cwnd, cc.cwnd_count), (20, 1));
}

#[test]
fn within_a_round_only_slow_start_grows() {
    let (mut vegas, tp, mut cc) = flow(10);
    vegas.cong_avoid(&tp, &mut cc, 1);
    assert_eq!((cc.cwnd, cc.cwnd_count), (20, 0));
    cc.ssthresh = 1_000;
    vegas.cong_avoid(&tp, &mut cc, 1);
    assert_eq!(cc.cwnd, 21);
}

#[test]
fn while_packets_are_missing_it_is_reno() {
    let (mut vegas, tp, mut cc) = flow(10);
    vegas.set_state(&tp, &mut cc, CaState::Disorder);
    (0..20).for_each(|_| vegas.cong_avoid(&tp, &mut cc, 1));
    assert_eq!(cc.cwnd, 21);
}

#[test]
fn idle_time_resets_the_base_delay() {
    let (mut vegas, mut tp, mut cc) = flow(10);
    vegas.cwnd_event(&tp, &mut cc, Event::TxStart);
    round(&mut vegas, &mut tp, &mut cc, 200_000, 3);
    assert_eq!(cc.cwnd, 21, "the estimated queue is empty");
}

#[test]
fn parameters_change_the_thresholds() {
    let set = ["alpha", "beta"].map(|name| (name.into(), crate::cc::Setting::Number(10)));
    let mut vegas = Vegas::new(&mut Parameters::of(set));
    let (_, mut tp, mut cc) = flow(10);
    vegas.init(&tp, &mut cc);
    vegas.pkts_acked(&tp, &mut cc, &sample(100_000));
    round(&mut vegas, &mut tp, &mut cc, 145_000, 3);
    assert_eq!(cc.cwnd, 21, "nine are fewer than ten");
}
