//! HPCC: a window from what the links themselves say (in-network telemetry).
//!
//! - **What it does**: each ACK brings a stack of stamps; from two of them it reckons how full the path's fullest link
//!   is, and divides the window by that, so that η = 95 % is in use; a few bytes are added for fairness.
//! - **Signal it listens to**: queue length, bytes sent and rate of every link on the way. No loss, no delay.
//! - **When it does well**: data centres: an incast's queue is gone in a round trip or two, and the queue stays empty.
//! - **When it does badly**: where a link on the way stamps nothing; flows become fair in many round trips only.
//! - **Reference**: Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019.
//!
//! ```text
//!   U >= η, or 5 additive steps:  W = Wc / (U/η) + W_AI       on every ACK, from the reference window Wc,
//!   else:                         W = Wc + W_AI               which becomes W once a round trip
//! ```
//!
//! The rate is W/T, with T the path's base round trip. [`inflight`] has U. Windows are bytes here; the sender's is rounded
//! up to packets, and pacing keeps to the byte. Where we depart from the paper: it begins with the host's initial
//! window (the paper: a line rate times T), no window exceeds what the path's slowest link carries in T (the paper: the
//! sender's own link), and packets are repeated as TCP does it.

mod inflight;

use super::{Control, INFINITE_SSTHRESH, Insight, Parameters, RateSample, Vitals};
use crate::rate::Rate;
use crate::telemetry::Stack;
use crate::time::Span;
use inflight::{Inflight, ONE};

/// A flow's HPCC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hpcc {
    /// η in per cent.
    eta_percent: u64,
    max_stage: u32,
    additive_bytes: u64,
    /// T; None: the least round trip so far.
    base_rtt: Option<Span>,
    inflight: Inflight,
    /// W, and the reference Wc.
    window_bytes: u64,
    reference_bytes: u64,
    /// Additive steps since the last division.
    stage: u32,
    /// Wc is brought up to date when this byte is acknowledged.
    update_at: u64,
    /// What the ACK that comes next has brought.
    pending: Option<Stack>,
}

impl Hpcc {
    /// `w_ai` in bytes, `base_rtt` in nanoseconds (0: the least round trip seen), `eta_percent`, `max_stage`.
    pub fn new(parameters: &mut Parameters) -> Self {
        let base_rtt = parameters.take("base_rtt", 0_u64, 0..=1_000_000_000);
        Self {
            eta_percent: parameters.take("eta_percent", ETA_PERCENT, 1..=100),
            max_stage: parameters.take("max_stage", MAX_STAGE, 0..=1_000),
            additive_bytes: parameters.take("w_ai", ADDITIVE_BYTES, 0..=1_000_000),
            base_rtt: (base_rtt > 0).then(|| Span::from_nanos(base_rtt)),
            inflight: Inflight::default(),
            window_bytes: 0,
            reference_bytes: 0,
            stage: 0,
            update_at: 0,
            pending: None,
        }
    }

    fn round_trip(&self, vitals: &Vitals) -> Span {
        let measured = || Span::from_micros(u64::from(vitals.min_rtt_us));
        self.base_rtt.unwrap_or_else(|| if vitals.min_rtt_us == u32::MAX { Span::ZERO } else { measured() })
    }

    /// The window for this U, and for the next reference (function `ComputeWind`).
    fn react(&mut self, utilisation: u64, is_round_over: bool, most: u64) {
        let eta = ONE * self.eta_percent / 100;
        let divides = utilisation >= eta || self.stage >= self.max_stage;
        let base = if divides {
            let scaled = u128::from(self.reference_bytes) * u128::from(eta) / u128::from(utilisation.max(1));
            u64::try_from(scaled).unwrap_or(u64::MAX)
        } else {
            self.reference_bytes
        };
        self.window_bytes = base.saturating_add(self.additive_bytes).clamp(LEAST_BYTES, most.max(LEAST_BYTES));
        if is_round_over {
            self.stage = if divides { 0 } else { self.stage + 1 };
            self.reference_bytes = self.window_bytes;
        }
    }

    fn set(&self, vitals: &mut Vitals, round_trip: Span) {
        let packets = self.window_bytes.div_ceil(u64::from(vitals.mss)).max(1);
        vitals.cwnd = u32::try_from(packets).unwrap_or(u32::MAX).min(vitals.cwnd_clamp);
        let rate = Rate::of(u128::from(self.window_bytes), round_trip);
        vitals.pacing_rate = rate.min(vitals.max_pacing_rate);
    }
}

impl Control for Hpcc {
    fn name(&self) -> &'static str {
        "hpcc"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.window_bytes = u64::from(vitals.cwnd) * u64::from(vitals.mss);
        self.reference_bytes = self.window_bytes;
        vitals.paced = true;
        let round_trip = self.round_trip(vitals);
        if round_trip > Span::ZERO {
            self.set(vitals, round_trip);
        }
    }

    fn ssthresh(&mut self, _vitals: &mut Vitals) -> u32 {
        INFINITE_SSTHRESH
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        vitals.cwnd
    }

    fn controls(&self) -> bool {
        true
    }

    fn wants_telemetry(&self) -> bool {
        true
    }

    fn on_telemetry(&mut self, stack: &Stack) {
        self.pending = Some(*stack);
    }

    fn control(&mut self, vitals: &mut Vitals, _sample: &RateSample) {
        let round_trip = self.round_trip(vitals);
        if round_trip == Span::ZERO {
            return;
        }
        if let Some(stack) = self.pending.take()
            && let Some(utilisation) = self.inflight.measure(&stack, round_trip)
        {
            let is_round_over = vitals.snd_una > self.update_at;
            if is_round_over {
                self.update_at = vitals.snd_nxt;
            }
            let most = self.inflight.slowest().map_or(u64::MAX, |rate| Rate::from_bytes(rate).bytes_in(round_trip));
            self.react(utilisation, is_round_over, most);
        }
        self.set(vitals, round_trip);
    }

    fn min_tso_segments(&self, _vitals: &Vitals) -> Option<u32> {
        Some(1)
    }

    fn most_segments(&self) -> Option<u32> {
        Some(1) // Its pacing is the card's, packet by packet.
    }

    fn insight(&self, _vitals: &Vitals) -> Insight {
        let phase = if self.stage == 0 { "multiplicative" } else { "additive" };
        Insight { phase, ..Insight::default() }
    }
}

/// η.
const ETA_PERCENT: u64 = 95;
/// Additive steps before the window is divided again (`maxStage`).
const MAX_STAGE: u32 = 5;
/// `W_AI`.
const ADDITIVE_BYTES: u64 = 80;
/// No window is smaller.
const LEAST_BYTES: u64 = 1;

#[cfg(test)]
mod tests;
