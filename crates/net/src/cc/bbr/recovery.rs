//! The window in loss recovery: packet conservation for one round; the saved window returns at the end.

use super::{Bbr, Mode};
use crate::cc::{CaState, CcState, RateSample, SenderState};

/// State kept for recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recovery {
    /// The sender's state at the last ACK (`prev_ca_state`).
    state: CaState,
    /// First round of recovery: one packet sent for each one delivered.
    is_conserving: bool,
    /// The window to restore (`prior_cwnd`).
    saved_cwnd: u32,
}

impl Recovery {
    pub(super) fn saved_cwnd(&self) -> u32 {
        self.saved_cwnd
    }

    pub(super) fn end_conservation(&mut self) {
        self.is_conserving = false;
    }

    pub(super) fn on_timeout(&mut self) {
        self.state = CaState::Loss;
    }
}

impl Bbr {
    /// Saves the window, or the largest one since recovery or `ProbeRtt` began.
    pub(super) fn save_cwnd(&mut self, cc: &CcState) {
        let is_whole = self.recovery.state < CaState::Recovery && self.mode != Mode::ProbeRtt;
        let saved = if is_whole { 0 } else { self.recovery.saved_cwnd };
        self.recovery.saved_cwnd = saved.max(cc.cwnd);
    }

    /// The window to start from on this ACK, and whether it is final because packets are conserved.
    pub(super) fn recover_or_restore(&mut self, tp: &SenderState, cc: &CcState, sample: &RateSample) -> (u32, bool) {
        let before = core::mem::replace(&mut self.recovery.state, tp.state);
        let delivered = tp.in_flight().saturating_add(sample.acked_sacked);
        let mut cwnd = cc.cwnd;
        if sample.losses > 0 {
            cwnd = cwnd.saturating_sub(sample.losses).max(1);
        }
        if tp.state == CaState::Recovery && before != CaState::Recovery {
            self.recovery.is_conserving = true;
            self.rounds.restart(tp);
            cwnd = delivered;
        } else if before >= CaState::Recovery && tp.state < CaState::Recovery {
            cwnd = cwnd.max(self.recovery.saved_cwnd);
            self.recovery.is_conserving = false;
        }
        if self.recovery.is_conserving {
            cwnd = cwnd.max(delivered);
        }
        (cwnd, self.recovery.is_conserving)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::bbr_with;
    use super::*;
    use crate::cc::CongestionControl;
    use crate::time::Span;

    /// 60 of 80 packets are in flight; then an ACK for two reports three losses.
    #[test]
    fn recovery_conserves_packets_for_a_round_then_grows_and_restores() {
        let (mut bbr, mut tp, mut cc) = bbr_with(Mode::ProbeBw);
        (cc.cwnd, tp.packets_out, tp.lost_out) = (80, 63, 3);
        tp.delivered = 500;
        bbr.ssthresh(&tp, &mut cc);
        tp.state = CaState::Recovery;
        let loss = RateSample { losses: 3, acked_sacked: 2, ..RateSample::default() };
        assert_eq!(bbr.recover_or_restore(&tp, &cc, &loss), (62, true));
        assert_eq!(bbr.rounds.end, 500, "the round begins now");

        cc.cwnd = 50;
        let more = RateSample { acked_sacked: 2, ..RateSample::default() };
        assert_eq!(bbr.recover_or_restore(&tp, &cc, &more), (62, true));
        cc.cwnd = 62;
        bbr.recovery.end_conservation();
        assert_eq!(bbr.recover_or_restore(&tp, &cc, &more), (62, false));
        tp.state = CaState::Open;
        assert_eq!(bbr.recover_or_restore(&tp, &cc, &more), (80, false));
    }

    #[test]
    fn the_next_round_ends_conservation() {
        let (mut bbr, mut tp, cc) = bbr_with(Mode::ProbeBw);
        tp.delivered = 500;
        tp.state = CaState::Recovery;
        let ack = |prior_delivered| RateSample {
            prior_delivered,
            acked_sacked: 1,
            delivered: Some(1),
            interval: Span::from_millis(40),
            ..RateSample::default()
        };
        bbr.recover_or_restore(&tp, &cc, &ack(490));
        bbr.update_bandwidth(&tp, &ack(499));
        assert!(bbr.recover_or_restore(&tp, &cc, &ack(499)).1);
        bbr.update_bandwidth(&tp, &ack(500));
        assert!(!bbr.recover_or_restore(&tp, &cc, &ack(500)).1);
    }

    #[test]
    fn a_timeout_restores_the_window_too() {
        let (mut bbr, mut tp, mut cc) = bbr_with(Mode::ProbeBw);
        cc.cwnd = 80;
        bbr.ssthresh(&tp, &mut cc);
        bbr.set_state(&tp, &mut cc, CaState::Loss);
        tp.state = CaState::Loss;
        cc.cwnd = 1;
        bbr.ssthresh(&tp, &mut cc);
        assert_eq!(bbr.recovery.saved_cwnd(), 80, "a second timeout keeps the saved window");
        let sample = RateSample { acked_sacked: 1, losses: 5, ..RateSample::default() };
        assert_eq!(bbr.recover_or_restore(&tp, &cc, &sample), (1, false));
        tp.state = CaState::Open;
        assert_eq!(bbr.recover_or_restore(&tp, &cc, &sample), (80, false));
    }

    #[test]
    fn a_window_reduced_by_probe_rtt_is_not_saved() {
        let (mut bbr, _tp, mut cc) = bbr_with(Mode::ProbeBw);
        cc.cwnd = 80;
        bbr.save_cwnd(&cc);
        bbr.mode = Mode::ProbeRtt;
        cc.cwnd = 4;
        bbr.save_cwnd(&cc);
        assert_eq!(bbr.recovery.saved_cwnd(), 80);
        bbr.mode = Mode::ProbeBw;
        bbr.save_cwnd(&cc);
        assert_eq!(bbr.recovery.saved_cwnd(), 4);
    }
}
