//! The long-term model: the most that was safely in flight (`inflight_longterm`), found by probing.
//!
//! Loss of more than 2 % of a probe's flight sets it, to the flight at which losses crossed that share; a probe that
//! reaches it without such loss raises it by 1, 2, 4, 8 … packets a round.

use super::Bbr3;
use super::phase::{AckPhase, Phase};
use super::profile::{Marks, Words, narrow};
use crate::cc::{LostPacket, RateSample, Vitals};

/// The bound, and what probing has shown of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LongTerm {
    pub(super) inflight_longterm: u32,
    /// Do samples come of a probe that has not been answered yet?
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
    /// A probe is prepared; its growth begins at 2 to the power of `rounds`.
    pub(super) fn prepare(&mut self, rounds: u32) {
        self.bw_probe_up_rounds = rounds;
        self.bw_probe_up_acked = 0;
        self.prev_probe_precautionary = false;
    }

    /// The bound grows no more.
    pub(super) fn stop(&mut self) {
        self.probe_up_acked_per_inc = u32::MAX;
    }

    /// The next round of growth is twice as steep (`RaiseInflightLongtermSlope`).
    pub(super) fn raise_slope(&mut self, cwnd: u32) {
        let growth = 1_u32 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(MOST_DOUBLINGS);
        self.probe_up_acked_per_inc = (cwnd / growth).max(1);
    }

    fn grow(&mut self, acked: u32) {
        let acked = self.bw_probe_up_acked.saturating_add(acked);
        let packets = acked / self.probe_up_acked_per_inc;
        self.bw_probe_up_acked = acked % self.probe_up_acked_per_inc;
        self.inflight_longterm = self.inflight_longterm.saturating_add(packets);
    }
}

impl Bbr3 {
    /// Follows what ACKs tell of the last probe; says whether that decided the next phase (`AdaptLongTermModel`).
    pub(super) fn adapt_long_term(&mut self, vitals: &Vitals, sample: &RateSample) -> bool {
        if self.rounds.started && self.follow_probe(vitals, sample) {
            return true;
        }
        if self.is_inflight_too_high(sample) {
            // The draft reacts to each lost packet; only marks come with the ACK.
            let by_ack = self.profile.words == Words::Linux || sample.delivered_ce > 0;
            if by_ack && self.long_term.is_bw_probe_sample {
                self.handle_inflight_too_high(vitals, sample.tx_in_flight, sample.is_app_limited);
            }
            return false;
        }
        if self.long_term.inflight_longterm == u32::MAX {
            return false;
        }
        self.long_term.inflight_longterm = self.long_term.inflight_longterm.max(sample.tx_in_flight);
        if self.phase == Phase::ProbeBwUp {
            self.probe_upward(vitals, sample);
        }
        false
    }

    /// A packet was lost (`HandleLostPacket`).
    pub(super) fn handle_lost_packet(&mut self, vitals: &Vitals, packet: &LostPacket) {
        self.save_before_loss(vitals);
        self.note_loss(vitals);
        if self.profile.words == Words::Draft {
            self.signals.loss_events += u32::from(packet.begins_range);
        }
        if self.long_term.is_bw_probe_sample && self.exceeds_loss(packet.lost, packet.tx_in_flight) {
            let inflight = self.inflight_at_loss(packet.lost, packet.tx_in_flight);
            self.handle_inflight_too_high(vitals, inflight, packet.is_app_limited);
        }
    }

    /// A loss that only a loss probe showed: one packet of the flight that was delivered last (`bbr_run_loss_probe_recovery`).
    pub(super) fn handle_probed_loss(&mut self, vitals: &Vitals) {
        self.note_loss(vitals);
        let inflight = self.signals.inflight_latest.saturating_add(1);
        if self.long_term.is_bw_probe_sample && self.exceeds_loss(1, inflight) {
            self.handle_inflight_too_high(vitals, inflight, vitals.app_limited != 0);
        }
    }

