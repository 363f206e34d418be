//! RFC 9406's rules.

use super::*;
use crate::cc::Reno;
use crate::cc::testing::{cc, tp};
use crate::time::Span;

fn begun() -> (HyStartPp<Reno>, SenderState, CcState) {
    let (mut tp, mut cc) = (tp(), cc());
    let mut hystart = HyStartPp::wrap(Reno);
    tp.snd_nxt = 10 * 1_448;
    hystart.init(&tp, &mut cc);
    (hystart, tp, cc)
}

/// An ACK for `packets` with a round-trip time.
fn ack(hystart: &mut HyStartPp<Reno>, tp: &SenderState, cc: &mut CcState, packets: u32, rtt_ms: u64) {
    hystart.pkts_acked(tp, cc, &AckSample { acked: packets, rtt: Some(Span::from_millis(rtt_ms)), in_flight: 0 });
    hystart.cong_avoid(tp, cc, packets);
}

/// A round of `acks` ACKs of one packet.
fn round(hystart: &mut HyStartPp<Reno>, tp: &mut SenderState, cc: &mut CcState, acks: u32, rtt_ms: u64) {
    tp.snd_una = hystart.round_end - 1;
    tp.snd_nxt = hystart.round_end + 1_000_000;
    for number in 1..=acks {
        if number == acks {
            tp.snd_una = hystart.round_end;
        }
        ack(hystart, tp, cc, 1, rtt_ms);
    }
}

fn is_conservative(hystart: &HyStartPp<Reno>) -> bool {
    matches!(hystart.phase, Phase::Conservative { .. })
}

#[test]
fn an_eighth_more_round_trip_time_starts_css() {
    for (rtt_ms, calm_ms, late_ms) in [(80, 89, 90), (20, 23, 24), (400, 415, 416)] {
        for (next_ms, expected) in [(calm_ms, false), (late_ms, true)] {
            let (mut hystart, mut tp, mut cc) = begun();
            round(&mut hystart, &mut tp, &mut cc, 10, rtt_ms);
            round(&mut hystart, &mut tp, &mut cc, 10, next_ms);
            assert_eq!(is_conservative(&hystart), expected, "{rtt_ms} then {next_ms} ms");
        }
    }
}

#[test]
fn eight_samples_are_needed() {
    let (mut hystart, mut tp, mut cc) = begun();
    round(&mut hystart, &mut tp, &mut cc, 10, 80);
    round(&mut hystart, &mut tp, &mut cc, 7, 200);
    assert!(!is_conservative(&hystart));
    round(&mut hystart, &mut tp, &mut cc, 8, 400);
    assert!(is_conservative(&hystart), "200 ms was the previous round's minimum");
}

#[test]
fn conservative_growth_is_a_quarter() {
    let (mut hystart, tp, mut cc) = begun();
    ack(&mut hystart, &tp, &mut cc, 2, 80);
    assert_eq!(cc.cwnd, 12);
    hystart.phase = Phase::Conservative { rounds: 0, baseline_us: 1 };
    for _ in 0..10 {
        ack(&mut hystart, &tp, &mut cc, 2, 80);
    }
    assert_eq!(cc.cwnd, 12 + 20 / 4);
    assert_eq!(hystart.cc_info(&tp, &cc).phase, "conservative_slow_start");
}

#[test]
fn unpaced_growth_is_at_most_eight_packets_per_ack() {
    let (mut hystart, tp, mut cc) = begun();
    ack(&mut hystart, &tp, &mut cc, 30, 80);
    assert_eq!(cc.cwnd, 18);
    cc.paced = true;
    ack(&mut hystart, &tp, &mut cc, 30, 80);
    assert_eq!(cc.cwnd, 48);
}

/// The round in which CSS starts counts: after four more, slow start is over.
#[test]
fn five_conservative_rounds_end_slow_start() {
    let (mut hystart, mut tp, mut cc) = begun();
    round(&mut hystart, &mut tp, &mut cc, 10, 80);
    for rounds in 1..=5 {
        assert!(cc.in_slow_start(), "round {rounds}");
        round(&mut hystart, &mut tp, &mut cc, 10, 100);
    }
    assert_eq!((hystart.phase, cc.ssthresh), (Phase::Over, cc.cwnd), "{}", cc.cwnd);
    let window = cc.cwnd;
    ack(&mut hystart, &tp, &mut cc, 1, 100);
    assert_eq!(cc.cwnd, window, "Reno's avoidance from here");
}

#[test]
fn a_round_trip_time_below_the_baseline_resumes_slow_start() {
    let (mut hystart, mut tp, mut cc) = begun();
    round(&mut hystart, &mut tp, &mut cc, 10, 80);
    round(&mut hystart, &mut tp, &mut cc, 10, 100);
    assert!(is_conservative(&hystart));
    round(&mut hystart, &mut tp, &mut cc, 10, 99);
    assert_eq!(hystart.phase, Phase::Fast);
    round(&mut hystart, &mut tp, &mut cc, 10, 112);
    assert!(is_conservative(&hystart), "CSS may start again: 99 + 12.4");
}

#[test]
fn only_the_first_slow_start_is_hystart_pp() {
    let (mut hystart, tp, mut cc) = begun();
    cc.ssthresh = 50;
    ack(&mut hystart, &tp, &mut cc, 30, 80);
    assert_eq!((cc.cwnd, hystart.phase), (40, Phase::Over), "thirty at once: Linux's slow start");
}
