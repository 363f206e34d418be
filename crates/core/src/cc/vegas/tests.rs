//! Vegas' rounds, computed by hand: propagation is 99 999 µs, plus the microsecond that Vegas adds.

use super::*;
use crate::cc::testing::tp;
use crate::time::Span;

/// A flow in avoidance with a window of 20 and a minimum round-trip time of 100 ms.
fn flow(ssthresh: u32) -> (Vegas, SenderState) {
    let mut vegas = Vegas::new(&mut Parameters::default());
    let mut tp = SenderState { cwnd: 20, ssthresh, ..tp() };
    vegas.init(&mut tp);
    vegas.pkts_acked(&mut tp, &sample(100_000));
    (vegas, tp)
}

fn sample(rtt_us: u64) -> AckSample {
    AckSample { acked: 1, rtt: Some(Span::from_micros(rtt_us - 1)), in_flight: 20 }
}

/// A round with this many samples of a delay, and the ACK that ends it.
fn round(vegas: &mut Vegas, tp: &mut SenderState, rtt_us: u64, samples: u32) {
    vegas.round.begin(tp);
    (0..samples).for_each(|_| vegas.pkts_acked(tp, &sample(rtt_us)));
    tp.snd_nxt += 20_000;
    tp.snd_una = vegas_end(tp);
    vegas.cong_avoid(tp, 1);
}

/// One byte beyond what was sent when the round began.
fn vegas_end(tp: &SenderState) -> u64 {
    tp.snd_nxt - 19_999
}

/// 20 packets of which 20 · 9/100 → 1, 2, 4 and 5 are queued.
#[test]
fn the_window_keeps_two_to_four_packets_queued() {
    for (rtt_us, window) in [(109_000, 21), (110_000, 20), (124_000, 20), (125_000, 19)] {
        let (mut vegas, mut tp) = flow(10);
        round(&mut vegas, &mut tp, rtt_us, 3);
        assert_eq!(tp.cwnd, window, "{rtt_us} us");
    }
}

/// Two queued packets end slow start at 20 · 100/110 = 18, plus one.
#[test]
fn slow_start_ends_when_two_packets_are_queued() {
    let (mut vegas, mut tp) = flow(1_000);
    round(&mut vegas, &mut tp, 110_000, 3);
    assert_eq!((tp.cwnd, tp.ssthresh), (19, 19));
    assert_eq!(vegas.cc_info(&tp).phase, "avoidance");

    let (mut vegas, mut tp) = flow(1_000);
    round(&mut vegas, &mut tp, 109_000, 3);
    assert_eq!((tp.cwnd, vegas.cc_info(&tp).phase), (21, "slow_start"));
}

/// Two samples may both be from delayed ACKs: it grows as Reno, one packet per window.
#[test]
fn a_round_of_two_samples_is_not_evaluated() {
    let (mut vegas, mut tp) = flow(10);
    round(&mut vegas, &mut tp, 300_000, 2);
    assert_eq!((tp.cwnd, tp.cwnd_count), (20, 1));
}

#[test]
fn within_a_round_only_slow_start_grows() {
    let (mut vegas, mut tp) = flow(10);
    vegas.cong_avoid(&mut tp, 1);
    assert_eq!((tp.cwnd, tp.cwnd_count), (20, 0));
    tp.ssthresh = 1_000;
    vegas.cong_avoid(&mut tp, 1);
    assert_eq!(tp.cwnd, 21);
}

#[test]
fn while_packets_are_missing_it_is_reno() {
    let (mut vegas, mut tp) = flow(10);
    vegas.set_state(&mut tp, CaState::Disorder);
    (0..20).for_each(|_| vegas.cong_avoid(&mut tp, 1));
    assert_eq!(tp.cwnd, 21);
}

#[test]
fn idle_time_resets_the_base_delay() {
    let (mut vegas, mut tp) = flow(10);
    vegas.cwnd_event(&mut tp, Event::TxStart);
    round(&mut vegas, &mut tp, 200_000, 3);
    assert_eq!(tp.cwnd, 21, "the estimated queue is empty");
}

#[test]
fn parameters_change_the_thresholds() {
    let set = ["alpha", "beta"].map(|name| (name.into(), crate::cc::Setting::Number(10)));
    let mut vegas = Vegas::new(&mut Parameters::of(set));
    let (_, mut tp) = flow(10);
    vegas.init(&mut tp);
    vegas.pkts_acked(&mut tp, &sample(100_000));
    round(&mut vegas, &mut tp, 145_000, 3);
    assert_eq!(tp.cwnd, 21, "nine are fewer than ten");
}
