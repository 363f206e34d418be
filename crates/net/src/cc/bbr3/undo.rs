//! State saved when a loss episode begins, in case the loss was spurious, and the window to restore.

use super::Bbr3;
use super::phase::Phase;
use super::version::Version;
use crate::cc::model::bandwidth::Bandwidth;
use crate::cc::{CaState, CcState, SenderState};

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
    /// Records the phase that losses end.
    pub(super) fn note(&mut self, phase: Phase) {
        self.state = Some(phase);
    }
}

/// The window in recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recovery {
    /// The sender's state at the last ACK (`prev_ca_state`).
    pub(super) state: CaState,
    /// The last good window.
    pub(super) prior_cwnd: u32,
}

impl<V: Version> Bbr3<V> {
    /// Saves state before the first loss of an episode is processed, because processing may change it. (In the draft's
    /// order of steps, entering recovery would discard the phase that the losses ended.)
    pub(super) fn save_before_loss(&mut self, cc: &CcState) {
        if V::UNDO_RESUMES_PHASE && !self.undo.is_saved {
            self.save(cc);
        }
    }

    /// Recovery begins (`OnEnterFastRecovery`, `OnEnterRTO`).
    pub(super) fn on_recovery(&mut self, cc: &CcState) {
        self.save_cwnd_of(self.phase, cc);
        if !(V::UNDO_RESUMES_PHASE && self.undo.is_saved) {
            self.save(cc);
        }
    }

    /// Follows the sender's change of state.
    pub(super) fn follow_state(&mut self, tp: &SenderState, cc: &mut CcState, new: CaState) {
        if new == CaState::Loss {
            self.recovery.state = CaState::Loss;
            self.full_bw.reset(Bandwidth::ZERO);
            // The bound on in-flight data starts from the window before the timeout, not from the one after.
            if !self.phase.is_probing() && self.short_term.inflight_shortterm == u32::MAX {
                self.short_term.inflight_shortterm = cc.cwnd.max(self.recovery.prior_cwnd);
            }
            return;
        }
        if tp.state >= V::CWND_RETURNS_FROM && new < CaState::Recovery {
            cc.cwnd = cc.cwnd.max(self.recovery.prior_cwnd);
        }
        if new <= CaState::Disorder {
            self.undo.is_saved = false;
        }
    }

    /// The loss was spurious (`HandleSpuriousLossDetection`); returns the window to restore.
    pub(super) fn handle_spurious_loss(&mut self, tp: &SenderState, cc: &CcState) -> u32 {
        self.signals.is_loss_in_round = false;
        self.full_bw.reset(Bandwidth::ZERO);
        let undo = &self.undo;
        self.short_term.bw_shortterm = self.short_term.bw_shortterm.max(undo.bw_shortterm);
        self.short_term.inflight_shortterm = self.short_term.inflight_shortterm.max(undo.inflight_shortterm);
        self.long_term.inflight_longterm = self.long_term.inflight_longterm.max(undo.inflight_longterm);
        if V::UNDO_RESUMES_PHASE {
            self.resume(tp);
        }
        self.undo.state = None;
        cc.cwnd.max(self.recovery.prior_cwnd)
    }

    /// Saves the window, or the largest one since recovery or `ProbeRTT` began (`SaveCwnd`).
    pub(super) fn save_cwnd_of(&mut self, phase: Phase, cc: &CcState) {
        let is_complete = self.recovery.state < CaState::Recovery && phase != Phase::ProbeRtt;
        let before = if is_complete { 0 } else { self.recovery.prior_cwnd };
        self.recovery.prior_cwnd = before.max(cc.cwnd);
    }

    fn save(&mut self, cc: &CcState) {
        self.save_cwnd_of(self.phase, cc);
        self.undo = Undo {
            is_saved: true,
            state: None,
            bw_shortterm: self.short_term.bw_shortterm,
            inflight_shortterm: self.short_term.inflight_shortterm,
            inflight_longterm: self.long_term.inflight_longterm,
        };
    }

    /// Returns to the phase that the losses ended: Startup, or a probe, which starts with refilling the pipe.
    fn resume(&mut self, tp: &SenderState) {
        match self.undo.state {
            Some(Phase::Startup) if self.phase != Phase::Startup => {
                self.full_bw.full_bw_reached = false;
                if self.phase != Phase::ProbeRtt {
                    self.phase = Phase::Startup;
                }
            }
            Some(Phase::ProbeBwUp) if !matches!(self.phase, Phase::ProbeBwUp | Phase::ProbeRtt) => {
                self.start_refill(tp, 0);
            }
            _ => {}
        }
    }
}
