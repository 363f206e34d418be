//! Vegas: keep a few packets in the queue, no more and no less (Linux's `tcp_vegas.c`).
//!
//! - **What it does**: once a round trip it reckons from the delay how many of its packets stand in the queue, and
//!   moves the window by one packet to keep them between 2 and 4. Slow start ends when one stands there.
//! - **Signal it listens to**: delay; loss as Reno.
//! - **When it does well**: among its own kind: short queues and no loss.
//! - **When it does badly**: beside loss-based flows, which fill the queue it keeps empty; with a base delay measured
//!   in a queue that others made.
//! - **Reference**: L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", 1995.
//!
//! Where Linux departs from the paper: slow start doubles the window every round trip, not every other, loss detection
//! is untouched, and a round is judged only if it had three samples.

mod round;

pub(super) use round::Round;

use super::delay::FEW_SAMPLES;
use super::{AckSample, CaState, Control, Event, Insight, Parameters, Vitals, growth, reno};

/// A flow's Vegas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vegas {
    tuning: Tuning,
    round: Round,
}

/// The module's parameters: packets in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tuning {
    /// With fewer the window grows.
    alpha: u32,
    /// With more it shrinks.
    beta: u32,
    /// With more slow start ends.
    gamma: u32,
}

impl Vegas {
    /// Linux's, where nothing else is set.
    pub(super) fn new(parameters: &mut Parameters) -> Self {
        let tuning = Tuning {
            alpha: parameters.take("alpha", 2, 0..=65_535),
            beta: parameters.take("beta", 4, 0..=65_535),
            gamma: parameters.take("gamma", 1, 0..=65_535),
        };
        Self { tuning, round: Round::new() }
    }

    /// A round is over: moves the window by what it says of the queue.
    fn adjust(&self, vitals: &mut Vitals, acked: u32) {
        let (base_us, recent_us) = (self.round.delay.base_us, self.round.delay.recent_us);
        let queued = vitals.cwnd.wrapping_mul(recent_us - base_us) / base_us;
        let Tuning { alpha, beta, gamma } = self.tuning;
        if vitals.in_slow_start() {
            if queued > gamma {
                // Down to what the path carries, and one for the division's rest.
                let carried = u64::from(vitals.cwnd) * u64::from(base_us) / u64::from(recent_us);
                vitals.cwnd = vitals.cwnd.min(u32::try_from(carried + 1).unwrap_or(u32::MAX));
                vitals.ssthresh = vitals.ssthresh.min(vitals.cwnd);
            } else {
                growth::slow_start(vitals, acked);
            }
        } else if queued > beta {
            vitals.cwnd -= 1;
            vitals.ssthresh = vitals.ssthresh.min(vitals.cwnd);
        } else if queued < alpha {
            vitals.cwnd = vitals.cwnd.saturating_add(1);
        }
        vitals.cwnd = vitals.cwnd.max(2).min(vitals.cwnd_clamp);
        vitals.ssthresh = vitals.current_ssthresh();
    }
}

impl Control for Vegas {
    fn name(&self) -> &'static str {
        "vegas"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.round.restart(vitals);
    }

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        reno::ssthresh(vitals)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn on_acked(&mut self, _vitals: &mut Vitals, sample: &AckSample) {
        self.round.delay.take(sample);
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        if !self.round.is_watched {
            reno::avoid(vitals, acked);
        } else if self.round.is_over(vitals) {
            if self.round.delay.samples <= FEW_SAMPLES {
                self.round.begin(vitals);
                reno::avoid(vitals, acked);
            } else {
                self.adjust(vitals, acked);
                self.round.begin(vitals);
            }
        } else if vitals.in_slow_start() {
            growth::slow_start(vitals, acked);
        }
    }

    fn on_state(&mut self, vitals: &mut Vitals, new: CaState) {
        self.round.on_state(vitals, new);
    }

    fn on_event(&mut self, vitals: &mut Vitals, event: Event) {
        self.round.on_event(vitals, event);
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        Insight { phase: growth::phase(vitals), ..Insight::default() }
    }
}

#[cfg(test)]
mod tests;
