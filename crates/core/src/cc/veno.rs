//! Veno: Reno that asks Vegas whether a loss was congestion (Linux's `tcp_veno.c`).
//!
//! - **What it does**: with fewer than three packets in the queue a loss is taken for chance and costs a fifth; with
//!   more it costs a half, and the window grows every other round trip only.
//! - **Signal it listens to**: loss; delay decides how much it gives up.
//! - **When it does well**: wireless paths with random loss.
//! - **When it does badly**: where others fill the queue, every loss counts as congestion.
//! - **Reference**: C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", 2003.
//!
//! Where Linux departs from the paper: the delay is that of the last ACK, not the smallest of the last round trip.

use super::delay::{Delay, FEW_SAMPLES};
use super::{AckSample, CaState, Control, Event, Insight, Vitals, growth, reno};

/// A flow's Veno.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Veno {
    delay: Delay,
    /// Are samples trusted? Not while packets are missing.
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

    /// `tcp_veno_init`: the number of samples stays.
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

    fn grow(&mut self, vitals: &mut Vitals, acked: u32) {
        let acked = if vitals.in_slow_start() { growth::slow_start(vitals, acked) } else { acked };
        if acked == 0 {
            return;
        }
        if self.is_congested() {
            self.grow_every_other_window(vitals, acked);
        } else {
            growth::additive_increase(vitals, vitals.cwnd, acked);
        }
    }

    fn grow_every_other_window(&mut self, vitals: &mut Vitals, acked: u32) {
        if vitals.cwnd_count < vitals.cwnd {
            vitals.cwnd_count += acked;
            return;
        }
        vitals.cwnd_count = 0;
        self.grows = if self.grows && vitals.cwnd < vitals.cwnd_clamp {
            vitals.cwnd += 1;
            false
        } else {
            true
        };
    }
}

impl Control for Veno {
    fn name(&self) -> &'static str {
        "veno"
    }

    fn start(&mut self, _vitals: &mut Vitals) {
        self.restart();
    }

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        if self.is_congested() { reno::ssthresh(vitals) } else { (vitals.cwnd.wrapping_mul(4) / 5).max(2) }
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn on_acked(&mut self, _vitals: &mut Vitals, sample: &AckSample) {
        self.delay.take(sample);
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        if !self.is_watching {
            reno::avoid(vitals, acked);
            return;
        }
        if !vitals.is_cwnd_limited() {
            return;
        }
        if self.delay.samples <= FEW_SAMPLES {
            reno::avoid(vitals, acked);
        } else {
            self.estimate_queue(vitals.cwnd);
            self.grow(vitals, acked);
            vitals.cwnd = vitals.cwnd.max(2).min(vitals.cwnd_clamp);
        }
        self.delay.forget_recent();
    }

    fn on_state(&mut self, _vitals: &mut Vitals, new: CaState) {
        if new == CaState::Open {
            self.watch();
        } else {
            self.is_watching = false;
        }
    }

    fn on_event(&mut self, _vitals: &mut Vitals, event: Event) {
        if matches!(event, Event::CwndRestart | Event::TxStart) {
            self.restart();
        }
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        let phase = match () {
            () if vitals.in_slow_start() => "slow_start",
            () if self.is_congested() => "congested",
            () => "avoidance",
        };
        Insight { phase, ..Insight::default() }
    }
}

/// Three packets, in halves.
const CONGESTED: u32 = 3 * 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::vitals;
    use crate::time::Span;

    /// A flow of 40 packets in avoidance whose smallest round-trip time was 100 ms, after an ACK of this one.
    fn flow(rtt_us: u64) -> (Veno, Vitals) {
        let mut veno = Veno::new();
        let mut vitals = Vitals { cwnd: 40, ssthresh: 20, ..vitals() };
        veno.start(&mut vitals);
        for rtt_us in [100_000, 100_000, rtt_us] {
            veno.delay.forget_recent();
            veno.on_acked(&mut vitals, &sample(rtt_us));
        }
        veno.avoid(&mut vitals, 0);
        (veno, vitals)
    }

    fn sample(rtt_us: u64) -> AckSample {
        AckSample { acked: 1, rtt: Some(Span::from_micros(rtt_us - 1)), in_flight: 20 }
    }

    /// 40 packets at 107 ms: 80 − 74 = 6 halves; at 106 ms: 80 − 75 = 5.
    #[test]
    fn a_loss_costs_a_fifth_below_three_queued_packets_and_half_above() {
        let thresholds = [106_000, 107_000].map(|rtt_us| {
            let (mut veno, mut vitals) = flow(rtt_us);
            (veno.insight(&vitals).phase, veno.ssthresh(&mut vitals))
        });
        assert_eq!(thresholds, [("avoidance", 32), ("congested", 20)]);
    }

    /// ACKs until the window is a packet larger.
    #[test]
    fn a_congested_flow_grows_every_other_window() {
        for (rtt_us, windows) in [(100_000, [41, 42, 43, 44]), (150_000, [41, 41, 42, 42])] {
            let (mut veno, mut vitals) = flow(rtt_us);
            let grown: [u32; 4] = core::array::from_fn(|_| {
                for _ in 0..=vitals.cwnd {
                    veno.on_acked(&mut vitals, &sample(rtt_us));
                    veno.avoid(&mut vitals, 1);
                }
                vitals.cwnd
            });
            assert_eq!(grown, windows, "{rtt_us} us");
        }
    }

    /// An ACK of retransmitted data tells no delay; it counts as a very long one.
    #[test]
    fn an_ack_without_a_sample_counts_as_congestion() {
        let (mut veno, mut vitals) = flow(100_000);
        veno.avoid(&mut vitals, 1);
        assert!(veno.is_congested());
    }

    #[test]
    fn while_packets_are_missing_it_is_reno() {
        let (mut veno, mut vitals) = flow(150_000);
        veno.on_state(&mut vitals, CaState::Disorder);
        for _ in 0..41 + 42 {
            veno.avoid(&mut vitals, 1);
        }
        assert_eq!(vitals.cwnd, 42);
    }
}
