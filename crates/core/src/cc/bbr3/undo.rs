//! What is remembered when a loss episode begins, for the case that nothing was lost; and the window to return to.

use super::Bbr3;
use super::phase::Phase;
use super::profile::Words;
use crate::cc::model::bandwidth::Bandwidth;
use crate::cc::{CaState, Vitals};

/// State before the losses (`undo_…`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Undo {
    /// Was it saved in this episode?
    is_saved: bool,
    /// The phase that losses ended: Startup or `ProbeBW_UP`.
    state: Option<Phase>,
    bw_shortterm: Bandwidth,
    inflight_shortterm: u32,
    inflight_longterm: u32,
}

impl Undo {
    /// Losses end this phase.
    pub(super) fn note(&mut self, phase: Phase) {
        self.state = Some(phase);
    }
}

/// The window in recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recovery {
    /// The sender's state at the last ACK (`prev_ca_state`).
    pub(super) state: CaState,
    /// The last window that was good.
    pub(super) prior_cwnd: u32,
}

impl Bbr3 {
    /// Saves before the first loss of an episode is dealt with: dealing with it may change what is to be saved. (The
    /// draft's steps in their order would forget on entering recovery which phase the losses had ended.)
    pub(super) fn save_before_loss(&mut self, vitals: &Vitals) {
        if self.profile.resumes && !self.undo.is_saved {
            self.save(vitals);
        }
    }

    /// Recovery begins (`OnEnterFastRecovery`, `OnEnterRTO`).
    pub(super) fn on_recovery(&mut self, vitals: &Vitals) {
        self.save_cwnd_of(self.phase, vitals);
        if !(self.profile.resumes && self.undo.is_saved) {
            self.save(vitals);
        }
    }

    /// The sender changes its state.
    pub(super) fn follow_state(&mut self, vitals: &mut Vitals, new: CaState) {
        if new == CaState::Loss {
            self.recovery.state = CaState::Loss;
            self.full_bw.reset(Bandwidth::ZERO);
            // The bound on what is in flight starts from the window before the timeout, not from the one after.
            if !self.phase.is_probing() && self.short_term.inflight_shortterm == u32::MAX {
                self.short_term.inflight_shortterm = vitals.cwnd.max(self.recovery.prior_cwnd);
            }
            return;
        }
        let from = if self.profile.words == Words::Draft { CaState::Recovery } else { CaState::Loss };
        if vitals.state >= from && new < CaState::Recovery {
            vitals.cwnd = vitals.cwnd.max(self.recovery.prior_cwnd);
        }
        if new <= CaState::Disorder {
            self.undo.is_saved = false;
        }
    }

    /// Nothing had been lost (`HandleSpuriousLossDetection`): answers the window to return to.
    pub(super) fn handle_spurious_loss(&mut self, vitals: &Vitals) -> u32 {
        self.signals.is_loss_in_round = false;
        self.full_bw.reset(Bandwidth::ZERO);
        let undo = &self.undo;
        self.short_term.bw_shortterm = self.short_term.bw_shortterm.max(undo.bw_shortterm);
        self.short_term.inflight_shortterm = self.short_term.inflight_shortterm.max(undo.inflight_shortterm);
        self.long_term.inflight_longterm = self.long_term.inflight_longterm.max(undo.inflight_longterm);
        if self.profile.resumes {
            self.resume(vitals);
        }
        self.undo.state = None;
        vitals.cwnd.max(self.recovery.prior_cwnd)
    }

    /// Remembers the window, or the largest one since recovery or `ProbeRTT` began (`SaveCwnd`).
    pub(super) fn save_cwnd_of(&mut self, phase: Phase, vitals: &Vitals) {
        let is_whole = self.recovery.state < CaState::Recovery && phase != Phase::ProbeRtt;
        let before = if is_whole { 0 } else { self.recovery.prior_cwnd };
        self.recovery.prior_cwnd = before.max(vitals.cwnd);
    }

    fn save(&mut self, vitals: &Vitals) {
        self.save_cwnd_of(self.phase, vitals);
        self.undo = Undo {
            is_saved: true,
            state: None,
            bw_shortterm: self.short_term.bw_shortterm,
            inflight_shortterm: self.short_term.inflight_shortterm,
            inflight_longterm: self.long_term.inflight_longterm,
        };
    }

    /// Back to what the losses ended: Startup, or a probe, which begins with refilling the pipe.
    fn resume(&mut self, vitals: &Vitals) {
        match self.undo.state {
            Some(Phase::Startup) if self.phase != Phase::Startup => {
                self.full_bw.full_bw_reached = false;
                if self.phase != Phase::ProbeRtt {
                    self.phase = Phase::Startup;
                }
            }
            Some(Phase::ProbeBwUp) if !matches!(self.phase, Phase::ProbeBwUp | Phase::ProbeRtt) => {
                self.start_refill(vitals, 0);
            }
            _ => {}
        }
    }
}
