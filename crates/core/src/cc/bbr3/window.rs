//! Pacing rate and window.

use super::Bbr3;
use super::phase::Phase;
use super::profile::{Rules, narrow};
use crate::cc::model::bandwidth::Bandwidth;
use crate::cc::model::pacing::{in_network_at_departure, initial_rate};
use crate::cc::{CcState, GSO_MAX_BYTES, RateSample, SenderState};

impl Bbr3 {
    /// The initial window per round trip at Startup's gain (`InitPacingRate`).
    pub(super) fn set_initial_pacing_rate(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.has_seen_rtt |= tp.srtt_us8 > 0;
        cc.pacing_rate = initial_rate(tp, cc, self.profile.startup.pacing);
    }

    /// Sets the pacing rate for this gain, less 1 %; until the pipe is full the rate only grows
    /// (`SetPacingRateWithGain`).
    pub(super) fn set_pacing_rate(&mut self, tp: &SenderState, cc: &mut CcState, gain: u32) {
        let rate = self.bw().paced(tp.mss, gain).min(tp.max_pacing_rate);
        if !self.has_seen_rtt && tp.srtt_us8 > 0 {
            self.set_initial_pacing_rate(tp, cc);
        }
        if self.full_bw.full_bw_reached || rate > cc.pacing_rate {
            cc.pacing_rate = rate;
        }
    }

    /// Grows the window towards the target by the acknowledged packets, or cuts it to the target; then applies the
    /// bounds (`SetCwnd`).
    pub(super) fn set_cwnd(&mut self, tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        if sample.acked_sacked > 0 {
            let target = self.bdp_multiple(self.bw(), self.gains.window).saturating_add(self.extra_acked());
            let target = self.with_budget(tp, cc, target);
            let grown = cc.cwnd.saturating_add(sample.acked_sacked);
            cc.cwnd = if self.full_bw.full_bw_reached {
                grown.min(target)
            } else if cc.cwnd < target || self.is_young(tp, cc) {
                grown
            } else {
                cc.cwnd
            };
            cc.cwnd = cc.cwnd.max(MIN_PIPE_CWND);
        }
        cc.cwnd = cc.cwnd.min(cc.cwnd_clamp);
        if self.phase == Phase::ProbeRtt {
            cc.cwnd = cc.cwnd.min(self.probe_rtt_cwnd());
        }
        cc.cwnd = cc.cwnd.min(self.cap());
    }

    /// Packets in flight at this gain, plus a budget for what hosts hold back (`Inflight`).
    pub(super) fn inflight(&self, tp: &SenderState, cc: &CcState, bandwidth: Bandwidth, gain: u32) -> u32 {
        self.with_budget(tp, cc, self.bdp_multiple(bandwidth, gain))
    }

    /// Bandwidth-delay product; the initial window while no delay is known (`BDPMultiple`).
    pub(super) fn bdp_multiple(&self, bandwidth: Bandwidth, gain: u32) -> u32 {
        self.min_rtt.micros().map_or(self.initial_cwnd, |micros| bandwidth.packets_in_at(micros, gain))
    }

    /// Packets still in the network when the next one departs, out of `in_flight`; includes that one if the flight is
    /// to grow.
    pub(super) fn at_departure(&self, tp: &SenderState, cc: &CcState, in_flight: u32) -> u32 {
        let departing = if self.gains.pacing > super::UNIT { self.quantum(tp, cc) } else { 0 };
        in_network_at_departure(tp, in_flight + departing, self.bw())
    }

    /// At least three super-packets: one in this host's queue, one in flight, one at the receiver
    /// (`QuantizationBudget`).
    fn with_budget(&self, tp: &SenderState, cc: &CcState, packets: u32) -> u32 {
        let offload = match self.profile.rules {
            Rules::Draft => 3 * send_quantum_bytes(tp, cc) / tp.mss,
            Rules::Linux => 3 * self.quantum(tp, cc),
        };
        let probing = if self.phase == Phase::ProbeBwUp { 2 } else { 0 };
        packets.max(offload).max(MIN_PIPE_CWND).saturating_add(probing)
    }

    /// Segments in a super-packet: a millisecond's worth, more on short paths (`bbr_tso_segs_goal`).
    fn quantum(&self, tp: &SenderState, cc: &CcState) -> u32 {
        let halvings = self.min_rtt.raw() >> TSO_RTT_SHIFT;
        let bytes = narrow(cc.pacing_rate.as_bytes() >> PACING_SHIFT);
        let bytes = bytes.saturating_add(MAX_BYTES.checked_shr(halvings).unwrap_or(0)).min(GSO_MAX_BYTES);
        (bytes / tp.mss).max(2)
    }

    /// Is the model too new for the target to be reliable?
    fn is_young(&self, tp: &SenderState, cc: &CcState) -> bool {
        match self.profile.rules {
            Rules::Draft => tp.delivered < u64::from(self.initial_cwnd),
            Rules::Linux => cc.cwnd < 2 * self.initial_cwnd,
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

/// A millisecond at the pacing rate, from two segments to 64 KB (`SetSendQuantum`).
fn send_quantum_bytes(tp: &SenderState, cc: &CcState) -> u32 {
    narrow(cc.pacing_rate.as_bytes() / 1_000).min(MAX_BYTES).max(2 * tp.mss)
}

/// Packets in flight that keep ACKs coming, even delayed ones (`MinPipeCwnd`).
pub(super) const MIN_PIPE_CWND: u32 = 4;
/// `GSO_LEGACY_MAX_SIZE`.
const MAX_BYTES: u32 = 65_536;
/// `sk_pacing_shift`.
const PACING_SHIFT: u32 = 10;
/// Every 512 µs of round trip halve the allowance for short paths (`bbr_tso_rtt_shift`).
const TSO_RTT_SHIFT: u32 = 9;
