//! CUBIC: a window that follows a cubic curve back to its last maximum (Linux's `tcp_cubic.c`; RFC 9438).
//!
//! - **What it does**: slow start, which HyStart ends early; then growth along `C(t-K)³ + Wmax`, never slower than
//!   Reno; on loss, reduces the window to 0.7 of itself.
//! - **Signal**: loss; in slow start also delay and the length of ACK trains.
//! - **Works well**: long fat paths with a buffer of a bandwidth-delay product and rare loss.
//! - **Works badly**: random loss, deep buffers (it fills them), many short flows after an early HyStart exit.
//! - **Reference**: S. Ha, I. Rhee, L. Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant", 2008; RFC 9438; S. Ha,
//!   I. Rhee, "Taming the Elephants: New TCP Slow Start", 2008.
//!
//! ```text
//!               HyStart, or cwnd >= ssthresh
//!   slow start ------------------------------> avoidance: the curve, or Reno's line where that is higher
//!       ^                                          |
//!       +----------- timeout: resets all state ----+
//! ```
//!
//! Where Linux departs from RFC 9438: time counts in jiffies; growth is computed at most once per jiffy (once per 32 ms
//! while the window does not change); β is 717/1024 and C is 410/1024 of a tenth; a curve without a known maximum grows
//! by 5 % per round trip; Reno's line keeps its slope of 0.53 above the maximum. [`curve`] has the curve, [`hystart`]
//! the end of slow start, [`tuning`] the module's parameters.

mod curve;
mod hystart;
mod tuning;

use super::{AckSample, CaState, CcInfo, CcState, CongestionControl, Event, Parameters, SenderState, growth, reno};
use crate::time::HZ;
use curve::Curve;
use hystart::HyStart;
use tuning::Tuning;

/// CUBIC's state for one flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cubic {
    tuning: Tuning,
    curve: Curve,
    hystart: HyStart,
    /// Minimum round-trip time since the start or the last timeout, in microseconds; 0 before the first sample.
    min_rtt_us: u32,
}

impl CongestionControl for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.forget(tp);
        if let (Some(ssthresh), false) = (self.tuning.initial_ssthresh, self.tuning.hystart) {
            cc.ssthresh = ssthresh;
        }
    }

    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        self.curve.end_epoch(cc.cwnd, &self.tuning);
        self.tuning.decreased(cc.cwnd).max(2)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn pkts_acked(&mut self, tp: &SenderState, cc: &mut CcState, sample: &AckSample) {
        let Some(rtt) = sample.rtt else { return };
        // Just after a recovery, the delay is that of the burst that ended it.
        if self.curve.epoch_age(tp.now.jiffies()).is_some_and(|age| age < HZ) {
            return;
        }
        let rtt_us = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX).max(1);
        if self.min_rtt_us == 0 || rtt_us < self.min_rtt_us {
            self.min_rtt_us = rtt_us;
        }
        if self.tuning.hystart && cc.in_slow_start() {
            self.hystart.on_sample(tp, cc, rtt_us, self.min_rtt_us, &self.tuning);
        }
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        let Some(acked) = growth::beyond_slow_start(tp, cc, acked) else { return };
        let per = self.curve.acks_per_packet(tp.now.jiffies(), self.min_rtt_us, cc.cwnd, acked, &self.tuning);
        growth::additive_increase(cc, per, acked);
    }

    fn set_state(&mut self, tp: &SenderState, _cc: &mut CcState, new: CaState) {
        if new == CaState::Loss {
            self.forget(tp);
        }
    }

    fn cwnd_event(&mut self, tp: &SenderState, _cc: &mut CcState, event: Event) {
        if event == Event::TxStart {
            self.curve.shift_epoch(tp.now.jiffies(), tp.last_sent_at.jiffies());
        }
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        let phase = if cc.in_slow_start() {
            "slow_start"
        } else if self.curve.follows_reno() {
            "reno_friendly"
        } else {
            "avoidance"
        };
        CcInfo { phase, ..CcInfo::default() }
    }
}

impl Cubic {
    /// With Linux's parameters, except for those set.
    pub fn new(parameters: &mut Parameters) -> Self {
        Self { tuning: Tuning::new(parameters), ..Self::default() }
    }

    /// Disables HyStart, for a wrapper that ends slow start itself.
    pub(super) fn without_hystart(mut self) -> Self {
        self.tuning.hystart = false;
        self
    }

    fn forget(&mut self, tp: &SenderState) {
        *self = Self { hystart: HyStart::new(tp), ..Self { tuning: self.tuning, ..Self::default() } };
    }
}

#[cfg(test)]
mod script;
#[cfg(test)]
mod tests;
