//! `ProbeRTT`, and the two estimates behind it: the smallest round-trip time of ten seconds, and that of five.
//!
//! Five seconds without a round-trip time as small as the last one found: the flight is halved for 200 ms and a round,
//! so that queues of BBR's making drain.

use super::phase::{AckPhase, Phase};
use super::profile::Words;
use super::window::MIN_PIPE_CWND;
use super::{Bbr3, ShortTerm};
use crate::cc::{RateSample, Vitals};
use crate::time::HZ;

/// Estimates and their stamps, in microseconds; Linux's clock for them is in jiffies.
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

    /// In microseconds, once there was a sample.
    pub(super) fn micros(&self) -> Option<u32> {
        (self.min_rtt != u32::MAX).then_some(self.min_rtt)
    }

    /// As it is compared with: longer than everything before the first sample.
    pub(super) const fn raw(&self) -> u32 {
        self.min_rtt
    }
}

/// How far `ProbeRTT` has got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProbeRtt {
    /// It may end then; None until the flight has shrunk.
    done_at: Option<u64>,
    round_done: bool,
}

impl Bbr3 {
    /// The clock of this version, in microseconds.
    pub(super) fn clock_us(&self, vitals: &Vitals) -> u64 {
        match self.profile.words {
            Words::Draft => vitals.now.as_micros(),
            Words::Linux => vitals.now.jiffies() * (1_000_000 / HZ),
        }
    }

    /// Keeps the estimates, and enters, watches over and leaves `ProbeRTT` (`UpdateMinRTT`, `CheckProbeRTT`).
    pub(super) fn update_min_rtt(&mut self, vitals: &mut Vitals, sample: &RateSample) {
        let is_due = self.take_rtt(self.clock_us(vitals), sample);
        if is_due && !self.idle_restart && self.phase != Phase::ProbeRtt {
            self.phase = Phase::ProbeRtt;
            self.save_cwnd_of(Phase::ProbeRtt, vitals);
            self.probe_rtt.done_at = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.rounds.restart(vitals);
        }
        if self.phase == Phase::ProbeRtt {
            self.watch_probe_rtt(vitals);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// Leaves `ProbeRTT` when its time is over (`CheckProbeRTTDone`).
    pub(super) fn check_probe_rtt_done(&mut self, vitals: &mut Vitals) {
        let now_us = self.clock_us(vitals);
        if self.probe_rtt.done_at.is_none_or(|done_at| now_us <= done_at) {
            return;
        }
        self.min_rtt.probe_rtt_min_at = now_us;
        vitals.cwnd = vitals.cwnd.max(self.recovery.prior_cwnd);
        self.short_term = ShortTerm::default();
        if self.full_bw.full_bw_reached {
            // What is in flight has sunk already.
            self.start_down(vitals);
            self.start_cruise();
        } else {
            self.phase = Phase::Startup;
        }
    }

    /// The window in `ProbeRTT`.
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp_multiple(self.bw(), self.profile.probe_rtt_gain).max(MIN_PIPE_CWND)
    }

    /// Takes a sample; says whether `ProbeRTT` is due. Linux does not let a delayed ACK replace an old estimate.
    fn take_rtt(&mut self, now_us: u64, sample: &RateSample) -> bool {
        let is_linux = self.profile.words == Words::Linux;
        let estimate = &mut self.min_rtt;
        let is_due = now_us > estimate.probe_rtt_min_at + self.profile.probe_rtt_interval_us;
        if let Some(rtt) = sample.rtt {
            let micros = super::narrow(rtt.as_micros());
            if micros < estimate.probe_rtt_min || (is_due && !(is_linux && sample.is_ack_delayed)) {
                (estimate.probe_rtt_min, estimate.probe_rtt_min_at) = (micros, now_us);
            }
        }
        let is_old = now_us > estimate.min_rtt_at + self.profile.min_rtt_us;
        let is_smaller = estimate.probe_rtt_min < estimate.min_rtt;
        let is_as_small = is_linux && estimate.probe_rtt_min == estimate.min_rtt;
        if is_old || is_smaller || is_as_small {
            (estimate.min_rtt, estimate.min_rtt_at) = (estimate.probe_rtt_min, estimate.probe_rtt_min_at);
        }
        is_due
    }

    fn watch_probe_rtt(&mut self, vitals: &mut Vitals) {
        // So low a rate says nothing of the path.
        vitals.app_limited = (vitals.delivered + u64::from(vitals.in_flight())).max(1);
        if self.probe_rtt.done_at.is_some() {
            self.probe_rtt.round_done |= self.rounds.started;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(vitals);
            }
        } else if vitals.in_flight() <= self.probe_rtt_cwnd() {
            let done_at = self.clock_us(vitals) + self.profile.probe_rtt_us;
            self.probe_rtt = ProbeRtt { done_at: Some(done_at), round_done: false };
            self.rounds.restart(vitals);
        }
    }
}
