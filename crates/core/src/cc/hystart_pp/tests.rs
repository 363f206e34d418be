//! RFC 9406's rules, one by one.

use super::*;
use crate::cc::Reno;
use crate::cc::testing::vitals;
use crate::time::Span;

fn begun() -> (HyStartPp<Reno>, Vitals) {
    let mut vitals = vitals();
    let mut one = HyStartPp::before(Reno);
    vitals.snd_nxt = 10 * 1_448;
    one.start(&mut vitals);
    (one, vitals)
}

/// An ACK for so many packets with a round-trip time.
fn ack(one: &mut HyStartPp<Reno>, vitals: &mut Vitals, packets: u32, rtt_ms: u64) {
    one.on_acked(vitals, &AckSample { acked: packets, rtt: Some(Span::from_millis(rtt_ms)), in_flight: 0 });
    one.avoid(vitals, packets);
}

/// A round of so many ACKs of one packet.
fn round(one: &mut HyStartPp<Reno>, vitals: &mut Vitals, acks: u32, rtt_ms: u64) {
    vitals.snd_una = one.round_end - 1;
    vitals.snd_nxt = one.round_end + 1_000_000;
    for number in 1..=acks {
        if number == acks {
            vitals.snd_una = one.round_end;
        }
        ack(one, vitals, 1, rtt_ms);
    }
}

fn is_conservative(one: &HyStartPp<Reno>) -> bool {
    matches!(one.phase, Phase::Conservative { .. })
}

#[test]
fn an_eighth_more_round_trip_begins_the_conservative_part() {
    for (rtt_ms, calm_ms, late_ms) in [(80, 89, 90), (20, 23, 24), (400, 415, 416)] {
        for (next_ms, expected) in [(calm_ms, false), (late_ms, true)] {
            let (mut one, mut vitals) = begun();
            round(&mut one, &mut vitals, 10, rtt_ms);
            round(&mut one, &mut vitals, 10, next_ms);
            assert_eq!(is_conservative(&one), expected, "{rtt_ms} then {next_ms} ms");
        }
    }
}

#[test]
fn eight_samples_are_needed() {
    let (mut one, mut vitals) = begun();
    round(&mut one, &mut vitals, 10, 80);
    round(&mut one, &mut vitals, 7, 200);
    assert!(!is_conservative(&one));
    round(&mut one, &mut vitals, 8, 400);
    assert!(is_conservative(&one), "200 ms was the last round's smallest");
}

#[test]
fn conservative_growth_is_a_quarter() {
    let (mut one, mut vitals) = begun();
    ack(&mut one, &mut vitals, 2, 80);
    assert_eq!(vitals.cwnd, 12);
    one.phase = Phase::Conservative { rounds: 0, baseline_us: 1 };
    for _ in 0..10 {
        ack(&mut one, &mut vitals, 2, 80);
    }
    assert_eq!(vitals.cwnd, 12 + 20 / 4);
    assert_eq!(one.insight(&vitals).phase, "conservative_slow_start");
}

#[test]
fn unpaced_growth_is_eight_packets_an_ack_at_most() {
    let (mut one, mut vitals) = begun();
    ack(&mut one, &mut vitals, 30, 80);
    assert_eq!(vitals.cwnd, 18);
    vitals.paced = true;
    ack(&mut one, &mut vitals, 30, 80);
    assert_eq!(vitals.cwnd, 48);
}

/// The round in which it begins counts: four more, then slow start is over.
#[test]
fn five_conservative_rounds_end_slow_start() {
    let (mut one, mut vitals) = begun();
    round(&mut one, &mut vitals, 10, 80);
    for rounds in 1..=5 {
        assert!(vitals.in_slow_start(), "round {rounds}");
        round(&mut one, &mut vitals, 10, 100);
    }
    assert_eq!((one.phase, vitals.ssthresh), (Phase::Over, vitals.cwnd), "{}", vitals.cwnd);
    let window = vitals.cwnd;
    ack(&mut one, &mut vitals, 1, 100);
    assert_eq!(vitals.cwnd, window, "Reno's avoidance now");
}

#[test]
fn a_round_trip_below_the_baseline_was_a_mistake() {
    let (mut one, mut vitals) = begun();
    round(&mut one, &mut vitals, 10, 80);
    round(&mut one, &mut vitals, 10, 100);
    assert!(is_conservative(&one));
    round(&mut one, &mut vitals, 10, 99);
    assert_eq!(one.phase, Phase::Fast);
    round(&mut one, &mut vitals, 10, 112);
    assert!(is_conservative(&one), "and it may begin again: 99 + 12.4");
}

#[test]
fn only_the_first_slow_start_is_its_own() {
    let (mut one, mut vitals) = begun();
    vitals.ssthresh = 50;
    ack(&mut one, &mut vitals, 30, 80);
    assert_eq!((vitals.cwnd, one.phase), (40, Phase::Over), "thirty at once: Linux's slow start");
}
