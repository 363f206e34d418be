//! BBR versions 2 and 3: a model of the path's bandwidth, its delay, and how much it holds before it loses packets.
//!
//! - **What it does**: like version 1, sends at the path's bandwidth with little more in flight than the path holds. It
//!   also learns by probing how much can be in flight before more than 2 % are lost, and stays below that.
//! - **Signal**: delivery rate, round-trip time, loss.
//! - **Works well**: shallow buffers, random loss of up to 1 or 2 %, next to Reno and CUBIC.
//! - **Works badly**: heavier random loss; bandwidth that grows is found late, at the next probe.
//! - **Reference**: draft-ietf-ccwg-bbr (state of August 2026), whose names are kept; google/bbr, branches v3 and
//!   v2alpha.
//!
//! ```text
//!    Startup --> Drain --> ProbeBW: DOWN --> CRUISE --> REFILL --> UP --+
//!       ^                            ^                                 |
//!       |                            +---------------------------------+
//!       +------------------ ProbeRTT, from anywhere, after 5 s without a smaller RTT; back to CRUISE once full
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | [`draft`], [`google`], [`v2alpha`] | each version: the IETF's draft, Google's v3, Google's v2alpha |
//! | [`version`], [`tuning`] | where the versions may differ, and the settings of a flow |
//! | [`startup`], [`drain`], [`probe_bw`], [`probe_rtt`], [`phase`] | the phases and their ends |
//! | [`max_bw`], [`full_bw`] | bandwidth, full pipe detection |
//! | [`short_term`], [`long_term`], [`ecn`], [`undo`] | reaction to loss and marks, and its undo |
//! | [`window`] | pacing rate and window |
//!
//! [`super::model`] has what version 1 shares.

mod draft;
mod drain;
mod ecn;
mod full_bw;
mod google;
mod long_term;
mod max_bw;
mod phase;
mod probe_bw;
mod probe_rtt;
mod short_term;
mod startup;
mod tuning;
mod undo;
mod v2alpha;
mod version;
mod window;

use super::model::Gains;
use super::model::bandwidth::{Bandwidth, UNIT, measured};
use super::model::rounds::Rounds;
use super::{
    CaState, CcInfo, CcState, CongestionControl, Event, INFINITE_SSTHRESH, INITIAL_WINDOW, LostPacket, Parameters,
    RateSample, SenderState,
};
use crate::rng::Rng;
pub use draft::Draft;
use ecn::Ecn;
use full_bw::FullBw;
pub use google::GoogleV3;
use long_term::LongTerm;
use max_bw::MaxBw;
use phase::Phase;
use probe_bw::Cycle;
use probe_rtt::{MinRtt, ProbeRtt};
use short_term::{ShortTerm, Signals};
use tuning::Tuning;
use undo::{Recovery, Undo};
pub use v2alpha::V2Alpha;
use version::{AckAggregation, Version};

/// The state of BBR version 2 or 3 for one flow.
#[derive(Clone, Debug)]
pub struct Bbr3<V: Version> {
    version: V,
    tuning: Tuning,
    phase: Phase,
    gains: Gains,
    rounds: Rounds,
    drain_start_round: u32,
    /// Delivery rate of this ACK (`RS.delivery_rate`).
    delivery_rate: Bandwidth,
    max_bw: MaxBw,
    min_rtt: MinRtt,
    full_bw: FullBw,
    signals: Signals,
    short_term: ShortTerm,
    long_term: LongTerm,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    aggregation: V::Aggregation,
    undo: Undo,
    recovery: Recovery,
    /// On paths that mark early.
    ecn: Option<Ecn>,
    initial_cwnd: u32,
    /// Sending restarted from idle, and nothing has been delivered since.
    idle_restart: bool,
    /// Has the pacing rate been set from a measured round-trip time?
    has_seen_rtt: bool,
    rng: Rng,
}

impl<V: Version> Bbr3<V> {
    /// A controller with these settings; `rng` chooses the wait before each probe.
    #[must_use]
    pub fn new(parameters: &mut Parameters, rng: Rng) -> Self {
        let (version, tuning) = V::new(parameters);
        Self::unmeasured(version, tuning, rng)
    }

    fn unmeasured(version: V, tuning: Tuning, rng: Rng) -> Self {
        Self {
            phase: Phase::Startup,
            gains: V::GAINS.startup,
            rounds: Rounds::default(),
            drain_start_round: 0,
            delivery_rate: Bandwidth::ZERO,
            max_bw: MaxBw::default(),
            min_rtt: MinRtt::default(),
            full_bw: FullBw::default(),
            signals: Signals::default(),
            short_term: ShortTerm::default(),
            long_term: LongTerm::default(),
            cycle: Cycle::default(),
            probe_rtt: ProbeRtt::default(),
            aggregation: V::Aggregation::default(),
            undo: Undo::default(),
            recovery: Recovery::default(),
            ecn: tuning.marks_early.then(Ecn::default),
            initial_cwnd: INITIAL_WINDOW,
            idle_restart: false,
            has_seen_rtt: false,
            version,
            tuning,
            rng,
        }
    }

