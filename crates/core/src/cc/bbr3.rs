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
//! | [`profile`] | differences between the versions |
//! | [`startup`], [`drain`], [`probe_bw`], [`probe_rtt`], [`phase`] | the phases and their ends |
//! | [`max_bw`], [`full_bw`], [`aggregation`] | bandwidth, full pipe detection, ACK aggregation |
//! | [`short_term`], [`long_term`], [`ecn`], [`undo`] | reaction to loss and marks, and its undo |
//! | [`window`] | pacing rate and window |
//!
//! [`super::model`] has what version 1 shares.

mod aggregation;
mod drain;
mod ecn;
mod full_bw;
mod long_term;
mod max_bw;
mod phase;
mod probe_bw;
mod probe_rtt;
mod profile;
mod short_term;
mod startup;
mod undo;
mod window;

use super::model::Gains;
use super::model::bandwidth::{Bandwidth, UNIT, measured};
use super::model::rounds::Rounds;
use super::{
    CaState, CcInfo, CcState, CongestionControl, Event, INFINITE_SSTHRESH, INITIAL_WINDOW, LostPacket, Parameters,
    RateSample, SenderState,
};
use crate::rng::Rng;
use aggregation::AggregationFilter;
use ecn::Ecn;
use full_bw::FullBw;
use long_term::LongTerm;
use max_bw::MaxBw;
use phase::Phase;
use probe_bw::Cycle;
use probe_rtt::{MinRtt, ProbeRtt};
use profile::{Profile, narrow};
use short_term::{ShortTerm, Signals};
use undo::{Recovery, Undo};

/// The state of BBR version 2 or 3 for one flow.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    profile: Profile,
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
    aggregation_filter: AggregationFilter,
    undo: Undo,
    recovery: Recovery,
    ecn: Ecn,
    initial_cwnd: u32,
    /// Sending restarted from idle, and nothing has been delivered since.
    idle_restart: bool,
    /// Has the pacing rate been set from a measured round-trip time?
    has_seen_rtt: bool,
    rng: Rng,
}

impl Bbr3 {
    /// Version 2 as Google's v2alpha; `rng` chooses the wait before each probe.
    #[must_use]
    pub fn version_2(parameters: &mut Parameters, rng: Rng) -> Self {
        Self::unmeasured(Profile::version_2(parameters), rng)
    }

    /// Version 3 as in the draft, or as the parameter `variant` selects.
    #[must_use]
    pub fn version_3(parameters: &mut Parameters, rng: Rng) -> Self {
        Self::unmeasured(Profile::version_3(parameters), rng)
    }

    fn unmeasured(profile: Profile, rng: Rng) -> Self {
        Self {
            phase: Phase::Startup,
            gains: profile.startup,
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
            aggregation_filter: AggregationFilter::Linux(super::model::aggregation::Aggregation::default()),
            undo: Undo::default(),
            recovery: Recovery::default(),
            ecn: Ecn::default(),
            initial_cwnd: INITIAL_WINDOW,
            idle_restart: false,
            has_seen_rtt: false,
            profile,
            rng,
        }
    }

    /// Updates the model on an ACK, in the draft's order (`UpdateModelAndState`).
    fn update_model(&mut self, tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        self.update_round(tp, sample);
        self.update_ecn_marks(tp, cc, sample);
        self.update_latest(tp, sample);
        self.update_congestion(cc, sample);
        self.update_aggregation(tp, cc, sample);
        self.check_startup_loss(tp, cc, sample);
        self.check_full_bw(sample);
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

    fn check_full_bw(&mut self, sample: &RateSample) {
        if sample.is_app_limited {
            return;
        }
        let rule = self.profile.plateau;
        let rate = if rule == profile::Plateau::Maximum { self.max_bw.best() } else { self.delivery_rate };
        self.full_bw.update(rule, rate, self.rounds.started);
    }

    fn update_gains(&mut self) {
        self.gains = match self.phase {
            Phase::Startup => self.profile.startup,
            Phase::Drain => self.profile.drain,
            Phase::ProbeBwDown => self.profile.probe_down,
            Phase::ProbeBwCruise | Phase::ProbeBwRefill => self.profile.cruise,
            Phase::ProbeBwUp => self.profile.probe_up,
            Phase::ProbeRtt => self.profile.probe_rtt,
        };
    }
}

impl CongestionControl for Bbr3 {
    fn name(&self) -> &'static str {
        self.profile.name
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        *self = Self::unmeasured(self.profile.clone(), self.rng.clone());
        cc.ssthresh = INFINITE_SSTHRESH;
        self.initial_cwnd = cc.cwnd;
        self.rounds = Rounds::new(tp);
        self.min_rtt = MinRtt::new(tp.min_rtt_us, self.clock_us(tp));
        self.aggregation_filter = AggregationFilter::new(self.profile.rules, tp);
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
                self.aggregation_filter.restart(tp);
                if self.phase.is_probe_bw() {
                    self.set_pacing_rate(tp, cc, UNIT);
                } else if self.phase == Phase::ProbeRtt {
                    self.check_probe_rtt_done(tp, cc);
                }
            }
            Event::LossProbeRecovery if self.profile.counts_probed_losses => self.handle_probed_loss(tp, cc),
            _ => {}
        }
    }

    fn min_tso_segments(&self, _tp: &SenderState, cc: &CcState) -> Option<u32> {
        Some(if cc.pacing_rate.as_bytes() < self.profile.slow_bytes { 1 } else { 2 })
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
