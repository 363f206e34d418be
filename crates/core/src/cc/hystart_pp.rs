//! HyStart++: a slow start that looks twice before it leaves (RFC 9406), for Reno and CUBIC.
//!
//! - **What it does**: as the round trip grows by an eighth it goes on four times more slowly for up to five rounds
//!   (conservative slow start, CSS); if the round trip falls again it was mistaken, and goes back.
//! - **Signal it listens to**: the smallest round-trip time of each round, beside that of the round before.
//! - **When it does well**: large windows behind any buffer: it leaves before the buffer overflows, and jitter doesn't
//!   make it leave for good.
//! - **When it does badly**: windows below its eight samples a round; unpaced senders, whose window grows by eight packets
//!   an ACK at most.
//! - **Reference**: RFC 9406 (P. Balasubramanian, Y. Huang, M. Olson, 2023).
//!
//! ```text
//!              RTT + threshold                    five rounds
//!   slow start ----------------> conservative -------------------> avoidance: ssthresh = cwnd
//!       ^                             |
//!       +------ RTT below baseline ---+            a loss or a mark ends it at any time
//! ```
//!
//! It rules the first slow start only (section 4.3); what a loss does, and avoidance, are the controller's behind it.

use super::{AckSample, CaState, Control, EcnUse, Event, INFINITE_SSTHRESH, Insight, RateSample, Stamps, Vitals};

#[cfg(test)]
mod tests;

/// A controller that begins with HyStart++.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HyStartPp<C> {
    then: C,
    phase: Phase,
    /// The round is over when this byte has been acknowledged (`windowEnd`).
    round_end: u64,
    /// Smallest round-trip time of this round, in microseconds; none before its first sample.
    round_min_us: Option<u32>,
    /// And of the one before.
    last_min_us: Option<u32>,
    /// Samples of this round, up to [`SAMPLES`].
    samples: u8,
    /// Quarters of a packet by which the window may still grow.
    credit: u32,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Slow start.
    #[default]
    Fast,
    /// CSS: since so many rounds; the round trip that made it begin.
    Conservative { rounds: u8, baseline_us: u32 },
    /// Slow start was left; it does not come back.
    Over,
}

impl<C: Control> HyStartPp<C> {
    /// In front of a controller.
    pub fn before(then: C) -> Self {
        Self { then, phase: Phase::Fast, round_end: 0, round_min_us: None, last_min_us: None, samples: 0, credit: 0 }
    }

    fn sample(&mut self, rtt_us: u32) {
        self.round_min_us = Some(self.round_min_us.map_or(rtt_us, |least| least.min(rtt_us)));
        self.samples = (self.samples + 1).min(SAMPLES);
        let (Some(now_us), true) = (self.round_min_us, self.samples == SAMPLES) else { return };
        match (self.phase, self.last_min_us) {
            (Phase::Fast, Some(last_us)) if now_us >= last_us.saturating_add(threshold_us(last_us)) => {
                self.phase = Phase::Conservative { rounds: 0, baseline_us: now_us };
            }
            (Phase::Conservative { baseline_us, .. }, _) if now_us < baseline_us => self.phase = Phase::Fast,
            _ => {}
        }
    }

    fn end_round(&mut self, vitals: &mut Vitals) {
        self.round_end = vitals.snd_nxt;
        (self.last_min_us, self.round_min_us, self.samples) = (self.round_min_us.take(), None, 0);
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds >= MOST_ROUNDS {
                self.phase = Phase::Over;
                vitals.ssthresh = vitals.cwnd;
            }
        }
    }

    /// A packet for each one acknowledged, a quarter of one in CSS; no more than `L` at once unless paced.
    fn grow(&mut self, vitals: &mut Vitals, acked: u32) {
        let acked = if vitals.paced { acked } else { acked.min(MOST_AT_ONCE) };
        self.credit += if self.phase == Phase::Fast { acked * GROWTH_DIVISOR } else { acked };
        vitals.cwnd = vitals.cwnd.saturating_add(self.credit / GROWTH_DIVISOR).min(vitals.cwnd_clamp);
        self.credit %= GROWTH_DIVISOR;
    }

    /// A threshold was set, whoever set it: the first slow start is over.
    fn is_over(&mut self, vitals: &Vitals) -> bool {
        if vitals.ssthresh < INFINITE_SSTHRESH {
            self.phase = Phase::Over;
        }
        self.phase == Phase::Over
    }
}

/// An eighth of the round trip, 4 to 16 ms.
fn threshold_us(rtt_us: u32) -> u32 {
    (rtt_us / RTT_DIVISOR).clamp(LEAST_THRESHOLD_US, MOST_THRESHOLD_US)
}

impl<C: Control> Control for HyStartPp<C> {
    fn name(&self) -> &'static str {
        self.then.name()
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.round_end = vitals.snd_nxt;
        self.then.start(vitals);
    }

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        self.then.ssthresh(vitals)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        self.then.undo_cwnd(vitals)
    }

    fn ecn_use(&self) -> EcnUse {
        self.then.ecn_use()
    }

    fn on_stamps(&mut self, stamps: Stamps) {
        self.then.on_stamps(stamps);
    }

    fn on_acked(&mut self, vitals: &mut Vitals, sample: &AckSample) {
        if !self.is_over(vitals) {
            if let Some(rtt) = sample.rtt {
                self.sample(u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX));
            }
            if vitals.snd_una >= self.round_end {
                self.end_round(vitals);
            }
        }
        self.then.on_acked(vitals, sample);
    }

    fn on_ack(&mut self, vitals: &mut Vitals, is_plain: bool) {
        self.then.on_ack(vitals, is_plain);
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        if self.is_over(vitals) {
            self.then.avoid(vitals, acked);
        } else if vitals.is_cwnd_limited() {
            self.grow(vitals, acked);
        }
    }

    fn controls(&self) -> bool {
        self.then.controls()
    }

    fn control(&mut self, vitals: &mut Vitals, sample: &RateSample) {
        self.then.control(vitals, sample);
    }

    fn on_state(&mut self, vitals: &mut Vitals, new: CaState) {
        self.then.on_state(vitals, new);
    }

    fn on_event(&mut self, vitals: &mut Vitals, event: Event) {
        self.then.on_event(vitals, event);
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        let insight = self.then.insight(vitals);
        match self.phase {
            Phase::Conservative { .. } if vitals.in_slow_start() => {
                Insight { phase: "conservative_slow_start", ..insight }
            }
            _ => insight,
        }
    }
}

/// `MIN_RTT_THRESH`.
const LEAST_THRESHOLD_US: u32 = 4_000;
/// `MAX_RTT_THRESH`.
const MOST_THRESHOLD_US: u32 = 16_000;
/// `MIN_RTT_DIVISOR`.
const RTT_DIVISOR: u32 = 8;
/// `N_RTT_SAMPLE`.
const SAMPLES: u8 = 8;
/// `CSS_GROWTH_DIVISOR`.
const GROWTH_DIVISOR: u32 = 4;
/// `CSS_ROUNDS`.
const MOST_ROUNDS: u8 = 5;
/// `L`, for senders that are not paced.
const MOST_AT_ONCE: u32 = 8;
