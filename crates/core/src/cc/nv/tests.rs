//! NV's decisions, worked out by hand. Packets of 1448 bytes; the smallest round-trip time is 1 ms.

use super::*;
use crate::cc::testing::vitals;
use crate::time::Span;

struct Flow {
    nv: Nv,
    vitals: Vitals,
}

impl Flow {
    fn new(cwnd: u32, ssthresh: u32) -> Self {
        let mut nv = Nv::new(&mut Parameters::default(), Dice::named(1, "nv"));
        let mut vitals = Vitals { cwnd, ssthresh, ..vitals() };
        nv.start(&mut vitals);
        vitals.snd_nxt += 1_448 * 1_000;
        Self { nv, vitals }
    }

    /// So many ACKs of a packet, the first of which ends a round trip.
    fn round(&mut self, acks: u64, rtt_us: u64, in_flight: u32) {
        self.nv.round.ends = self.vitals.snd_una;
        for _ in 0..acks {
            self.vitals.snd_una += 1_448;
            self.vitals.snd_nxt = self.vitals.snd_una + 1_448 * 1_000;
            let sample = AckSample { acked: 1, rtt: Some(Span::from_micros(rtt_us)), in_flight };
            self.nv.on_acked(&mut self.vitals, &sample);
        }
    }
}

/// 100 packets at 1.5 ms, the mean of the first two, are 66 a millisecond, so that 76 are right; 24 · 38/128 = 7 fewer.
#[test]
fn a_queue_takes_a_third_of_the_excess_away() {
    let mut flow = Flow::new(100, 50);
    flow.round(1, 1_000, 2);
    for _ in 0..3 {
        flow.round(40, 2_000, 100);
    }
    assert_eq!((flow.vitals.cwnd, flow.vitals.ssthresh), (93, 76));
    assert_eq!(flow.nv.insight(&flow.vitals).phase, "holding");
    let count = flow.vitals.cwnd_count;
    flow.nv.avoid(&mut flow.vitals, 5);
    assert_eq!((flow.vitals.cwnd, flow.vitals.cwnd_count), (93, count));
}

/// 57 of 60 are allowed: growth; 59 are neither too many nor few enough.
#[test]
fn without_a_queue_the_window_may_grow() {
    for (cwnd, grows) in [(58, true), (59, false)] {
        let mut flow = Flow::new(cwnd, 50);
        flow.nv.may_grow = false;
        flow.round(1, 1_000, 2);
        for _ in 0..3 {
            flow.round(40, 1_000, 50);
        }
        assert_eq!(flow.nv.may_grow, grows, "{cwnd}");
    }
}

#[test]
fn a_decision_takes_samples_and_two_round_trips() {
    let mut flow = Flow::new(100, 50);
    flow.round(1, 1_000, 2);
    flow.round(50, 2_000, 100);
    flow.round(1, 2_000, 100);
    assert_eq!(flow.vitals.cwnd, 100, "52 samples");
    let mut flow = Flow::new(100, INFINITE_SSTHRESH);
    flow.round(1, 1_000, 2);
    flow.round(50, 2_000, 100);
    flow.round(1, 2_000, 100);
    assert_eq!(flow.vitals.cwnd, 93, "the first slow start ends with 30");
}

/// One sample a round, for four packets: they come as one. The floor rises, and growth is allowed.
#[test]
fn packets_that_arrive_together_raise_the_floor() {
    let mut flow = Flow::new(10, 5);
    flow.vitals.snd_una += 4 * 1_448;
    flow.nv.may_grow = false;
    flow.round(1, 1_000, 4);
    assert_eq!((flow.nv.window_floor, flow.nv.may_grow), (6, true));
}

/// A timeout halves the growth; nine good decisions double it again.
#[test]
fn a_timeout_slows_growth_for_a_while() {
    let mut flow = Flow::new(20, 10);
    flow.nv.on_state(&mut flow.vitals, CaState::Loss);
    assert_eq!((flow.nv.growth, flow.nv.may_grow, flow.nv.ssthresh(&mut flow.vitals)), (-1, false, 15));
    flow.nv.on_state(&mut flow.vitals, CaState::Open);
    flow.nv.may_grow = true;
    (0..39).for_each(|_| flow.nv.avoid(&mut flow.vitals, 1));
    assert_eq!(flow.vitals.cwnd, 20);
    flow.nv.avoid(&mut flow.vitals, 1);
    assert_eq!(flow.vitals.cwnd, 21);
    (0..9).for_each(|_| flow.nv.allow_growth());
    assert_eq!(flow.nv.growth, 0);
}
