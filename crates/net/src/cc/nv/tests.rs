//! NV's decisions, computed by hand. Packets of 1448 bytes; the minimum round-trip time is 1 ms.

use super::*;
use crate::cc::testing::{cc, tp};
use crate::time::Span;

struct Flow {
    nv: Nv,
    tp: SenderState,
    cc: CcState,
}

impl Flow {
    fn new(cwnd: u32, ssthresh: u32) -> Self {
        let mut nv = Nv::new(&mut Parameters::default(), Rng::from_name(1, "nv"));
        let (mut tp, mut cc) = (tp(), CcState { cwnd, ssthresh, ..cc() });
        nv.init(&tp, &mut cc);
        tp.snd_nxt += 1_448 * 1_000;
        Self { nv, tp, cc }
    }

    /// `acks` ACKs of a packet, the first of which ends a round trip.
    fn round(&mut self, acks: u64, rtt_us: u64, in_flight: u32) {
        self.nv.round.ends = self.tp.snd_una;
        for _ in 0..acks {
            self.tp.snd_una += 1_448;
            self.tp.snd_nxt = self.tp.snd_una + 1_448 * 1_000;
            let sample = AckSample { acked: 1, rtt: Some(Span::from_micros(rtt_us)), in_flight };
            self.nv.pkts_acked(&self.tp, &mut self.cc, &sample);
        }
    }
}

/// 100 packets at 1.5 ms, the mean of the first two, are 66 per millisecond, so that 76 are right; 24 · 38/128 = 7
/// fewer.
#[test]
fn a_queue_removes_a_third_of_the_excess() {
    let mut flow = Flow::new(100, 50);
    flow.round(1, 1_000, 2);
    for _ in 0..3 {
        flow.round(40, 2_000, 100);
    }
    assert_eq!((flow.cc.cwnd, flow.cc.ssthresh), (93, 76));
    assert_eq!(flow.nv.cc_info(&flow.tp, &flow.cc).phase, "holding");
    let count = flow.cc.cwnd_count;
    flow.nv.cong_avoid(&flow.tp, &mut flow.cc, 5);
    assert_eq!((flow.cc.cwnd, flow.cc.cwnd_count), (93, count));
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
fn a_decision_needs_samples_and_two_round_trips() {
    let mut flow = Flow::new(100, 50);
    flow.round(1, 1_000, 2);
    flow.round(50, 2_000, 100);
    flow.round(1, 2_000, 100);
    assert_eq!(flow.cc.cwnd, 100, "52 samples");
    let mut flow = Flow::new(100, INFINITE_SSTHRESH);
    flow.round(1, 1_000, 2);
    flow.round(50, 2_000, 100);
    flow.round(1, 2_000, 100);
    assert_eq!(flow.cc.cwnd, 93, "the first slow start ends with 30");
}

/// One sample per round, for four packets: they arrive as one. The floor rises, and growth is allowed.
#[test]
fn packets_that_arrive_together_raise_the_floor() {
    let mut flow = Flow::new(10, 5);
    flow.tp.snd_una += 4 * 1_448;
    flow.nv.may_grow = false;
    flow.round(1, 1_000, 4);
    assert_eq!((flow.nv.window_floor, flow.nv.may_grow), (6, true));
}

/// A timeout halves the growth; nine decisions without congestion double it again.
#[test]
fn a_timeout_slows_growth_for_a_while() {
    let mut flow = Flow::new(20, 10);
    flow.nv.set_state(&flow.tp, &mut flow.cc, CaState::Loss);
    assert_eq!((flow.nv.growth, flow.nv.may_grow, flow.nv.ssthresh(&flow.tp, &mut flow.cc)), (-1, false, 15));
    flow.nv.set_state(&flow.tp, &mut flow.cc, CaState::Open);
    flow.nv.may_grow = true;
    (0..39).for_each(|_| flow.nv.cong_avoid(&flow.tp, &mut flow.cc, 1));
    assert_eq!(flow.cc.cwnd, 20);
    flow.nv.cong_avoid(&flow.tp, &mut flow.cc, 1);
    assert_eq!(flow.cc.cwnd, 21);
    (0..9).for_each(|_| flow.nv.allow_growth());
    assert_eq!(flow.nv.growth, 0);
}
