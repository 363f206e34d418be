//! Westwood+'s use of its estimate.

use super::*;
use crate::cc::testing::{cc, ms, tp};
use crate::time::{Span, Time};

/// Acknowledges a packet every 4 ms for `millis`, 40 ms after each was sent.
fn run(westwood: &mut Westwood, tp: &mut SenderState, cc: &mut CcState, millis: u64) {
    let sample = AckSample { acked: 1, rtt: Some(Span::from_millis(40)), in_flight: 10 };
    let end = tp.now + Span::from_millis(millis);
    while tp.now < end {
        tp.now += Span::from_millis(4);
        tp.snd_una += 1_448;
        westwood.pkts_acked(tp, cc, &sample);
        westwood.in_ack_event(tp, cc, true);
    }
}

fn established() -> (Westwood, SenderState, CcState) {
    let (mut westwood, tp, mut cc) = (Westwood::default(), tp(), CcState { cwnd: 40, ..cc() });
    westwood.init(&tp, &mut cc);
    (westwood, tp, cc)
}

/// One packet per jiffy over 10 jiffies are 10 packets, however large the window was.
#[test]
fn after_a_recovery_the_window_is_the_measured_bdp() {
    let (mut westwood, mut tp, mut cc) = established();
    run(&mut westwood, &mut tp, &mut cc, 2_000);
    assert_eq!(westwood.ssthresh(&tp, &mut cc), 20, "during recovery");
    westwood.cwnd_event(&tp, &mut cc, Event::CompleteCwr);
    assert!((9..=10).contains(&cc.cwnd), "{}", cc.cwnd);
    assert_eq!(cc.ssthresh, cc.cwnd);
}

#[test]
fn a_timeout_sets_the_threshold_and_restarts_the_minimum() {
    let (mut westwood, mut tp, mut cc) = established();
    run(&mut westwood, &mut tp, &mut cc, 2_000);
    westwood.cwnd_event(&tp, &mut cc, Event::Loss);
    assert!((9..=10).contains(&cc.ssthresh) && cc.cwnd == 40);
    let slower = AckSample { acked: 1, rtt: Some(Span::from_millis(80)), in_flight: 10 };
    westwood.pkts_acked(&tp, &mut cc, &slower);
    westwood.in_ack_event(&tp, &mut cc, true);
    assert_eq!(westwood.min_rtt, 20, "jiffies");
}

#[test]
fn without_a_sample_two_packets_remain() {
    let (mut westwood, mut tp, mut cc) = established();
    tp.now = Time::ZERO + Span::from_millis(1_004);
    assert!(tp.now > ms(1_000));
    westwood.cwnd_event(&tp, &mut cc, Event::CompleteCwr);
    assert_eq!((cc.cwnd, cc.ssthresh), (2, 2));
}
