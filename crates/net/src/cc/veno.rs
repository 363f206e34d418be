//! Veno: Reno that uses Vegas' queue estimate to judge losses (Linux's `tcp_veno.c`).
//!
//! - **What it does**: with fewer than three packets in the queue, takes a loss as random and reduces by a fifth; with
//!   more, reduces by a half, and grows only every other round trip.
//! - **Signal**: loss; delay determines the reduction.
//! - **Works well**: wireless paths with random loss.
//! - **Works badly**: where other flows fill the queue, every loss counts as congestion.
//! - **Reference**: C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks",
//!   2003.
//!
//! Where Linux departs from the paper: the delay is that of the last ACK, not the minimum of the last round trip.

use super::delay::{Delay, FEW_SAMPLES};
use super::{AckSample, CaState, CcInfo, CcState, CongestionControl, Event, SenderState, growth, reno};

/// Veno's state for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Veno {
    delay: Delay,
    /// Are samples valid? Not while packets are missing.
    is_watching: bool,
    /// Grow with this window, in the congested state?
    grows: bool,
    /// Packets in the queue, in halves.
    queued: u32,
}

impl Veno {
    pub(super) const fn new() -> Self {
        Self { delay: Delay::new(), is_watching: false, grows: true, queued: 0 }
    }

    const fn watch(&mut self) {
        self.is_watching = true;
        self.delay.forget_recent();
    }

    /// `tcp_veno_init`: keeps the number of samples.
    const fn restart(&mut self) {
        self.delay.base_us = Delay::new().base_us;
        self.grows = true;
        self.watch();
    }

    const fn is_congested(&self) -> bool {
        self.queued >= CONGESTED
    }

    fn estimate_queue(&mut self, cwnd: u32) {
        let carried = (u64::from(cwnd) * u64::from(self.delay.base_us) * 2) / u64::from(self.delay.recent_us);
        self.queued = (cwnd * 2).wrapping_sub(u32::try_from(carried).unwrap_or(u32::MAX));
    }

    fn grow(&mut self, cc: &mut CcState, acked: u32) {
        let acked = if cc.in_slow_start() { growth::slow_start(cc, acked) } else { acked };
        if acked == 0 {
            return;
        }
        if self.is_congested() {
            self.grow_every_other_window(cc, acked);
        } else {
            growth::additive_increase(cc, cc.cwnd, acked);
        }
    }

    fn grow_every_other_window(&mut self, cc: &mut CcState, acked: u32) {
        if cc.cwnd_count < cc.cwnd {
            cc.cwnd_count += acked;
            return;
        }
        cc.cwnd_count = 0;
        self.grows = if self.grows && cc.cwnd < cc.cwnd_clamp {
            cc.cwnd += 1;
            false
        } else {
            true
        };
    }
}

impl CongestionControl for Veno {
    fn name(&self) -> &'static str {
        "veno"
    }

    fn init(&mut self, _tp: &SenderState, _cc: &mut CcState) {
        self.restart();
    }

    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        if self.is_congested() { reno::ssthresh(cc) } else { (cc.cwnd.wrapping_mul(4) / 5).max(2) }
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn pkts_acked(&mut self, _tp: &SenderState, _cc: &mut CcState, sample: &AckSample) {
        self.delay.take(sample);
    }

    fn syn_acked(&mut self, tp: &SenderState, cc: &mut CcState, sample: &AckSample) {
        self.pkts_acked(tp, cc, sample);
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        if !self.is_watching {
            reno::cong_avoid(tp, cc, acked);
            return;
        }
        if !tp.is_cwnd_limited(cc) {
            return;
        }
        if self.delay.samples <= FEW_SAMPLES {
            reno::cong_avoid(tp, cc, acked);
        } else {
            self.estimate_queue(cc.cwnd);
            self.grow(cc, acked);
            cc.cwnd = cc.cwnd.max(2).min(cc.cwnd_clamp);
        }
        self.delay.forget_recent();
    }

    fn set_state(&mut self, _tp: &SenderState, _cc: &mut CcState, new: CaState) {
        if new == CaState::Open {
            self.watch();
        } else {
            self.is_watching = false;
        }
    }

    fn cwnd_event(&mut self, _tp: &SenderState, _cc: &mut CcState, event: Event) {
        if matches!(event, Event::CwndRestart | Event::TxStart) {
            self.restart();
        }
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        let phase = match () {
            () if cc.in_slow_start() => "slow_start",
            () if self.is_congested() => "congested",
            () => "avoidance",
        };
        CcInfo { phase, ..CcInfo::default() }
    }
}

