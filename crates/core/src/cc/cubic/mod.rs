//! CUBIC: a window that follows a cubic curve back to its last maximum (Linux's `tcp_cubic.c`; RFC 9438 beside it).
//!
//! - **What it does**: slow start that HyStart ends early; then growth along `C(t-K)³ + Wmax`, never slower than
//!   Reno's would be; on loss the window falls to 0.7 of itself.
//! - **Signal it listens to**: loss; in slow start also delay and the length of ACK trains.
//! - **When it does well**: long fat paths with a buffer of a bandwidth-delay product and rare loss.
//! - **When it does badly**: random loss, deep buffers (it fills them), many short flows after an early HyStart exit.
//! - **Reference**: S. Ha, I. Rhee, L. Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant", 2008; RFC 9438;
//!   S. Ha, I. Rhee, "Taming the Elephants: New TCP Slow Start", 2008.
//!
//! ```text
//!               HyStart, or cwnd >= ssthresh
//!   slow start ------------------------------> avoidance: curve, or Reno's line where that is higher
//!       ^                                          |
//!       +------------- timeout: all is forgotten --+
//! ```
//!
//! Where Linux departs from RFC 9438: time counts in jiffies, growth is worked out at most once a jiffy (once in 32
//! ms while the window stands still), β is 717/1024 and C is 410/1024 of a tenth, a curve without a known maximum
//! grows by 5 % a round trip, and Reno's line keeps its slope of 0.53 above the maximum. [`curve`] has the curve,
//! [`hystart`] the end of slow start, [`tuning`] the module's parameters.

mod curve;
mod hystart;
mod tuning;

use super::{AckSample, CaState, Control, Event, Insight, Parameters, Vitals, growth, reno};
use crate::time::HZ;
use curve::Curve;
use hystart::HyStart;
use tuning::Tuning;

/// A flow's CUBIC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cubic {
    tuning: Tuning,
    curve: Curve,
    hystart: HyStart,
    /// Smallest round-trip time seen since the start or the last timeout, in microseconds; 0 before the first.
    min_rtt_us: u32,
}

impl Control for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.forget(vitals);
        if let (Some(ssthresh), false) = (self.tuning.initial_ssthresh, self.tuning.hystart) {
            vitals.ssthresh = ssthresh;
        }
    }

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        self.curve.end_epoch(vitals.cwnd, &self.tuning);
        self.tuning.decreased(vitals.cwnd).max(2)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn on_acked(&mut self, vitals: &mut Vitals, sample: &AckSample) {
        let Some(rtt) = sample.rtt else { return };
        // Just after a recovery the delay is that of the burst that ended it.
        if self.curve.epoch_age(vitals.now.jiffies()).is_some_and(|age| age < HZ) {
            return;
        }
        let rtt_us = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX).max(1);
        if self.min_rtt_us == 0 || rtt_us < self.min_rtt_us {
            self.min_rtt_us = rtt_us;
        }
        if self.tuning.hystart && vitals.in_slow_start() {
            self.hystart.on_sample(vitals, rtt_us, self.min_rtt_us, &self.tuning);
        }
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        let Some(acked) = growth::beyond_slow_start(vitals, acked) else { return };
        let per = self.curve.acks_a_packet(vitals.now.jiffies(), self.min_rtt_us, vitals.cwnd, acked, &self.tuning);
        growth::additive_increase(vitals, per, acked);
    }

    fn on_state(&mut self, vitals: &mut Vitals, new: CaState) {
        if new == CaState::Loss {
            self.forget(vitals);
        }
    }

    fn on_event(&mut self, vitals: &mut Vitals, event: Event) {
        if event == Event::TxStart {
            self.curve.shift_epoch(vitals.now.jiffies(), vitals.last_sent_at.jiffies());
        }
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        let phase = if vitals.in_slow_start() {
            "slow_start"
        } else if self.curve.follows_reno() {
            "reno_friendly"
        } else {
            "avoidance"
        };
        Insight { phase, ..Insight::default() }
    }
}

impl Cubic {
    /// With Linux's parameters, or those that are set.
    pub fn new(parameters: &mut Parameters) -> Self {
        Self { tuning: Tuning::new(parameters), ..Self::default() }
    }

    /// The same, where something else ends slow start.
    pub(super) fn without_hystart(mut self) -> Self {
        self.tuning.hystart = false;
        self
    }

    fn forget(&mut self, vitals: &Vitals) {
        *self = Self { hystart: HyStart::new(vitals), ..Self { tuning: self.tuning, ..Self::default() } };
    }
}

#[cfg(test)]
mod script;
#[cfg(test)]
mod tests;
