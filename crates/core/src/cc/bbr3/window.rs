//! What follows for pacing rate and window.

use super::Bbr3;
use super::phase::Phase;
use super::profile::{Words, narrow};
use crate::cc::model::bandwidth::Bandwidth;
use crate::cc::model::pacing::{in_network_at_departure, initial_rate};
use crate::cc::{GSO_MAX_BYTES, RateSample, Vitals};

impl Bbr3 {
    /// The initial window in a round trip, at Startup's gain (`InitPacingRate`).
    pub(super) fn set_initial_pacing_rate(&mut self, vitals: &mut Vitals) {
        self.has_seen_rtt |= vitals.srtt_us8 > 0;
        vitals.pacing_rate = initial_rate(vitals, self.profile.startup.pacing);
    }

    /// Paces at this gain, less 1 %; until the pipe is full the rate only grows (`SetPacingRateWithGain`).
    pub(super) fn set_pacing_rate(&mut self, vitals: &mut Vitals, gain: u32) {
        let rate = self.bw().paced(vitals.mss, gain).min(vitals.max_pacing_rate);
        if !self.has_seen_rtt && vitals.srtt_us8 > 0 {
            self.set_initial_pacing_rate(vitals);
        }
        if self.full_bw.full_bw_reached || rate > vitals.pacing_rate {
            vitals.pacing_rate = rate;
        }
    }

    /// Grows by what was acknowledged towards the target, or falls to it; then the bounds (`SetCwnd`).
    pub(super) fn set_cwnd(&mut self, vitals: &mut Vitals, sample: &RateSample) {
        if sample.acked_sacked > 0 {
            let target = self.bdp_multiple(self.bw(), self.gains.window).saturating_add(self.extra_acked());
            let target = self.with_budget(vitals, target);
            let grown = vitals.cwnd.saturating_add(sample.acked_sacked);
            vitals.cwnd = if self.full_bw.full_bw_reached {
                grown.min(target)
            } else if vitals.cwnd < target || self.is_young(vitals) {
                grown
            } else {
                vitals.cwnd
            };
            vitals.cwnd = vitals.cwnd.max(MIN_PIPE_CWND);
        }
        vitals.cwnd = vitals.cwnd.min(vitals.cwnd_clamp);
        if self.phase == Phase::ProbeRtt {
            vitals.cwnd = vitals.cwnd.min(self.probe_rtt_cwnd());
        }
        vitals.cwnd = vitals.cwnd.min(self.cap());
    }

    /// Packets to have in flight at this gain, with room for what hosts hold back (`Inflight`).
    pub(super) fn inflight(&self, vitals: &Vitals, bandwidth: Bandwidth, gain: u32) -> u32 {
        self.with_budget(vitals, self.bdp_multiple(bandwidth, gain))
    }

    /// Bandwidth-delay product; the initial window while no delay is known (`BDPMultiple`).
    pub(super) fn bdp_multiple(&self, bandwidth: Bandwidth, gain: u32) -> u32 {
        self.min_rtt.micros().map_or(self.initial_cwnd, |micros| bandwidth.packets_in_at(micros, gain))
    }

    /// Of packets in flight, those in the network when the next one departs; it counts itself where the flight is to grow.
    pub(super) fn at_departure(&self, vitals: &Vitals, in_flight: u32) -> u32 {
        let departing = if self.gains.pacing > super::UNIT { self.quantum(vitals) } else { 0 };
        in_network_at_departure(vitals, in_flight + departing, self.bw())
    }

    /// Three super-packets at least: one in this host's queue, one on its way, one at the receiver
    /// (`QuantizationBudget`).
    fn with_budget(&self, vitals: &Vitals, packets: u32) -> u32 {
        let offload = match self.profile.words {
            Words::Draft => 3 * send_quantum_bytes(vitals) / vitals.mss,
            Words::Linux => 3 * self.quantum(vitals),
        };
        let probing = if self.phase == Phase::ProbeBwUp { 2 } else { 0 };
        packets.max(offload).max(MIN_PIPE_CWND).saturating_add(probing)
    }

    /// Segments of a super-packet: a millisecond's worth, more on short paths (`bbr_tso_segs_goal`).
    fn quantum(&self, vitals: &Vitals) -> u32 {
        let halvings = self.min_rtt.raw() >> TSO_RTT_SHIFT;
        let bytes = narrow(vitals.pacing_rate.as_bytes() >> PACING_SHIFT);
        let bytes = bytes.saturating_add(LARGEST_BYTES.checked_shr(halvings).unwrap_or(0)).min(GSO_MAX_BYTES);
        (bytes / vitals.mss).max(2)
    }

    /// Is too little known for the target to be trusted?
    fn is_young(&self, vitals: &Vitals) -> bool {
        match self.profile.words {
            Words::Draft => vitals.delivered < u64::from(self.initial_cwnd),
            Words::Linux => vitals.cwnd < 2 * self.initial_cwnd,
        }
    }

    /// `BoundCwndForModel`.
    fn cap(&self) -> u32 {
        let cap = match self.phase {
            Phase::ProbeBwDown | Phase::ProbeBwRefill | Phase::ProbeBwUp => self.long_term.inflight_longterm,
            Phase::ProbeBwCruise | Phase::ProbeRtt => self.inflight_with_headroom(),
            Phase::Startup | Phase::Drain => u32::MAX,
        };
        cap.min(self.short_term.inflight_shortterm).max(MIN_PIPE_CWND)
    }
}

/// A millisecond at the pacing rate, two segments to 64 KB (`SetSendQuantum`).
fn send_quantum_bytes(vitals: &Vitals) -> u32 {
    narrow(vitals.pacing_rate.as_bytes() / 1_000).min(LARGEST_BYTES).max(2 * vitals.mss)
}

/// Packets in flight that keep ACKs coming, delayed ones too (`MinPipeCwnd`).
pub(super) const MIN_PIPE_CWND: u32 = 4;
/// `GSO_LEGACY_MAX_SIZE`.
const LARGEST_BYTES: u32 = 65_536;
/// `sk_pacing_shift`.
const PACING_SHIFT: u32 = 10;
/// Each 512 us of round trip halve the allowance for short paths (`bbr_tso_rtt_shift`).
const TSO_RTT_SHIFT: u32 = 9;
