//! Edge cases of both detectors.

use super::*;
use crate::cc::INFINITE_SSTHRESH;
use crate::cc::testing::{cc, tp};
use crate::rate::Rate;
use crate::time::{Span, Time};

/// A window of 20 in its first round, which began at 1 s.
fn started() -> (HyStart, SenderState, CcState) {
    let (mut tp, mut cc) = (tp(), cc());
    cc.cwnd = 20;
    tp.snd_nxt = 1_000_000;
    (HyStart::new(&tp), tp, cc)
}

fn at_us(micros: u64) -> Time {
    Time::ZERO + Span::from_secs(1) + Span::from_micros(micros)
}

/// Sends ACKs every 2 ms; returns the time in ms after the round's start at which slow start ends.
fn train_ends_at(tp: &mut SenderState, cc: &mut CcState, hystart: &mut HyStart) -> Option<u64> {
    (0..100).map(|number| 2 * number).find(|&at| {
        tp.now = at_us(at * 1_000);
        hystart.on_sample(tp, cc, 40_000, 40_000, &Tuning::default());
        cc.ssthresh != INFINITE_SSTHRESH
    })
}

#[test]
fn a_train_of_half_a_round_trip_ends_slow_start() {
    let (mut hystart, mut tp, mut cc) = started();
    assert_eq!(train_ends_at(&mut tp, &mut cc, &mut hystart), Some(22), "the first ACK later than 20 ms");
    assert_eq!(cc.ssthresh, 20);
    cc.ssthresh = INFINITE_SSTHRESH;
    assert_eq!(train_ends_at(&mut tp, &mut cc, &mut hystart), None, "it ends slow start only once");
}

#[test]
fn a_paced_train_must_last_a_full_round_trip() {
    let (mut hystart, mut tp, mut cc) = started();
    cc.paced = true;
    assert_eq!(train_ends_at(&mut tp, &mut cc, &mut hystart), Some(42));
}

#[test]
fn super_packets_lengthen_the_train_by_at_most_a_millisecond() {
    let (mut hystart, mut tp, mut cc) = started();
    cc.paced = true;
    cc.pacing_rate = Rate::from_bits(10_000_000);
    assert_eq!(aggregation_delay_us(&tp, &cc), 1_000);
    cc.pacing_rate = Rate::from_bits(8_000_000_000);
    assert_eq!(aggregation_delay_us(&tp, &cc), 261, "four times 65343 bytes at 1 GB/s");
    cc.pacing_rate = Rate::ZERO;
    assert_eq!(aggregation_delay_us(&tp, &cc), 0);
    cc.pacing_rate = Rate::from_bits(10_000_000);
    assert_eq!(train_ends_at(&mut tp, &mut cc, &mut hystart), Some(42));
}

#[test]
fn acks_further_apart_are_no_train() {
    let (mut hystart, mut tp, mut cc) = started();
    for number in 0..30 {
        tp.now = at_us(number * 2_001);
        hystart.on_sample(&tp, &mut cc, 40_000, 40_000, &Tuning::default());
    }
    assert_eq!(cc.ssthresh, INFINITE_SSTHRESH);
}

#[test]
fn delay_is_judged_by_the_ninth_sample() {
    let (mut hystart, mut tp, mut cc) = started();
    let found = (1..20).find(|number| {
        tp.now = at_us(number * 3_000);
        hystart.on_sample(&tp, &mut cc, 45_001, 40_000, &Tuning::default());
        cc.ssthresh != INFINITE_SSTHRESH
    });
    assert_eq!(found, Some(9));
}

/// The threshold is an eighth of the minimum round-trip time, limited to 4 to 16 ms.
#[test]
fn delay_may_grow_by_an_eighth_within_4_to_16_ms() {
    for (min_rtt_us, maximum) in
        [(1_000, 5_000), (32_000, 36_000), (80_000, 90_000), (128_000, 144_000), (400_000, 416_000)]
    {
        let judge = |rtt_us| {
            let mut hystart = HyStart { samples: SAMPLES, round_min_rtt_us: u32::MAX, ..HyStart::default() };
            hystart.is_delayed(rtt_us, min_rtt_us)
        };
        assert_eq!((judge(maximum), judge(maximum + 1)), (false, true), "{min_rtt_us}");
    }
}

#[test]
fn a_round_ends_with_the_byte_that_was_next_when_it_began() {
    let (mut hystart, mut tp, mut cc) = started();
    tp.now = at_us(5_000);
    tp.snd_una = 1_000_000;
    hystart.on_sample(&tp, &mut cc, 40_000, 40_000, &Tuning::default());
    assert_eq!(hystart.samples, 1);
    tp.snd_una = 1_000_001;
    tp.snd_nxt = 2_000_000;
    hystart.on_sample(&tp, &mut cc, 40_000, 40_000, &Tuning::default());
    assert_eq!((hystart.samples, hystart.round_end, hystart.round_start_us), (1, 2_000_000, 1_005_000));
}

#[test]
fn small_windows_are_exempt() {
    let (mut hystart, mut tp, mut cc) = started();
    cc.cwnd = 15;
    assert_eq!(train_ends_at(&mut tp, &mut cc, &mut hystart), None);
}
