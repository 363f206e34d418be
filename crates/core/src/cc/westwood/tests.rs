//! Westwood+'s use of its estimate.

use super::*;
use crate::cc::testing::{ms, tp};
use crate::time::{Span, Time};

/// Acknowledges a packet every 4 ms for `millis`, 40 ms after each was sent.
fn run(westwood: &mut Westwood, tp: &mut SenderState, millis: u64) {
    let sample = AckSample { acked: 1, rtt: Some(Span::from_millis(40)), in_flight: 10 };
    let end = tp.now + Span::from_millis(millis);
    while tp.now < end {
        tp.now += Span::from_millis(4);
        tp.snd_una += 1_448;
        westwood.pkts_acked(tp, &sample);
        westwood.in_ack_event(tp, true);
    }
}

fn established() -> (Westwood, SenderState) {
    let (mut westwood, mut tp) = (Westwood::default(), SenderState { cwnd: 40, ..tp() });
    westwood.init(&mut tp);
    (westwood, tp)
}

/// One packet per jiffy over 10 jiffies are 10 packets, however large the window was.
#[test]
fn after_a_recovery_the_window_is_the_measured_bdp() {
    let (mut westwood, mut tp) = established();
    run(&mut westwood, &mut tp, 2_000);
    assert_eq!(westwood.ssthresh(&mut tp), 20, "during recovery");
    westwood.cwnd_event(&mut tp, Event::CompleteCwr);
    assert!((9..=10).contains(&tp.cwnd), "{}", tp.cwnd);
    assert_eq!(tp.ssthresh, tp.cwnd);
}

#[test]
fn a_timeout_sets_the_threshold_and_restarts_the_minimum() {
    let (mut westwood, mut tp) = established();
    run(&mut westwood, &mut tp, 2_000);
    westwood.cwnd_event(&mut tp, Event::Loss);
    assert!((9..=10).contains(&tp.ssthresh) && tp.cwnd == 40);
    let slower = AckSample { acked: 1, rtt: Some(Span::from_millis(80)), in_flight: 10 };
    westwood.pkts_acked(&mut tp, &slower);
    westwood.in_ack_event(&mut tp, true);
    assert_eq!(westwood.min_rtt, 20, "jiffies");
}

#[test]
fn without_a_sample_two_packets_remain() {
    let (mut westwood, mut tp) = established();
    tp.now = Time::ZERO + Span::from_millis(1_004);
    assert!(tp.now > ms(1_000));
    westwood.cwnd_event(&mut tp, Event::CompleteCwr);
    assert_eq!((tp.cwnd, tp.ssthresh), (2, 2));
}
