//! The long-term model: the maximum safe amount in flight (`inflight_longterm`), found by probing.
//!
//! Loss of more than 2 % of a probe's flight sets it to the flight at which losses crossed that share. A probe that
//! reaches it without such loss raises it by 1, 2, 4, 8 … packets per round.

use super::phase::{AckPhase, Phase};
use super::version::Version;
use super::{Bbr3, Ecn};
use crate::cc::model::probe_rtt::MIN_PIPE_CWND;
use crate::cc::{CcState, LostPacket, RateSample, SenderState};
use crate::number::narrow;

/// The bound and the state of its growth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LongTerm {
    pub(super) inflight_longterm: u32,
    /// Do samples come from a probe whose result is still unknown?
    pub(super) is_bw_probe_sample: bool,
    pub(super) prev_probe_too_high: bool,
    pub(super) prev_probe_precautionary: bool,
    bw_probe_up_acked: u32,
    probe_up_acked_per_inc: u32,
    bw_probe_up_rounds: u32,
}

impl Default for LongTerm {
    fn default() -> Self {
        Self {
            inflight_longterm: u32::MAX,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            bw_probe_up_acked: 0,
            probe_up_acked_per_inc: u32::MAX,
            bw_probe_up_rounds: 0,
        }
    }
}

impl LongTerm {
    /// Prepares a probe; its growth starts at 2 to the power of `rounds`.
    pub(super) fn prepare(&mut self, rounds: u32) {
        self.bw_probe_up_rounds = rounds;
        self.bw_probe_up_acked = 0;
        self.prev_probe_precautionary = false;
    }

    /// Stops the growth of the bound.
    pub(super) fn stop(&mut self) {
        self.probe_up_acked_per_inc = u32::MAX;
    }

    /// Doubles the growth for the next round (`RaiseInflightLongtermSlope`).
    pub(super) fn raise_slope(&mut self, cwnd: u32) {
        let growth = 1_u32 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(MAX_DOUBLINGS);
        self.probe_up_acked_per_inc = (cwnd / growth).max(1);
    }

    fn grow(&mut self, acked: u32) {
        let acked = self.bw_probe_up_acked.saturating_add(acked);
        let packets = acked / self.probe_up_acked_per_inc;
        self.bw_probe_up_acked = acked % self.probe_up_acked_per_inc;
        self.inflight_longterm = self.inflight_longterm.saturating_add(packets);
    }
}

impl<V: Version> Bbr3<V> {
    /// Tracks the result of the last probe; returns whether that decided the next phase (`AdaptLongTermModel`).
    pub(super) fn adapt_long_term(&mut self, tp: &SenderState, cc: &CcState, sample: &RateSample) -> bool {
        if self.rounds.started && self.follow_probe(tp, sample) {
            return true;
        }
        if self.is_inflight_too_high(sample) {
            // Marks come only with the ACK.
            if (V::ACKS_REPORT_LOSS || sample.delivered_ce > 0) && self.long_term.is_bw_probe_sample {
                self.handle_inflight_too_high(tp, cc, sample.tx_in_flight, sample.is_app_limited);
            }
            return false;
        }
        if self.long_term.inflight_longterm == u32::MAX {
            return false;
        }
        self.long_term.inflight_longterm = self.long_term.inflight_longterm.max(sample.tx_in_flight);
        if self.phase == Phase::ProbeBwUp {
            self.probe_upward(tp, cc, sample);
        }
        false
    }

    /// A packet was lost (`HandleLostPacket`).
    pub(super) fn handle_lost_packet(&mut self, tp: &SenderState, cc: &CcState, packet: &LostPacket) {
        self.save_before_loss(cc);
        self.record_loss(tp);
        if V::STARTUP_COUNTS_GAPS {
            self.signals.loss_events += u32::from(packet.begins_range);
        }
        if self.long_term.is_bw_probe_sample && self.exceeds_loss(packet.lost, packet.tx_in_flight) {
            let inflight = self.inflight_at_loss(packet.lost, packet.tx_in_flight);
            self.handle_inflight_too_high(tp, cc, inflight, packet.is_app_limited);
        }
    }

