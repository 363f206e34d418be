//! Pacing rate and window.

use super::Bbr3;
use super::phase::Phase;
use super::version::{AckAggregation, Version};
use crate::cc::model::bandwidth::Bandwidth;
use crate::cc::model::pacing::initial_rate;
use crate::cc::model::probe_rtt::MIN_PIPE_CWND;
use crate::cc::{CcState, RateSample, SenderState};

impl<V: Version> Bbr3<V> {
    /// The initial window per round trip at Startup's gain (`InitPacingRate`).
    pub(super) fn set_initial_pacing_rate(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.has_seen_rtt |= tp.srtt_us8 > 0;
        cc.pacing_rate = initial_rate(tp, cc, V::GAINS.startup.pacing);
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
            } else if cc.cwnd < target || V::is_young(self, tp, cc) {
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

    /// At least three super-packets: one in this host's queue, one in flight, one at the receiver
    /// (`QuantizationBudget`).
    fn with_budget(&self, tp: &SenderState, cc: &CcState, packets: u32) -> u32 {
        let offload = V::offload_budget(self, tp, cc);
        let probing = if self.phase == Phase::ProbeBwUp { 2 } else { 0 };
        packets.max(offload).max(MIN_PIPE_CWND).saturating_add(probing)
    }

    /// Packets that aggregated ACKs add to the window (`UpdateMaxInflight`).
    pub(super) fn extra_acked(&self) -> u32 {
        self.aggregation.extra_acked(self.bw())
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
