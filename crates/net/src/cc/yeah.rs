//! `YeAH`: fast while the queue is short, Reno while it is long (Linux's `tcp_yeah.c`).
//!
//! - **What it does**: Scalable's growth while fewer than 80 of its packets are queued and the delay is less than an
//!   eighth above the base; otherwise Reno's, and the window shrinks by the excess in the queue.
//! - **Signal**: loss and delay.
//! - **Works well**: long fat paths with small buffers, next to Reno.
//! - **Works badly**: with a base delay measured while others had a queue.
//! - **Reference**: A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", 2007.

use super::delay::FEW_SAMPLES;
use super::vegas::Round;
use super::{AckSample, CaState, CcInfo, CcState, CongestionControl, Event, SenderState, growth, reno, scalable};

/// `YeAH`'s state for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Yeah {
    round: Round,
    /// Packets in the queue in the last round.
    queued: u32,
    /// Consecutive rounds with a long queue; growth is slow then.
    slow_rounds: u32,
    /// The estimated window of a competing Reno flow, in packets.
    reno_window: u32,
    /// Rounds with a short queue since the last loss.
    fast_rounds: u32,
}

impl Yeah {
    pub(super) const fn new() -> Self {
        Self { round: Round::new(), queued: 0, slow_rounds: 0, reno_window: 2, fast_rounds: 0 }
    }

    fn grow(&self, cc: &mut CcState, acked: u32) {
        if self.slow_rounds > 0 {
            growth::additive_increase(cc, cc.cwnd, acked);
        } else {
            scalable::increase(cc, acked);
        }
    }

    /// Chooses fast or slow growth at the end of a round.
    fn evaluate(&mut self, cc: &mut CcState) {
        let (base_us, recent_us) = (self.round.delay.base_us, self.round.delay.recent_us);
        let queueing_us = recent_us - base_us;
        let queued = u64::from(cc.cwnd) * u64::from(queueing_us) / u64::from(recent_us);
        self.queued = u32::try_from(queued).unwrap_or(u32::MAX);
        if self.queued > MAX_QUEUED || queueing_us > base_us / MAX_DELAY {
            self.slow_down(cc);
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > ROUNDS_ALONE {
                (self.reno_window, self.fast_rounds) = (2, 0); // No competing flow.
            }
            self.slow_rounds = 0;
        }
    }

    fn slow_down(&mut self, cc: &mut CcState) {
        if self.queued > MAX_QUEUED && cc.cwnd > self.reno_window {
            let excess = self.queued.min(cc.cwnd / 2);
            cc.cwnd = (cc.cwnd - excess).max(self.reno_window);
            cc.ssthresh = cc.cwnd;
        }
        self.reno_window = if self.reno_window <= 2 { (cc.cwnd / 2).max(2) } else { self.reno_window + 1 };
        self.slow_rounds = (self.slow_rounds + 1).min(0xff_ffff);
    }
}

impl CongestionControl for Yeah {
    fn name(&self) -> &'static str {
        "yeah"
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.round.restart(tp);
        cc.cwnd_clamp = cc.cwnd_clamp.min(u32::MAX / 128);
    }

    /// Reduces by the packets in the queue, between an eighth and a half; by a half if the queue was long for 16
    /// rounds, because then other flows fill it.
    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        let half = (cc.cwnd / 2).max(2);
        let reduction =
            if self.slow_rounds < ROUNDS_CONTENDED { self.queued.min(half).max(cc.cwnd >> 3) } else { half };
        self.fast_rounds = 0;
        self.reno_window = (self.reno_window / 2).max(2);
        cc.cwnd.saturating_sub(reduction).max(2)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn pkts_acked(&mut self, _tp: &SenderState, _cc: &mut CcState, sample: &AckSample) {
        self.round.delay.take(sample);
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        if !tp.is_cwnd_limited(cc) {
            return;
        }
        let acked = if cc.in_slow_start() { growth::slow_start(cc, acked) } else { acked };
        if acked > 0 {
            self.grow(cc, acked);
        }
        if self.round.is_over(tp) {
            if self.round.delay.samples > FEW_SAMPLES {
                self.evaluate(cc);
            }
            self.round.begin(tp);
        }
    }

    fn set_state(&mut self, tp: &SenderState, _cc: &mut CcState, new: CaState) {
        self.round.set_state(tp, new);
    }

    fn cwnd_event(&mut self, tp: &SenderState, _cc: &mut CcState, event: Event) {
        self.round.cwnd_event(tp, event);
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        let phase = match () {
            () if cc.in_slow_start() => "slow_start",
            () if self.slow_rounds > 0 => "slow",
            () => "fast",
        };
        CcInfo { phase, ..CcInfo::default() }
    }
}

