//! HPCC: a window computed from in-network telemetry.
//!
//! - **What it does**: each ACK carries a telemetry stack. From two of them HPCC computes the utilization of the path's
//!   most loaded link, and divides the window by it for a target of η = 95 %; it adds a few bytes for fairness.
//! - **Signal**: queue length, bytes sent and rate of every link on the path. No loss, no delay.
//! - **Works well**: data centres: an incast's queue drains in one or two round trips, and the queue stays empty.
//! - **Works badly**: where a link on the path does not stamp; flows become fair only after many round trips.
//! - **Reference**: Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019.
//!
//! ```text
//!   U >= η, or 5 additive steps:  W = Wc / (U/η) + W_AI       on every ACK, from the reference window Wc,
//!   else:                         W = Wc + W_AI               which becomes W once per round trip
//! ```
//!
//! The rate is W/T, with T the path's base round-trip time. [`inflight`] has U. Windows are in bytes here; the sender's
//! is rounded up to packets, and pacing is exact to the byte. Differences from the paper: it starts with the host's
//! initial window (the paper: line rate times T), the window is limited to what the path's slowest link carries in T
//! (the paper: the sender's own link), and TCP performs retransmission.

mod inflight;

use super::{CcInfo, CcState, CongestionControl, INFINITE_SSTHRESH, Parameters, RateSample, SenderState};
use crate::rate::Rate;
use crate::telemetry::Stack;
use crate::time::Span;
use inflight::{Inflight, ONE};

/// HPCC's state for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hpcc {
    /// η in percent.
    eta_percent: u64,
    max_stage: u32,
    additive_bytes: u64,
    /// T; None: the minimum round-trip time so far.
    base_rtt: Option<Span>,
    inflight: Inflight,
    /// W, and the reference Wc.
    window_bytes: u64,
    reference_bytes: u64,
    /// Additive steps since the last division.
    stage: u32,
    /// Wc is updated when this byte is acknowledged.
    update_at: u64,
    /// The telemetry of the next ACK.
    pending: Option<Stack>,
}

impl Hpcc {
    /// Parameters: `w_ai` in bytes, `base_rtt` in nanoseconds (0: the measured minimum), `eta_percent`, `max_stage`.
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

    fn round_trip(&self, tp: &SenderState) -> Span {
        let measured = || Span::from_micros(u64::from(tp.min_rtt_us));
        self.base_rtt.unwrap_or_else(|| if tp.min_rtt_us == u32::MAX { Span::ZERO } else { measured() })
    }

    /// Computes the window for this U, and the next reference (function `ComputeWind`).
    fn react(&mut self, utilization: u64, is_round_over: bool, maximum: u64) {
        let eta = ONE * self.eta_percent / 100;
        let divides = utilization >= eta || self.stage >= self.max_stage;
        let base = if divides {
            let scaled = u128::from(self.reference_bytes) * u128::from(eta) / u128::from(utilization.max(1));
            u64::try_from(scaled).unwrap_or(u64::MAX)
        } else {
            self.reference_bytes
        };
        self.window_bytes = base.saturating_add(self.additive_bytes).clamp(MIN_BYTES, maximum.max(MIN_BYTES));
        if is_round_over {
            self.stage = if divides { 0 } else { self.stage + 1 };
            self.reference_bytes = self.window_bytes;
        }
    }

    fn set(&self, tp: &SenderState, cc: &mut CcState, round_trip: Span) {
        let packets = self.window_bytes.div_ceil(u64::from(tp.mss)).max(1);
        cc.cwnd = u32::try_from(packets).unwrap_or(u32::MAX).min(cc.cwnd_clamp);
        let rate = Rate::of(u128::from(self.window_bytes), round_trip);
        cc.pacing_rate = rate.min(tp.max_pacing_rate);
    }
}

impl CongestionControl for Hpcc {
    fn name(&self) -> &'static str {
        "hpcc"
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.window_bytes = u64::from(cc.cwnd) * u64::from(tp.mss);
        self.reference_bytes = self.window_bytes;
        cc.paced = true;
        let round_trip = self.round_trip(tp);
        if round_trip > Span::ZERO {
            self.set(tp, cc, round_trip);
        }
    }

    fn ssthresh(&mut self, _tp: &SenderState, _cc: &mut CcState) -> u32 {
        INFINITE_SSTHRESH
    }

    fn undo_cwnd(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        cc.cwnd
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn uses_telemetry(&self) -> bool {
        true
    }

    fn on_telemetry(&mut self, stack: &Stack) {
        self.pending = Some(*stack);
    }

    fn cong_control(&mut self, tp: &SenderState, cc: &mut CcState, _sample: &RateSample) {
        let round_trip = self.round_trip(tp);
        if round_trip == Span::ZERO {
            return;
        }
        if let Some(stack) = self.pending.take()
            && let Some(utilization) = self.inflight.measure(&stack, round_trip)
        {
            let is_round_over = tp.snd_una > self.update_at;
            if is_round_over {
                self.update_at = tp.snd_nxt;
            }
            let maximum = self.inflight.slowest().map_or(u64::MAX, |rate| Rate::from_bytes(rate).bytes_in(round_trip));
            self.react(utilization, is_round_over, maximum);
        }
        self.set(tp, cc, round_trip);
    }

    fn min_tso_segments(&self, _tp: &SenderState, _cc: &CcState) -> Option<u32> {
        Some(1)
    }

    fn max_segments(&self) -> Option<u32> {
        Some(1) // The NIC paces packet by packet.
    }

    fn cc_info(&self, _tp: &SenderState, _cc: &CcState) -> CcInfo {
        let phase = if self.stage == 0 { "multiplicative" } else { "additive" };
        CcInfo { phase, ..CcInfo::default() }
    }
}

/// η.
const ETA_PERCENT: u64 = 95;
/// Additive steps before the window is divided again (`maxStage`).
const MAX_STAGE: u32 = 5;
/// `W_AI`.
const ADDITIVE_BYTES: u64 = 80;
/// Minimum window.
const MIN_BYTES: u64 = 1;

#[cfg(test)]
mod tests;