    /// Processes a loss that only a loss probe showed: one packet of the flight that was delivered last
    /// (`bbr_run_loss_probe_recovery`).
    pub(super) fn handle_probed_loss(&mut self, tp: &SenderState, cc: &CcState) {
        self.record_loss(tp);
        let inflight = self.signals.inflight_latest.saturating_add(1);
        if self.long_term.is_bw_probe_sample && self.exceeds_loss(1, inflight) {
            self.handle_inflight_too_high(tp, cc, inflight, cc.app_limited != 0);
        }
    }

    /// Do this sample's losses or marks show that too much was in flight (`IsInflightTooHigh`)?
    pub(super) fn is_inflight_too_high(&self, sample: &RateSample) -> bool {
        let marked = sample.delivered_ce;
        let counted = if self.marks_are_losses() { marked } else { 0 };
        let by_marks = |ecn: &Ecn| marked > 0 && ecn.exceeds(marked, sample.delivered.unwrap_or(0));
        self.exceeds_loss(sample.lost.saturating_add(counted), sample.tx_in_flight)
            || self.ecn.as_ref().is_some_and(by_marks)
    }

    /// The long-term bound less the share that stays free for other flows (`InflightWithHeadroom`).
    pub(super) fn inflight_with_headroom(&self) -> u32 {
        let bound = self.long_term.inflight_longterm;
        if bound == u32::MAX {
            return bound;
        }
        let headroom = self.tuning.headroom.of(bound).max(1);
        bound.saturating_sub(headroom).max(MIN_PIPE_CWND)
    }

    /// Starts or ends the probe's feedback with this round.
    fn follow_probe(&mut self, tp: &SenderState, sample: &RateSample) -> bool {
        match self.cycle.ack_phase {
            AckPhase::ProbeStarting => self.cycle.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                self.long_term.is_bw_probe_sample = false;
                self.cycle.ack_phase = AckPhase::Init;
                if !self.phase.is_probe_bw() {
                    return false;
                }
                // The best samples of the cycle are in, so the previous cycle's may expire.
                if !sample.is_app_limited {
                    self.max_bw.advance();
                }
                let long_term = &self.long_term;
                if long_term.prev_probe_precautionary && !long_term.prev_probe_too_high {
                    self.start_refill(tp, 0);
                    return true;
                }
            }
            AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
        }
        false
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_upward(&mut self, tp: &SenderState, cc: &CcState, sample: &RateSample) {
        if !tp.cwnd_limited || cc.cwnd < self.long_term.inflight_longterm {
            if V::UNUSED_BOUND_DROPS_CREDIT {
                self.long_term.bw_probe_up_acked = 0;
            }
            return;
        }
        self.long_term.grow(sample.acked_sacked);
        if self.rounds.started {
            self.long_term.raise_slope(cc.cwnd);
        }
    }

    /// `HandleInflightTooHigh`: once per probe, and not if the application was the limit.
    fn handle_inflight_too_high(&mut self, tp: &SenderState, cc: &CcState, inflight: u32, is_app_limited: bool) {
        self.long_term.prev_probe_too_high = true;
        self.long_term.is_bw_probe_sample = false;
        if !is_app_limited {
            self.long_term.inflight_longterm = inflight.max(self.tuning.beta.of(self.target_inflight(tp, cc)));
        }
        if self.phase == Phase::ProbeBwUp {
            self.undo.note(Phase::ProbeBwUp);
            self.start_down(tp);
        }
    }

    fn exceeds_loss(&self, lost: u32, inflight: u32) -> bool {
        V::exceeds_loss(self.tuning.loss_thresh, lost, inflight)
    }

    /// The flight at which losses crossed the threshold, if this packet is the last lost one (`InflightAtLoss`): the
    /// smallest x with (`lost_prev` + x) ≥ threshold × (`inflight_prev` + x); 0 if they had crossed it before.
    fn inflight_at_loss(&self, lost: u32, inflight: u32) -> u32 {
        let thresh = self.tuning.loss_thresh;
        let (numerator, denominator) = (u64::from(thresh.numerator), u64::from(thresh.denominator));
        let (inflight_prev, lost_prev) = (u64::from(inflight.saturating_sub(1)), u64::from(lost.saturating_sub(1)));
        let budget = (inflight_prev * numerator).div_ceil(denominator);
        let prefix = budget.saturating_sub(lost_prev) * denominator / (denominator - numerator);
        narrow(inflight_prev + prefix)
    }
}

const MAX_DOUBLINGS: u32 = 30;
