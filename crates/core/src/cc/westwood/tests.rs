//! What Westwood+ makes of its estimate.

use super::*;
use crate::cc::testing::{ms, vitals};
use crate::time::{Span, Time};

/// Acknowledges a packet every 4 ms for `millis`, 40 ms after each was sent.
fn run(westwood: &mut Westwood, vitals: &mut Vitals, millis: u64) {
    let sample = AckSample { acked: 1, rtt: Some(Span::from_millis(40)), in_flight: 10 };
    let end = vitals.now + Span::from_millis(millis);
    while vitals.now < end {
        vitals.now += Span::from_millis(4);
        vitals.snd_una += 1_448;
        westwood.on_acked(vitals, &sample);
        westwood.on_ack(vitals, true);
    }
}

fn established() -> (Westwood, Vitals) {
    let (mut westwood, mut vitals) = (Westwood::default(), Vitals { cwnd: 40, ..vitals() });
    westwood.start(&mut vitals);
    (westwood, vitals)
}

/// A packet a jiffy over 10 jiffies are 10 packets, however large the window was.
#[test]
fn after_a_recovery_the_window_is_what_the_path_carried() {
    let (mut westwood, mut vitals) = established();
    run(&mut westwood, &mut vitals, 2_000);
    assert_eq!(westwood.ssthresh(&mut vitals), 20, "while it lasts");
    westwood.on_event(&mut vitals, Event::CompleteCwr);
    assert!((9..=10).contains(&vitals.cwnd), "{}", vitals.cwnd);
    assert_eq!(vitals.ssthresh, vitals.cwnd);
}

#[test]
fn a_timeout_sets_the_threshold_and_measures_the_round_trip_anew() {
    let (mut westwood, mut vitals) = established();
    run(&mut westwood, &mut vitals, 2_000);
    westwood.on_event(&mut vitals, Event::Loss);
    assert!((9..=10).contains(&vitals.ssthresh) && vitals.cwnd == 40);
    let slower = AckSample { acked: 1, rtt: Some(Span::from_millis(80)), in_flight: 10 };
    westwood.on_acked(&mut vitals, &slower);
    westwood.on_ack(&mut vitals, true);
    assert_eq!(westwood.least_rtt, 20, "jiffies");
}

#[test]
fn without_a_sample_two_packets_are_left() {
    let (mut westwood, mut vitals) = established();
    vitals.now = Time::ZERO + Span::from_millis(1_004);
    assert!(vitals.now > ms(1_000));
    westwood.on_event(&mut vitals, Event::CompleteCwr);
    assert_eq!((vitals.cwnd, vitals.ssthresh), (2, 2));
}