/// Packets in the queue (`TCP_YEAH_ALPHA`).
const MAX_QUEUED: u32 = 80;
/// Maximum queueing delay: this fraction of the base delay, an eighth (`TCP_YEAH_PHY`).
const MAX_DELAY: u32 = 8;
/// Slow rounds after which a competing flow is assumed (`TCP_YEAH_RHO`).
const ROUNDS_CONTENDED: u32 = 16;
/// Fast rounds after which none is (`TCP_YEAH_ZETA`).
const ROUNDS_ALONE: u32 = 50;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, tp};
    use crate::time::Span;

    /// A flow in avoidance with a minimum round-trip time of 100 ms.
    fn flow(cwnd: u32) -> (Yeah, SenderState, CcState) {
        let mut yeah = Yeah::new();
        let (mut tp, mut cc) = (tp(), CcState { cwnd, ssthresh: 10, ..cc() });
        yeah.init(&tp, &mut cc);
        round(&mut yeah, &mut tp, &mut cc, 100_000);
        (yeah, tp, cc)
    }

    /// A round of three samples, and an empty ACK that ends it.
    fn round(yeah: &mut Yeah, tp: &mut SenderState, cc: &mut CcState, rtt_us: u64) {
        let sample = AckSample { acked: 1, rtt: Some(Span::from_micros(rtt_us - 1)), in_flight: 20 };
        (0..3).for_each(|_| yeah.pkts_acked(tp, cc, &sample));
        (tp.snd_una, tp.snd_nxt) = (tp.snd_nxt + 1, tp.snd_nxt + 100_000);
        yeah.cong_avoid(tp, cc, 0);
    }

    /// 400 packets at 112 ms: 42 queued, and less than an eighth of 100 ms; at 113 ms more than that; at 126 ms 82
    /// queued.
    #[test]
    fn a_long_queue_slows_growth_and_is_reduced() {
        for (rtt_us, phase, window) in [(112_000, "fast", 400), (113_000, "slow", 400), (126_000, "slow", 318)] {
            let (mut yeah, mut tp, mut cc) = flow(400);
            round(&mut yeah, &mut tp, &mut cc, rtt_us);
            assert_eq!((yeah.cc_info(&tp, &cc).phase, cc.cwnd), (phase, window), "{rtt_us} us");
        }
    }

    #[test]
    fn it_grows_fast_or_slowly() {
        for (rtt_us, window) in [(100_000, 404), (120_000, 401)] {
            let (mut yeah, mut tp, mut cc) = flow(400);
            round(&mut yeah, &mut tp, &mut cc, rtt_us);
            (0..400).for_each(|_| yeah.cong_avoid(&tp, &mut cc, 1));
            assert_eq!(cc.cwnd, window, "{rtt_us} us");
        }
    }

    /// 400 packets: an eighth when nothing was queued, the 57 queued at 117 ms or so, a half after 16 slow rounds.
    #[test]
    fn a_loss_removes_the_queued_packets() {
        let (mut yeah, mut tp, mut cc) = flow(400);
        assert_eq!(yeah.ssthresh(&tp, &mut cc), 350);
        round(&mut yeah, &mut tp, &mut cc, 117_000);
        assert_eq!((yeah.queued, yeah.ssthresh(&tp, &mut cc)), (58, 342));
        (0..15).for_each(|_| round(&mut yeah, &mut tp, &mut cc, 117_000));
        assert_eq!(yeah.ssthresh(&tp, &mut cc), 200);
    }

    /// A competing Reno gets half of its window, and a packet per round.
    #[test]
    fn it_never_reduces_below_a_competing_renos_window() {
        let (mut yeah, mut tp, mut cc) = flow(400);
        round(&mut yeah, &mut tp, &mut cc, 120_000);
        round(&mut yeah, &mut tp, &mut cc, 120_000);
        assert_eq!((cc.cwnd, yeah.reno_window), (400, 201));
        round(&mut yeah, &mut tp, &mut cc, 900_000);
        assert_eq!(cc.cwnd, 201);
    }
}