    /// Do losses or marks of this sample say that too much was in flight (`IsInflightTooHigh`)?
    pub(super) fn is_inflight_too_high(&self, sample: &RateSample) -> bool {
        let marked = sample.delivered_ce;
        match self.profile.marks {
            Marks::AsLoss => self.exceeds_loss(sample.lost.saturating_add(marked), sample.tx_in_flight),
            Marks::Ignored => self.exceeds_loss(sample.lost, sample.tx_in_flight),
            Marks::Low => {
                self.exceeds_loss(sample.lost, sample.tx_in_flight)
                    || (marked > 0 && self.ecn.exceeds(marked, sample.delivered.unwrap_or(0)))
            }
        }
    }

    /// What to have in flight so that a share of the long-term bound stays free for others (`InflightWithHeadroom`).
    pub(super) fn inflight_with_headroom(&self) -> u32 {
        let bound = self.long_term.inflight_longterm;
        if bound == u32::MAX {
            return bound;
        }
        let headroom = self.profile.headroom.of(bound).max(1);
        bound.saturating_sub(headroom).max(super::window::MIN_PIPE_CWND)
    }

    /// The probe's ACKs begin or end with this round.
    fn follow_probe(&mut self, vitals: &Vitals, sample: &RateSample) -> bool {
        match self.cycle.ack_phase {
            AckPhase::ProbeStarting => self.cycle.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                self.long_term.is_bw_probe_sample = false;
                self.cycle.ack_phase = AckPhase::Init;
                if !self.phase.is_probe_bw() {
                    return false;
                }
                // Now the best samples of the cycle are in: those of the one before may go.
                if !sample.is_app_limited {
                    self.max_bw.advance();
                }
                let long_term = &self.long_term;
                if long_term.prev_probe_precautionary && !long_term.prev_probe_too_high {
                    self.start_refill(vitals, 0);
                    return true;
                }
            }
            AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
        }
        false
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_upward(&mut self, vitals: &Vitals, sample: &RateSample) {
        if !vitals.cwnd_limited || vitals.cwnd < self.long_term.inflight_longterm {
            if self.profile.drops_credit {
                self.long_term.bw_probe_up_acked = 0;
            }
            return;
        }
        self.long_term.grow(sample.acked_sacked);
        if self.rounds.started {
            self.long_term.raise_slope(vitals.cwnd);
        }
    }

    /// `HandleInflightTooHigh`: once a probe, and not by an application that did not fill the flight.
    fn handle_inflight_too_high(&mut self, vitals: &Vitals, inflight: u32, is_app_limited: bool) {
        self.long_term.prev_probe_too_high = true;
        self.long_term.is_bw_probe_sample = false;
        if !is_app_limited {
            self.long_term.inflight_longterm = inflight.max(self.profile.beta.of(self.target_inflight(vitals)));
        }
        if self.phase == Phase::ProbeBwUp {
            self.undo.note(Phase::ProbeBwUp);
            self.start_down(vitals);
        }
    }

    fn exceeds_loss(&self, lost: u32, inflight: u32) -> bool {
        let thresh = self.profile.loss_thresh;
        match self.profile.words {
            Words::Draft => u64::from(lost) * u64::from(thresh.whole) > u64::from(inflight) * u64::from(thresh.part),
            Words::Linux => lost > 0 && inflight > 0 && lost > thresh.of(inflight),
        }
    }

    /// The flight at which losses crossed the threshold, when this packet is the last of those lost (`InflightAtLoss`):
    /// of (`lost_prev` + x) ≥ threshold × (`inflight_prev` + x) the smallest x, none if they had crossed it before.
    fn inflight_at_loss(&self, lost: u32, inflight: u32) -> u32 {
        let (part, whole) = (u64::from(self.profile.loss_thresh.part), u64::from(self.profile.loss_thresh.whole));
        let (inflight_prev, lost_prev) = (u64::from(inflight.saturating_sub(1)), u64::from(lost.saturating_sub(1)));
        let budget = (inflight_prev * part).div_ceil(whole);
        let prefix = budget.saturating_sub(lost_prev) * whole / (whole - part);
        narrow(inflight_prev + prefix)
    }
}

const MOST_DOUBLINGS: u32 = 30;
