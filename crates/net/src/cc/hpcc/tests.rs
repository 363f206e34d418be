//! HPCC's reaction: divisions, additive steps, and the reference window, which changes once per round trip.

use super::*;
use crate::cc::testing::{cc, tp};
use crate::cc::{ParameterInfo, Setting};
use crate::telemetry::Hop;
use crate::time::Time;
use alloc::vec::Vec;

/// A link of 100 Gbit/s: 125,000 bytes in the base round-trip time of 10 µs.
struct Link {
    hpcc: Hpcc,
    tp: SenderState,
    cc: CcState,
    at_ns: u64,
    sent_bytes: u64,
}

impl Link {
    fn new() -> Self {
        let set = [("base_rtt".into(), Setting::Number(10_000))];
        let mut hpcc = Hpcc::new(&mut Parameters::of(set));
        let (tp, mut cc) = (SenderState { mss: 1_000, ..tp() }, CcState { cwnd: 125, ..cc() });
        hpcc.init(&tp, &mut cc);
        let mut link = Self { hpcc, tp, cc, at_ns: 0, sent_bytes: 0 };
        link.ack(0, 0, 0);
        link
    }

    /// An ACK after `after_ns`, with `sent_bytes` sent and `queue_bytes` queued at the link.
    fn ack(&mut self, after_ns: u64, sent_bytes: u64, queue_bytes: u64) -> u64 {
        self.at_ns += after_ns;
        self.sent_bytes += sent_bytes;
        let mut stack = Stack::default();
        let rate = Rate::from_bits(100_000_000_000);
        stack.push(Hop { at: Time::from_nanos(self.at_ns), queue_bytes, sent_bytes: self.sent_bytes, rate });
        self.hpcc.on_telemetry(&stack);
        self.tp.snd_una += 1_000;
        self.hpcc.cong_control(&self.tp, &mut self.cc, &RateSample::default());
        self.hpcc.window_bytes
    }
}

#[test]
fn it_starts_with_the_initial_window_at_its_rate() {
    let link = Link::new();
    assert_eq!((link.cc.cwnd, link.cc.pacing_rate.as_bits()), (125, 100_000_000_000));
    assert!(link.cc.paced);
}

#[test]
fn a_queue_of_two_bdp_divides_the_window_by_three() {
    let mut link = Link::new();
    link.tp.snd_nxt = 10_000_000;
    link.ack(10_000, 125_000, 250_000);
    let window = link.ack(10_000, 125_000, 250_000);
    // U = 3, so 125,000 × 0.95 / 3 + 80, from the reference of the first ACK: 125,000 × 0.95 + 80.
    assert_eq!(window, (125_000 * 95 / 100 + 80) * 95 / 300 + 80);
}

#[test]
fn within_a_round_trip_every_ack_uses_the_same_reference() {
    let mut link = Link::new();
    link.tp.snd_nxt = 10_000_000;
    link.ack(10_000, 125_000, 125_000);
    let windows: Vec<u64> = (0..5).map(|_| link.ack(10_000, 125_000, 125_000)).collect();
    assert!(windows.iter().all(|window| *window == windows[0]), "{windows:?}");
}

#[test]
fn below_eta_it_adds_five_times_and_then_divides() {
    let mut link = Link::new();
    link.tp.snd_nxt = 1;
    link.ack(10_000, 125_000, 0);
    let mut windows = Vec::new();
    for _ in 0..6 {
        link.tp.snd_nxt = link.tp.snd_una;
        windows.push(link.ack(10_000, 50_000, 0));
    }
    let steps: Vec<u64> = windows.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(steps[..4], [80; 4], "{windows:?}");
    assert!(steps[4] > 5_000 && windows[5] == 125_000, "the link is 40 % full: {windows:?}");
}

#[test]
fn without_telemetry_the_window_is_constant() {
    let (tp, mut cc) = (tp(), cc());
    let mut hpcc = Hpcc::new(&mut Parameters::default());
    hpcc.init(&tp, &mut cc);
    hpcc.cong_control(&tp, &mut cc, &RateSample::default());
    assert_eq!(cc.cwnd, 10);
}

#[test]
fn its_defaults_are_the_papers() {
    let mut parameters = Parameters::default();
    let _ = Hpcc::new(&mut parameters);
    let known = parameters.known();
    let defaults: Vec<_> = known.iter().map(|ParameterInfo { name, default, .. }| (*name, &**default)).collect();
    assert_eq!(defaults, [("base_rtt", "0"), ("eta_percent", "95"), ("max_stage", "5"), ("w_ai", "80")]);
}
