//! `ProbeBW`: slower, at the bandwidth, refill, faster; and when each ends.
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
use super::profile::{Marks, UpEnd, Words};
use super::{Bbr3, UNIT};
use crate::cc::{CaState, RateSample, Vitals};

/// Where the cycle of probes stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    /// When this phase began that the clock counts from, in microseconds (`cycle_stamp`).
    since_us: u64,
    /// How long to wait for the next probe (`bw_probe_wait`).
    wait_us: u32,
    rounds_since_probe_up: u32,
}

impl Cycle {
    /// A round is over.
    pub(super) fn count_round(&mut self) {
        self.rounds_since_probe_up = self.rounds_since_probe_up.saturating_add(1).min(MOST_ROUNDS);
    }

    fn has_elapsed(&self, vitals: &Vitals, span_us: u32) -> bool {
        vitals.now.as_micros() > self.since_us + u64::from(span_us)
    }
}

impl Bbr3 {
    /// `StartProbeBW_DOWN`: the cycle's clock starts, and how long until the next probe is drawn.
    pub(super) fn start_down(&mut self, vitals: &Vitals) {
        self.reset_signals();
        self.long_term.stop();
        self.cycle.rounds_since_probe_up = self.dice.below(self.profile.probe_rand_rounds);
        self.cycle.wait_us = self.profile.probe_wait_us + self.dice.below(self.profile.probe_rand_us.max(1));
        self.cycle.since_us = vitals.now.as_micros();
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.rounds.restart(vitals);
        self.phase = Phase::ProbeBwDown;
    }

    /// `StartProbeBW_CRUISE`.
    pub(super) fn start_cruise(&mut self) {
        if self.profile.words == Words::Linux && self.short_term.inflight_shortterm != u32::MAX {
            let bound = self.long_term.inflight_longterm;
            self.short_term.inflight_shortterm = self.short_term.inflight_shortterm.min(bound);
        }
        self.phase = Phase::ProbeBwCruise;
    }

    /// `StartProbeBW_REFILL`: what others did to the flow since the last probe is forgotten.
    pub(super) fn start_refill(&mut self, vitals: &Vitals, doublings: u32) {
        self.short_term = super::ShortTerm::default();
        self.long_term.prepare(doublings);
        self.cycle.ack_phase = AckPhase::Refilling;
        self.rounds.restart(vitals);
        self.phase = Phase::ProbeBwRefill;
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, vitals: &Vitals) {
        self.long_term.is_bw_probe_sample = true;
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.cycle.since_us = vitals.now.as_micros();
        self.rounds.restart(vitals);
        self.full_bw.reset(self.delivery_rate);
        self.phase = Phase::ProbeBwUp;
        self.long_term.raise_slope(vitals.cwnd);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, vitals: &Vitals, sample: &RateSample) {
        if !self.full_bw.full_bw_reached || self.adapt_long_term(vitals, sample) {
            return;
        }
        let in_flight = match self.profile.words {
            Words::Draft => vitals.in_flight(),
            Words::Linux => self.at_departure(vitals, sample.prior_in_flight),
        };
        match self.phase {
            Phase::ProbeBwDown => self.slow_down(vitals, in_flight),
            Phase::ProbeBwCruise => {
                self.try_to_probe(vitals);
            }
            Phase::ProbeBwRefill if self.rounds.started => self.start_up(vitals),
            Phase::ProbeBwUp => self.speed_up(vitals, in_flight),
            _ => {}
        }
    }

    fn slow_down(&mut self, vitals: &Vitals, in_flight: u32) {
        if !self.try_to_probe(vitals) && self.is_time_to_cruise(vitals, in_flight) {
            self.start_cruise();
        }
    }

    fn speed_up(&mut self, vitals: &Vitals, in_flight: u32) {
        if self.is_time_to_go_down(vitals, in_flight) {
            self.long_term.prev_probe_too_high = false;
            self.start_down(vitals);
        }
    }

    /// Our bandwidth-delay product, unless congestion cut the window (`TargetInflight`).
    pub(super) fn target_inflight(&self, vitals: &Vitals) -> u32 {
        let product = match self.profile.words {
            Words::Draft => self.bdp_multiple(self.bw(), UNIT),
            Words::Linux => self.inflight(vitals, self.bw(), UNIT),
        };
        product.min(vitals.cwnd)
    }

    /// By the clock, or by rounds as often as Reno with this window would lose (`IsTimeToProbeBW`).
    fn try_to_probe(&mut self, vitals: &Vitals) -> bool {
        let rounds = self.profile.probe_max_rounds.min(self.target_inflight(vitals));
        if let Some(doublings) = self.doublings_after_marks(vitals) {
            self.start_refill(vitals, doublings);
            return true;
        }
        let is_time = self.cycle.has_elapsed(vitals, self.cycle.wait_us) || self.cycle.rounds_since_probe_up >= rounds;
        if is_time {
            self.start_refill(vitals, 0);
        }
        is_time
    }

    /// Marks have ceased in a cycle without loss: others may have left, so probe at once and steeply
    /// (`bbr_ecn_reprobe_gain`, a half).
    fn doublings_after_marks(&self, vitals: &Vitals) -> Option<u32> {
        let are_over = self.profile.marks == Marks::Low
            && self.ecn.is_eligible()
            && self.signals.is_mark_in_cycle
            && !self.signals.is_loss_in_cycle
            && vitals.state == CaState::Open;
        let half = self.long_term.inflight_longterm / 2;
        are_over.then(|| half.checked_ilog2().unwrap_or(0).min(MOST_DOUBLINGS))
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, vitals: &Vitals, in_flight: u32) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(vitals, self.max_bw.best(), UNIT)
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, vitals: &Vitals, in_flight: u32) -> bool {
        let bound = self.long_term.inflight_longterm;
        if self.long_term.prev_probe_too_high && in_flight >= bound {
            self.long_term.prev_probe_precautionary = true;
            return true;
        }
        match self.profile.up_end {
            UpEnd::Queue(gain) => {
                self.cycle.has_elapsed(vitals, self.min_rtt.raw())
                    && in_flight >= self.inflight(vitals, self.max_bw.best(), gain)
            }
            UpEnd::Plateau if vitals.cwnd_limited && vitals.cwnd >= bound => {
                self.full_bw.reset(self.delivery_rate); // The bound is what holds bandwidth back.
                false
            }
            UpEnd::Plateau => self.full_bw.full_bw_now,
        }
    }
}

/// Linux counts in eight bits.
const MOST_ROUNDS: u32 = 255;
const MOST_DOUBLINGS: u32 = 30;
