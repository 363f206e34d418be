//! `ProbeBW`: DOWN, CRUISE, REFILL, UP, and the end of each.
//!
//! ```text
//!  pacing gain  1.25                              ______
//!               1                 ____________---|      |
//!                .90      -------|             REFILL    |
//!                          DOWN     CRUISE           UP  |DOWN …
//!  ends with               drained  2 to 3 s,    a    plateau,
//!                                   63 rounds   round  loss, the old bound
//! ```

use super::phase::{AckPhase, Phase};
use super::version::Version;
use super::{Bbr3, Ecn, UNIT};
use crate::cc::{CaState, CcState, RateSample, SenderState};

/// State of the probing cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    /// Start of the phase from which the wait is measured, in microseconds (`cycle_stamp`).
    since_us: u64,
    /// Wait before the next probe (`bw_probe_wait`).
    wait_us: u32,
    rounds_since_probe_up: u32,
}

impl Cycle {
    /// Counts a round.
    pub(super) fn count_round(&mut self) {
        self.rounds_since_probe_up = self.rounds_since_probe_up.saturating_add(1).min(MAX_ROUNDS);
    }

    pub(super) fn has_elapsed(&self, tp: &SenderState, span_us: u32) -> bool {
        tp.now.as_micros() > self.since_us + u64::from(span_us)
    }
}

impl<V: Version> Bbr3<V> {
    /// `StartProbeBW_DOWN`: starts the cycle's clock and draws the wait before the next probe.
    pub(super) fn start_down(&mut self, tp: &SenderState) {
        self.reset_signals();
        self.long_term.stop();
        self.cycle.rounds_since_probe_up = self.rng.below(RANDOM_ROUNDS);
        self.cycle.wait_us = self.tuning.probe_wait_us + self.rng.below(self.tuning.probe_rand_us.max(1));
        self.cycle.since_us = tp.now.as_micros();
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.rounds.restart(tp);
        self.phase = Phase::ProbeBwDown;
    }

    /// `StartProbeBW_CRUISE`.
    pub(super) fn start_cruise(&mut self) {
        if V::CRUISE_CAPS_SHORT_TERM && self.short_term.inflight_shortterm != u32::MAX {
            let bound = self.long_term.inflight_longterm;
            self.short_term.inflight_shortterm = self.short_term.inflight_shortterm.min(bound);
        }
        self.phase = Phase::ProbeBwCruise;
    }

    /// `StartProbeBW_REFILL`: forgets the short-term bounds from losses since the last probe.
    pub(super) fn start_refill(&mut self, tp: &SenderState, doublings: u32) {
        self.short_term = super::ShortTerm::default();
        self.long_term.prepare(doublings);
        self.cycle.ack_phase = AckPhase::Refilling;
        self.rounds.restart(tp);
        self.phase = Phase::ProbeBwRefill;
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, tp: &SenderState, cc: &CcState) {
        self.long_term.is_bw_probe_sample = true;
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.cycle.since_us = tp.now.as_micros();
        self.rounds.restart(tp);
        self.full_bw.reset(self.delivery_rate);
        self.phase = Phase::ProbeBwUp;
        self.long_term.raise_slope(cc.cwnd);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, tp: &SenderState, cc: &CcState, sample: &RateSample) {
        if !self.full_bw.full_bw_reached || self.adapt_long_term(tp, cc, sample) {
            return;
        }
        let in_flight = V::inflight_in_cycle(self, tp, cc, sample);
        match self.phase {
            Phase::ProbeBwDown => self.slow_down(tp, cc, in_flight),
            Phase::ProbeBwCruise => {
                self.try_to_probe(tp, cc);
            }
            Phase::ProbeBwRefill if self.rounds.started => self.start_up(tp, cc),
            Phase::ProbeBwUp => self.speed_up(tp, cc, in_flight),
            _ => {}
        }
    }

    fn slow_down(&mut self, tp: &SenderState, cc: &CcState, in_flight: u32) {
        if !self.try_to_probe(tp, cc) && self.is_time_to_cruise(tp, cc, in_flight) {
            self.start_cruise();
        }
    }

    fn speed_up(&mut self, tp: &SenderState, cc: &CcState, in_flight: u32) {
        if self.is_time_to_go_down(tp, cc, in_flight) {
            self.long_term.prev_probe_too_high = false;
            self.start_down(tp);
        }
    }

    /// The bandwidth-delay product, or the window if congestion reduced it further (`TargetInflight`).
    pub(super) fn target_inflight(&self, tp: &SenderState, cc: &CcState) -> u32 {
        V::inflight_target(self, tp, cc).min(cc.cwnd)
    }

    /// After the wait, or after as many rounds as Reno with this window would need between losses (`IsTimeToProbeBW`).
    fn try_to_probe(&mut self, tp: &SenderState, cc: &CcState) -> bool {
        let rounds = self.tuning.probe_max_rounds.min(self.target_inflight(tp, cc));
        if let Some(doublings) = self.doublings_after_marks(tp) {
            self.start_refill(tp, doublings);
            return true;
        }
        let is_time = self.cycle.has_elapsed(tp, self.cycle.wait_us) || self.cycle.rounds_since_probe_up >= rounds;
        if is_time {
            self.start_refill(tp, 0);
        }
        is_time
    }

    /// Marks have ceased in a cycle without loss: other flows may have left, so probe at once and steeply
    /// (`bbr_ecn_reprobe_gain`, a half).
    fn doublings_after_marks(&self, tp: &SenderState) -> Option<u32> {
        let are_over = self.ecn.as_ref().is_some_and(Ecn::is_eligible)
            && self.signals.is_mark_in_cycle
            && !self.signals.is_loss_in_cycle
            && tp.state == CaState::Open;
        let half = self.long_term.inflight_longterm / 2;
        are_over.then(|| half.checked_ilog2().unwrap_or(0).min(MAX_DOUBLINGS))
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, tp: &SenderState, cc: &CcState, in_flight: u32) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(tp, cc, self.max_bw.best(), UNIT)
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, tp: &SenderState, cc: &CcState, in_flight: u32) -> bool {
        if self.long_term.prev_probe_too_high && in_flight >= self.long_term.inflight_longterm {
            self.long_term.prev_probe_precautionary = true;
            return true;
        }
        V::is_probe_over(self, tp, cc, in_flight)
    }
}

/// The range of the random reduction of the rounds before a probe.
const RANDOM_ROUNDS: u32 = 2;
/// Linux counts in eight bits.
const MAX_ROUNDS: u32 = 255;
const MAX_DOUBLINGS: u32 = 30;
