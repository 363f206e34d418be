//! Illinois: loss decides when to reduce, delay decides by how much (Linux's `tcp_illinois.c`).
//!
//! - **What it does**: the window grows by ten packets per round trip without a queue, and by a third of one when the
//!   queue is full; a loss reduces it by an eighth to a half, depending on the queue.
//! - **Signal**: loss; the mean delay of the last round trip sets increase and decrease.
//! - **Works well**: long fat paths with buffers of a bandwidth-delay product.
//! - **Works badly**: short buffers, where the maximum delay carries little information.
//! - **Reference**: S. Liu, T. Başar, R. Srikant, "TCP-Illinois: A Loss- and Delay-Based Congestion Control Algorithm
//!   for High-Speed Networks", 2008.
//!
//! Where Linux departs from the paper: the maximum delay never expires.

mod curves;

use super::{AckSample, CaState, CcInfo, CcState, CongestionControl, Parameters, SenderState, growth, reno};
use curves::Curves;

/// Illinois' state for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Illinois {
    /// Below this window it is Reno.
    window_threshold: u32,
    curves: Curves,
    round: Round,
    /// Minimum and maximum round-trip time overall, in microseconds.
    base_us: u32,
    max_us: u32,
    /// Packets of the last ACK.
    acked: u32,
}

/// The samples of a round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Round {
    sum_us: u64,
    samples: u16,
    /// The round ends when more than this is acknowledged.
    ends: u64,
}

impl Illinois {
    /// Linux's defaults, except for the parameters set.
    pub(super) fn new(parameters: &mut Parameters) -> Self {
        Self {
            window_threshold: parameters.take("win_thresh", 15, 0..=65_535),
            curves: Curves::new(parameters.take("theta", 5, 0..=255)),
            round: Round::default(),
            base_us: 0x7fff_ffff,
            max_us: 0,
            acked: 0,
        }
    }

    const fn begin_round(&mut self, tp: &SenderState) {
        self.round = Round { sum_us: 0, samples: 0, ends: tp.snd_nxt };
    }

    /// Sets increase and decrease at the end of a round.
    fn end_round(&mut self, tp: &SenderState, cc: &CcState) {
        if cc.cwnd < self.window_threshold {
            self.curves.be_reno();
        } else if self.round.samples > 0 {
            let mean_us = self.round.sum_us / u64::from(self.round.samples);
            let queueing_us = u32::try_from(mean_us).unwrap_or(u32::MAX).wrapping_sub(self.base_us);
            self.curves.follow(queueing_us, self.max_us - self.base_us);
        }
        self.begin_round(tp);
    }
}

impl CongestionControl for Illinois {
    fn name(&self) -> &'static str {
        "illinois"
    }

    fn init(&mut self, tp: &SenderState, _cc: &mut CcState) {
        self.begin_round(tp);
    }

    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        (cc.cwnd - self.curves.decrease(cc.cwnd)).max(2)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn pkts_acked(&mut self, _tp: &SenderState, _cc: &mut CcState, sample: &AckSample) {
        self.acked = sample.acked & 0xffff;
        let Some(rtt_us) = sample.rtt_us() else { return };
        let rtt_us = rtt_us.min(curves::MAX_RTT_US);
        self.base_us = self.base_us.min(rtt_us);
        self.max_us = self.max_us.max(rtt_us);
        self.round.samples = self.round.samples.wrapping_add(1);
        self.round.sum_us += u64::from(rtt_us);
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        if tp.snd_una > self.round.ends {
            self.end_round(tp, cc);
        }
        if !growth::in_avoidance(tp, cc, acked) {
            return;
        }
        cc.cwnd_count = cc.cwnd_count.wrapping_add(self.acked);
        self.acked = 1;
        let grown = self.curves.increase(cc.cwnd_count);
        if grown >= cc.cwnd {
            cc.cwnd = (cc.cwnd + grown / cc.cwnd).min(cc.cwnd_clamp);
            cc.cwnd_count = 0;
        }
    }

    fn set_state(&mut self, tp: &SenderState, _cc: &mut CcState, new: CaState) {
        if new == CaState::Loss {
            self.curves.restart();
            self.begin_round(tp);
        }
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        CcInfo { phase: growth::phase(cc), ..CcInfo::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, tp};
    use crate::time::Span;

    fn flow(cwnd: u32) -> (Illinois, SenderState, CcState) {
        let mut illinois = Illinois::new(&mut Parameters::default());
        let (tp, mut cc) = (tp(), CcState { cwnd, ssthresh: 10, ..cc() });
        illinois.init(&tp, &mut cc);
        (illinois, tp, cc)
    }

    fn acks(illinois: &mut Illinois, tp: &mut SenderState, cc: &mut CcState, rtts_ms: &[u64]) {
        for rtt_ms in rtts_ms {
            let sample = AckSample { acked: 1, rtt: Some(Span::from_millis(*rtt_ms)), in_flight: 20 };
            illinois.pkts_acked(tp, cc, &sample);
        }
        (tp.snd_una, tp.snd_nxt) = (tp.snd_nxt + 1, tp.snd_nxt + 100_000);
        illinois.cong_avoid(tp, cc, 1);
    }

    /// A round at 100 ms after one at 200 ms: no queue, an eighth. One with a mean of 190 ms: nine tenths of the
    /// maximum, a half.
    #[test]
    fn the_mean_delay_of_a_round_sets_the_decrease() {
        let (mut illinois, mut tp, mut cc) = flow(64);
        acks(&mut illinois, &mut tp, &mut cc, &[100, 200]);
        acks(&mut illinois, &mut tp, &mut cc, &[100, 100]);
        assert_eq!(illinois.ssthresh(&tp.clone(), &mut CcState { cwnd: 64, ..cc.clone() }), 56);
        acks(&mut illinois, &mut tp, &mut cc, &[190, 180, 200]);
        assert_eq!(illinois.ssthresh(&tp.clone(), &mut CcState { cwnd: 64, ..cc.clone() }), 32);
    }

    /// Without a queue, ten packets per window: the window of 40 grows by one with every fourth ACK.
    #[test]
    fn without_a_queue_it_grows_by_ten_packets_a_round() {
        let (mut illinois, mut tp, mut cc) = flow(40);
        acks(&mut illinois, &mut tp, &mut cc, &[100]);
        let grown: [u32; 4] = core::array::from_fn(|_| {
            illinois.cong_avoid(&tp, &mut cc, 1);
            cc.cwnd
        });
        assert_eq!(grown, [40, 40, 41, 41]);
    }

    #[test]
    fn a_small_window_grows_as_reno() {
        let (mut illinois, mut tp, mut cc) = flow(14);
        acks(&mut illinois, &mut tp, &mut cc, &[100]);
        assert_eq!(illinois.ssthresh(&tp, &mut cc), 7);
        (0..13).for_each(|_| illinois.cong_avoid(&tp, &mut cc, 1));
        assert_eq!(cc.cwnd, 15);
    }
}
