//! BBR versions 2 and 3: a model of the path's bandwidth, delay and of how much it holds before it loses.
//!
//! - **What it does**: as version 1, it sends at the bandwidth of the path with little more in flight than it holds. It
//!   also learns by probing how much can be in flight before more than 2 % are lost, and stays below it.
//! - **Signal it listens to**: delivery rate, round-trip time, loss.
//! - **When it does well**: shallow buffers, random loss of up to 1 or 2 %, company of Reno and CUBIC.
//! - **When it does badly**: heavier random loss; bandwidth that grows is found late, at the next probe.
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
//! | file | decides |
//! | --- | --- |
//! | [`profile`] | what the versions set differently |
//! | [`startup`], [`drain`], [`probe_bw`], [`probe_rtt`], [`phase`] | the phases, and when each ends |
//! | [`max_bw`], [`full_bw`], [`aggregation`] | bandwidth, whether the pipe is full, how bunched ACKs are |
//! | [`short_term`], [`long_term`], [`ecn`], [`undo`] | what loss and marks change, and taking it back |
//! | [`window`] | what follows for rate and window |
//!
//! What it shares with version 1 is in [`super::model`].

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
    CaState, Control, Event, INFINITE_SSTHRESH, INITIAL_WINDOW, Insight, LostPacket, Parameters, RateSample, Vitals,
};
use crate::dice::Dice;
use aggregation::Bunching;
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

/// A flow's BBR, version 2 or 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    profile: Profile,
    phase: Phase,
    gains: Gains,
    rounds: Rounds,
    drain_start_round: u32,
    /// Of this ACK (`RS.delivery_rate`).
    delivery_rate: Bandwidth,
    max_bw: MaxBw,
    min_rtt: MinRtt,
    full_bw: FullBw,
    signals: Signals,
    short_term: ShortTerm,
    long_term: LongTerm,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    bunching: Bunching,
    undo: Undo,
    recovery: Recovery,
    ecn: Ecn,
    initial_cwnd: u32,
    /// Sending began again after an idle time, and nothing has been delivered since.
    idle_restart: bool,
    /// Has the pacing rate been set from a measured round-trip time?
    has_seen_rtt: bool,
    dice: Dice,
}

impl Bbr3 {
    /// Version 2 as Google's v2alpha; `dice` choose how long it waits for each probe.
    #[must_use]
    pub fn version_2(parameters: &mut Parameters, dice: Dice) -> Self {
        Self::unmeasured(Profile::version_2(parameters), dice)
    }

    /// Version 3 as the draft, or as the parameter `variant` says.
    #[must_use]
    pub fn version_3(parameters: &mut Parameters, dice: Dice) -> Self {
        Self::unmeasured(Profile::version_3(parameters), dice)
    }

    fn unmeasured(profile: Profile, dice: Dice) -> Self {
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
            bunching: Bunching::Linux(super::model::aggregation::Aggregation::default()),
            undo: Undo::default(),
            recovery: Recovery::default(),
            ecn: Ecn::default(),
            initial_cwnd: INITIAL_WINDOW,
            idle_restart: false,
            has_seen_rtt: false,
            profile,
            dice,
        }
    }

    /// Everything that an ACK teaches, in the draft's order (`UpdateModelAndState`).
    fn update_model(&mut self, vitals: &mut Vitals, sample: &RateSample) {
        self.update_round(vitals, sample);
        self.hear_marks(vitals, sample);
        self.update_latest(vitals, sample);
        self.update_congestion(vitals, sample);
        self.update_aggregation(vitals, sample);
        self.check_startup_loss(vitals, sample);
        self.check_full_bw(sample);
        self.check_startup_done(vitals);
        self.check_drain_done(vitals);
        self.update_cycle(vitals, sample);
        self.update_min_rtt(vitals, sample);
        self.update_gains();
    }

    fn update_round(&mut self, vitals: &Vitals, sample: &RateSample) {
        self.rounds.started = false;
        if measured(sample).is_some() && self.rounds.advance(vitals, sample.prior_delivered) {
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

impl Control for Bbr3 {
    fn name(&self) -> &'static str {
        self.profile.name
    }

    fn start(&mut self, vitals: &mut Vitals) {
        *self = Self::unmeasured(self.profile.clone(), self.dice.clone());
        vitals.ssthresh = INFINITE_SSTHRESH;
        self.initial_cwnd = vitals.cwnd;
        self.rounds = Rounds::new(vitals);
        self.min_rtt = MinRtt::new(vitals.min_rtt_us, self.clock_us(vitals));
        self.bunching = Bunching::new(self.profile.words, vitals);
        self.signals.loss_round_delivered = vitals.delivered + 1;
        self.set_initial_pacing_rate(vitals);
        vitals.paced = true;
    }

    /// Loss sets no threshold; state is only remembered, for the end of recovery.
    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        self.on_recovery(vitals);
        vitals.ssthresh
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        self.handle_spurious_loss(vitals)
    }

    fn controls(&self) -> bool {
        true
    }

    fn on_lost(&mut self, vitals: &mut Vitals, packet: &LostPacket) {
        self.handle_lost_packet(vitals, packet);
    }

    fn control(&mut self, vitals: &mut Vitals, sample: &RateSample) {
        self.update_model(vitals, sample);
        self.set_pacing_rate(vitals, self.gains.pacing);
        self.set_cwnd(vitals, sample);
        self.advance_latest(sample);
        self.recovery.state = vitals.state;
    }

    fn on_state(&mut self, vitals: &mut Vitals, new: CaState) {
        self.follow_state(vitals, new);
    }

    fn on_event(&mut self, vitals: &mut Vitals, event: Event) {
        match event {
            Event::TxStart if vitals.app_limited != 0 => {
                self.idle_restart = true;
                self.bunching.restart(vitals);
                if self.phase.is_probe_bw() {
                    self.set_pacing_rate(vitals, UNIT);
                } else if self.phase == Phase::ProbeRtt {
                    self.check_probe_rtt_done(vitals);
                }
            }
            Event::LossProbeRecovery if self.profile.minds_probes => self.handle_probed_loss(vitals),
            _ => {}
        }
    }

    fn min_tso_segments(&self, vitals: &Vitals) -> Option<u32> {
        Some(if vitals.pacing_rate.as_bytes() < self.profile.slow_bytes { 1 } else { 2 })
    }

    /// BBR may slow-start even during recovery.
    fn sndbuf_expand(&self) -> u32 {
        3
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        Insight {
            phase: self.phase.name(),
            bandwidth: Some(self.bw().rate(vitals.mss)),
            min_rtt_us: self.min_rtt.micros(),
            pacing_gain: Some(self.gains.pacing),
            cwnd_gain: Some(self.gains.window),
            ..Insight::default()
        }
    }
}

#[cfg(test)]
mod tests;