    /// Updates the model on an ACK, in the draft's order (`UpdateModelAndState`).
    fn update_model(&mut self, tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        self.update_round(tp, sample);
        self.update_ecn_marks(tp, cc, sample);
        self.update_latest(tp, sample);
        self.update_congestion(cc, sample);
        self.aggregation.update(tp, cc, sample, self.bw(), &self.rounds, self.full_bw.full_bw_reached);
        self.check_startup_loss(tp, cc, sample);
        if !sample.is_app_limited {
            V::check_full_bw(self);
        }
        self.check_startup_done(tp, cc);
        self.check_drain_done(tp, cc);
        self.update_cycle(tp, cc, sample);
        self.update_min_rtt(tp, cc, sample);
        self.update_gains();
    }

    fn update_round(&mut self, tp: &SenderState, sample: &RateSample) {
        self.rounds.started = false;
        if measured(sample).is_some() && self.rounds.advance(tp, sample.prior_delivered) {
            self.cycle.count_round();
        }
    }

    fn update_gains(&mut self) {
        self.gains = match self.phase {
            Phase::Startup => V::GAINS.startup,
            Phase::Drain => V::GAINS.drain,
            Phase::ProbeBwDown => V::GAINS.probe_down,
            Phase::ProbeBwCruise | Phase::ProbeBwRefill => V::GAINS.cruise,
            Phase::ProbeBwUp => V::GAINS.probe_up,
            Phase::ProbeRtt => V::GAINS.probe_rtt,
        };
    }
}

impl<V: Version> CongestionControl for Bbr3<V> {
    fn name(&self) -> &'static str {
        V::NAME
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        *self = Self::unmeasured(self.version.clone(), self.tuning.clone(), self.rng.clone());
        cc.ssthresh = INFINITE_SSTHRESH;
        self.initial_cwnd = cc.cwnd;
        self.rounds = Rounds::new(tp);
        self.min_rtt = MinRtt::new(tp.min_rtt_us, V::clock_us(tp));
        self.aggregation = V::Aggregation::new(tp);
        self.signals.loss_round_delivered = tp.delivered + 1;
        self.set_initial_pacing_rate(tp, cc);
        cc.paced = true;
    }

    /// Loss sets no threshold; only saves state for the end of recovery.
    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        self.on_recovery(cc);
        cc.ssthresh
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        self.handle_spurious_loss(tp, cc)
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn skb_marked_lost(&mut self, tp: &SenderState, cc: &mut CcState, packet: &LostPacket) {
        self.handle_lost_packet(tp, cc, packet);
    }

    fn cong_control(&mut self, tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        self.update_model(tp, cc, sample);
        self.set_pacing_rate(tp, cc, self.gains.pacing);
        self.set_cwnd(tp, cc, sample);
        self.advance_latest(sample);
        self.recovery.state = tp.state;
    }

    fn set_state(&mut self, tp: &SenderState, cc: &mut CcState, new: CaState) {
        self.follow_state(tp, cc, new);
    }

    fn cwnd_event(&mut self, tp: &SenderState, cc: &mut CcState, event: Event) {
        match event {
            Event::TxStart if cc.app_limited != 0 => {
                self.idle_restart = true;
                self.aggregation.restart(tp);
                if self.phase.is_probe_bw() {
                    self.set_pacing_rate(tp, cc, UNIT);
                } else if self.phase == Phase::ProbeRtt {
                    self.check_probe_rtt_done(tp, cc);
                }
            }
            Event::LossProbeRecovery if V::PROBED_LOSSES_COUNT => self.handle_probed_loss(tp, cc),
            _ => {}
        }
    }

    fn min_tso_segments(&self, _tp: &SenderState, cc: &CcState) -> Option<u32> {
        Some(if cc.pacing_rate.as_bytes() < V::SLOW_BYTES { 1 } else { 2 })
    }

    /// BBR may slow-start even during recovery.
    fn sndbuf_expand(&self) -> u32 {
        3
    }

    fn cc_info(&self, tp: &SenderState, _cc: &CcState) -> CcInfo {
        CcInfo {
            phase: self.phase.name(),
            bandwidth: Some(self.bw().rate(tp.mss)),
            min_rtt_us: self.min_rtt.micros(),
            pacing_gain: Some(self.gains.pacing),
            cwnd_gain: Some(self.gains.window),
            ..CcInfo::default()
        }
    }
}

#[cfg(test)]
mod tests;
