//! Vegas: keep a few packets in the queue (Linux's `tcp_vegas.c`).
//!
//! - **What it does**: once per round trip, estimates from the delay how many of its packets are queued, and moves the
//!   window by one packet to keep them between 2 and 4. Slow start ends when more than one is queued.
//! - **Signal**: delay; loss as in Reno.
//! - **Works well**: among Vegas flows: short queues and no loss.
//! - **Works badly**: next to loss-based flows, which fill the queue that it keeps short; with a base delay measured
//!   while others had a queue.
//! - **Reference**: L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", 1995.
//!
//! Where Linux departs from the paper: slow start doubles the window every round trip instead of every other one, loss
//! detection is unchanged, and a round is evaluated only if it had three samples.

mod round;

pub(super) use round::Round;

use super::delay::FEW_SAMPLES;
use super::{AckSample, CaState, CcInfo, CcState, CongestionControl, Event, Parameters, SenderState, growth, reno};

/// Vegas' state for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vegas {
    tuning: Tuning,
    round: Round,
}

/// The module's parameters: packets in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tuning {
    /// With fewer, the window grows.
    alpha: u32,
    /// With more, it shrinks.
    beta: u32,
    /// With more, slow start ends.
    gamma: u32,
}

impl Vegas {
    /// Linux's defaults, except for the parameters set.
    pub(super) fn new(parameters: &mut Parameters) -> Self {
        let tuning = Tuning {
            alpha: parameters.take("alpha", 2, 0..=65_535),
            beta: parameters.take("beta", 4, 0..=65_535),
            gamma: parameters.take("gamma", 1, 0..=65_535),
        };
        Self { tuning, round: Round::new() }
    }

    /// Moves the window at the end of a round by the estimated queue.
    fn adjust(&self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        let (base_us, recent_us) = (self.round.delay.base_us, self.round.delay.recent_us);
        let queued = cc.cwnd.wrapping_mul(recent_us - base_us) / base_us;
        let Tuning { alpha, beta, gamma } = self.tuning;
        if cc.in_slow_start() {
            if queued > gamma {
                // Down to the path's capacity, plus one for rounding.
                let carried = u64::from(cc.cwnd) * u64::from(base_us) / u64::from(recent_us);
                cc.cwnd = cc.cwnd.min(u32::try_from(carried + 1).unwrap_or(u32::MAX));
                cc.ssthresh = cc.ssthresh.min(cc.cwnd);
            } else {
                growth::slow_start(cc, acked);
            }
        } else if queued > beta {
            cc.cwnd -= 1;
            cc.ssthresh = cc.ssthresh.min(cc.cwnd);
        } else if queued < alpha {
            cc.cwnd = cc.cwnd.saturating_add(1);
        }
        cc.cwnd = cc.cwnd.max(2).min(cc.cwnd_clamp);
        cc.ssthresh = cc.current_ssthresh(tp.state);
    }
}

impl CongestionControl for Vegas {
    fn name(&self) -> &'static str {
        "vegas"
    }

    fn init(&mut self, tp: &SenderState, _cc: &mut CcState) {
        self.round.restart(tp);
    }

    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::ssthresh(cc)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn pkts_acked(&mut self, _tp: &SenderState, _cc: &mut CcState, sample: &AckSample) {
        self.round.delay.take(sample);
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        if !self.round.is_watched {
            reno::cong_avoid(tp, cc, acked);
        } else if self.round.is_over(tp) {
            if self.round.delay.samples <= FEW_SAMPLES {
                self.round.begin(tp);
                reno::cong_avoid(tp, cc, acked);
            } else {
                self.adjust(tp, cc, acked);
                self.round.begin(tp);
            }
        } else if cc.in_slow_start() {
            growth::slow_start(cc, acked);
        }
    }

    fn set_state(&mut self, tp: &SenderState, _cc: &mut CcState, new: CaState) {
        self.round.set_state(tp, new);
    }

    fn cwnd_event(&mut self, tp: &SenderState, _cc: &mut CcState, event: Event) {
        self.round.cwnd_event(tp, event);
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        CcInfo { phase: growth::phase(cc), ..CcInfo::default() }
    }
}

#[cfg(test)]
mod tests;
