//! `ProbeRTT` and its two estimates: the minimum round-trip times of the last ten and of the last five seconds.
//!
//! After five seconds without a round-trip time as small as the last minimum, BBR halves in-flight data for 200 ms and
//! a round, so that queues built by BBR flows drain.

use super::phase::{AckPhase, Phase};
use super::version::Version;
use super::{Bbr3, ShortTerm, UNIT};
use crate::cc::model::probe_rtt::{DURATION, MIN_PIPE_CWND, MIN_RTT_WINDOW};
use crate::cc::{CcState, RateSample, SenderState};
use crate::number::narrow;

/// Estimates and their timestamps in microseconds; Linux's clock for them counts in jiffies.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the draft's names")]
pub(super) struct MinRtt {
    min_rtt: u32,
    min_rtt_at: u64,
    probe_rtt_min: u32,
    probe_rtt_min_at: u64,
}

impl Default for MinRtt {
    fn default() -> Self {
        Self { min_rtt: u32::MAX, min_rtt_at: 0, probe_rtt_min: u32::MAX, probe_rtt_min_at: 0 }
    }
}

impl MinRtt {
    pub(super) fn new(min_rtt: u32, now_us: u64) -> Self {
        Self { min_rtt, min_rtt_at: now_us, probe_rtt_min: min_rtt, probe_rtt_min_at: now_us }
    }

    /// The estimate in microseconds; None before the first sample.
    pub(super) fn micros(&self) -> Option<u32> {
        (self.min_rtt != u32::MAX).then_some(self.min_rtt)
    }

    /// The value for comparisons: the maximum before the first sample.
    pub(super) const fn raw(&self) -> u32 {
        self.min_rtt
    }
}

/// Progress of `ProbeRTT`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProbeRtt {
    /// Earliest end; None until in-flight data has shrunk.
    done_at: Option<u64>,
    round_done: bool,
}

impl<V: Version> Bbr3<V> {
    /// Updates the estimates; enters, tracks and leaves `ProbeRTT` (`UpdateMinRTT`, `CheckProbeRTT`).
    pub(super) fn update_min_rtt(&mut self, tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        let is_expired = self.take_rtt(V::clock_us(tp), sample);
        if is_expired && !self.idle_restart && self.phase != Phase::ProbeRtt {
            self.phase = Phase::ProbeRtt;
            self.save_cwnd_of(Phase::ProbeRtt, cc);
            self.probe_rtt.done_at = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.rounds.restart(tp);
        }
        if self.phase == Phase::ProbeRtt {
            self.watch_probe_rtt(tp, cc);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// Leaves `ProbeRTT` at the end of its duration (`CheckProbeRTTDone`).
    pub(super) fn check_probe_rtt_done(&mut self, tp: &SenderState, cc: &mut CcState) {
        let now_us = V::clock_us(tp);
        if self.probe_rtt.done_at.is_none_or(|done_at| now_us <= done_at) {
            return;
        }
        self.min_rtt.probe_rtt_min_at = now_us;
        cc.cwnd = cc.cwnd.max(self.recovery.prior_cwnd);
        self.short_term = ShortTerm::default();
        if self.full_bw.full_bw_reached {
            // In-flight data has already shrunk.
            self.start_down(tp);
            self.start_cruise();
        } else {
            self.phase = Phase::Startup;
        }
    }

    /// The window in `ProbeRTT`.
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp_multiple(self.bw(), CWND_GAIN).max(MIN_PIPE_CWND)
    }

    /// Takes a sample; returns whether to enter `ProbeRTT`.
    fn take_rtt(&mut self, now_us: u64, sample: &RateSample) -> bool {
        let estimate = &mut self.min_rtt;
        let is_expired = now_us > estimate.probe_rtt_min_at + self.tuning.probe_rtt_interval_us;
        if let Some(rtt) = sample.rtt {
            let micros = narrow(rtt.as_micros());
            let renews = V::DELAYED_ACK_RENEWS || !sample.is_ack_delayed;
            if micros < estimate.probe_rtt_min || (is_expired && renews) {
                (estimate.probe_rtt_min, estimate.probe_rtt_min_at) = (micros, now_us);
            }
        }
        let is_old = now_us > estimate.min_rtt_at + MIN_RTT_WINDOW.as_micros();
        let is_smaller = estimate.probe_rtt_min < estimate.min_rtt;
        let is_as_small = V::EQUAL_RTT_RENEWS && estimate.probe_rtt_min == estimate.min_rtt;
        if is_old || is_smaller || is_as_small {
            (estimate.min_rtt, estimate.min_rtt_at) = (estimate.probe_rtt_min, estimate.probe_rtt_min_at);
        }
        is_expired
    }

    fn watch_probe_rtt(&mut self, tp: &SenderState, cc: &mut CcState) {
        // Mark samples as application-limited: the low rate does not measure the path.
        cc.app_limited = (tp.delivered + u64::from(tp.in_flight())).max(1);
        if self.probe_rtt.done_at.is_some() {
            self.probe_rtt.round_done |= self.rounds.started;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(tp, cc);
            }
        } else if tp.in_flight() <= self.probe_rtt_cwnd() {
            let done_at = V::clock_us(tp) + DURATION.as_micros();
            self.probe_rtt = ProbeRtt { done_at: Some(done_at), round_done: false };
            self.rounds.restart(tp);
        }
    }
}

/// The window in `ProbeRTT` as a share of the bandwidth-delay product (`ProbeRTTCwndGain`).
const CWND_GAIN: u32 = UNIT / 2;
