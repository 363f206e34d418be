//! Vegas' rounds, worked out by hand: propagation is 99 999 µs, a microsecond more in its reckoning.

use super::*;
use crate::cc::testing::vitals;
use crate::time::Span;

/// A flow in avoidance with a window of 20, whose smallest round-trip time was 100 ms.
fn flow(ssthresh: u32) -> (Vegas, Vitals) {
    let mut vegas = Vegas::new(&mut Parameters::default());
    let mut vitals = Vitals { cwnd: 20, ssthresh, ..vitals() };
    vegas.start(&mut vitals);
    vegas.on_acked(&mut vitals, &sample(100_000));
    (vegas, vitals)
}

fn sample(rtt_us: u64) -> AckSample {
    AckSample { acked: 1, rtt: Some(Span::from_micros(rtt_us - 1)), in_flight: 20 }
}

/// A round with this many samples of a delay, and the ACK that ends it.
fn round(vegas: &mut Vegas, vitals: &mut Vitals, rtt_us: u64, samples: u32) {
    vegas.round.begin(vitals);
    (0..samples).for_each(|_| vegas.on_acked(vitals, &sample(rtt_us)));
    vitals.snd_nxt += 20_000;
    vitals.snd_una = vegas_end(vitals);
    vegas.avoid(vitals, 1);
}

/// One byte beyond what was sent when the round began.
fn vegas_end(vitals: &Vitals) -> u64 {
    vitals.snd_nxt - 19_999
}

/// 20 packets of which 20 · 9/100 → 1, 2, 4 and 5 stand in the queue.
#[test]
fn the_window_keeps_two_to_four_packets_queued() {
    for (rtt_us, window) in [(109_000, 21), (110_000, 20), (124_000, 20), (125_000, 19)] {
        let (mut vegas, mut vitals) = flow(10);
        round(&mut vegas, &mut vitals, rtt_us, 3);
        assert_eq!(vitals.cwnd, window, "{rtt_us} us");
    }
}

/// Two queued packets end slow start at 20 · 100/110 = 18, and one more.
#[test]
fn slow_start_ends_when_two_packets_are_queued() {
    let (mut vegas, mut vitals) = flow(1_000);
    round(&mut vegas, &mut vitals, 110_000, 3);
    assert_eq!((vitals.cwnd, vitals.ssthresh), (19, 19));
    assert_eq!(vegas.insight(&vitals).phase, "avoidance");

    let (mut vegas, mut vitals) = flow(1_000);
    round(&mut vegas, &mut vitals, 109_000, 3);
    assert_eq!((vitals.cwnd, vegas.insight(&vitals).phase), (21, "slow_start"));
}

/// Of two samples both may be of delayed ACKs: then it grows as Reno, one packet a window.
#[test]
fn a_round_of_two_samples_is_not_judged() {
    let (mut vegas, mut vitals) = flow(10);
    round(&mut vegas, &mut vitals, 300_000, 2);
    assert_eq!((vitals.cwnd, vitals.cwnd_count), (20, 1));
}

#[test]
fn within_a_round_only_slow_start_grows() {
    let (mut vegas, mut vitals) = flow(10);
    vegas.avoid(&mut vitals, 1);
    assert_eq!((vitals.cwnd, vitals.cwnd_count), (20, 0));
    vitals.ssthresh = 1_000;
    vegas.avoid(&mut vitals, 1);
    assert_eq!(vitals.cwnd, 21);
}

#[test]
fn while_packets_are_missing_it_is_reno() {
    let (mut vegas, mut vitals) = flow(10);
    vegas.on_state(&mut vitals, CaState::Disorder);
    (0..20).for_each(|_| vegas.avoid(&mut vitals, 1));
    assert_eq!(vitals.cwnd, 21);
}

#[test]
fn an_idle_time_forgets_the_base_delay() {
    let (mut vegas, mut vitals) = flow(10);
    vegas.on_event(&mut vitals, Event::TxStart);
    round(&mut vegas, &mut vitals, 200_000, 3);
    assert_eq!(vitals.cwnd, 21, "nothing stands in the queue, it thinks");
}

#[test]
fn what_is_set_moves_the_marks() {
    let set = ["alpha", "beta"].map(|name| (name.into(), crate::cc::Setting::Number(10)));
    let mut vegas = Vegas::new(&mut Parameters::of(set));
    let (_, mut vitals) = flow(10);
    vegas.start(&mut vitals);
    vegas.on_acked(&mut vitals, &sample(100_000));
    round(&mut vegas, &mut vitals, 145_000, 3);
    assert_eq!(vitals.cwnd, 21, "nine are fewer than ten");
}