/// Three packets, in halves.
const CONGESTED: u32 = 3 * 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, tp};
    use crate::time::Span;

    /// A flow of 40 packets in avoidance with a minimum round-trip time of 100 ms, after an ACK with this one.
    fn flow(rtt_us: u64) -> (Veno, SenderState, CcState) {
        let mut veno = Veno::new();
        let (tp, mut cc) = (tp(), CcState { cwnd: 40, ssthresh: 20, ..cc() });
        veno.init(&tp, &mut cc);
        for rtt_us in [100_000, 100_000, rtt_us] {
            veno.delay.forget_recent();
            veno.pkts_acked(&tp, &mut cc, &sample(rtt_us));
        }
        veno.cong_avoid(&tp, &mut cc, 0);
        (veno, tp, cc)
    }

    fn sample(rtt_us: u64) -> AckSample {
        AckSample { acked: 1, rtt: Some(Span::from_micros(rtt_us - 1)), in_flight: 20 }
    }

    /// 40 packets at 107 ms: 80 − 74 = 6 halves; at 106 ms: 80 − 75 = 5.
    #[test]
    fn a_loss_costs_a_fifth_below_three_queued_packets_and_half_above() {
        let thresholds = [106_000, 107_000].map(|rtt_us| {
            let (mut veno, tp, mut cc) = flow(rtt_us);
            (veno.cc_info(&tp, &cc).phase, veno.ssthresh(&tp, &mut cc))
        });
        assert_eq!(thresholds, [("avoidance", 32), ("congested", 20)]);
    }

    #[test]
    fn the_handshake_counts_as_a_sample() {
        let (tp, mut cc) = (tp(), cc());
        let mut veno = Veno::new();
        veno.syn_acked(&tp, &mut cc, &sample(10_000));
        veno.init(&tp, &mut cc);
        assert_eq!((veno.delay.samples, veno.delay.base_us), (1, 0x7fff_ffff));
    }

    /// ACKs until the window has grown by a packet.
    #[test]
    fn a_congested_flow_grows_every_other_window() {
        for (rtt_us, windows) in [(100_000, [41, 42, 43, 44]), (150_000, [41, 41, 42, 42])] {
            let (mut veno, tp, mut cc) = flow(rtt_us);
            let grown: [u32; 4] = core::array::from_fn(|_| {
                for _ in 0..=cc.cwnd {
                    veno.pkts_acked(&tp, &mut cc, &sample(rtt_us));
                    veno.cong_avoid(&tp, &mut cc, 1);
                }
                cc.cwnd
            });
            assert_eq!(grown, windows, "{rtt_us} us");
        }
    }

    /// An ACK of retransmitted data has no delay sample; it counts as a very long delay.
    #[test]
    fn an_ack_without_a_sample_counts_as_congestion() {
        let (mut veno, tp, mut cc) = flow(100_000);
        veno.cong_avoid(&tp, &mut cc, 1);
        assert!(veno.is_congested());
    }

    #[test]
    fn while_packets_are_missing_it_is_reno() {
        let (mut veno, tp, mut cc) = flow(150_000);
        veno.set_state(&tp, &mut cc, CaState::Disorder);
        for _ in 0..41 + 42 {
            veno.cong_avoid(&tp, &mut cc, 1);
        }
        assert_eq!(cc.cwnd, 42);
    }
}
