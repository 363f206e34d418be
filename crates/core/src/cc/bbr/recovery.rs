//! The window in recovery: what was delivered is replaced, no more, for a round; afterwards the old window returns.

use super::{Bbr, Mode};
use crate::cc::{CaState, RateSample, Vitals};

/// What recovery remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recovery {
    /// The sender's state at the last ACK (`prev_ca_state`).
    state: CaState,
    /// First round of recovery: a packet for each one delivered.
    is_conserving: bool,
    /// The window to return to (`prior_cwnd`).
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
    /// Remembers the window, or the largest one since recovery or `ProbeRtt` began.
    pub(super) fn save_cwnd(&mut self, vitals: &Vitals) {
        let is_whole = self.recovery.state < CaState::Recovery && self.mode != Mode::ProbeRtt;
        let saved = if is_whole { 0 } else { self.recovery.saved_cwnd };
        self.recovery.saved_cwnd = saved.max(vitals.cwnd);
    }

    /// The window to start from on this ACK, and whether it stands already because packets are conserved.
    pub(super) fn recover_or_restore(&mut self, vitals: &Vitals, sample: &RateSample) -> (u32, bool) {
        let before = core::mem::replace(&mut self.recovery.state, vitals.state);
        let delivered = vitals.in_flight().saturating_add(sample.acked_sacked);
        let mut cwnd = vitals.cwnd;
        if sample.losses > 0 {
            cwnd = cwnd.saturating_sub(sample.losses).max(1);
        }
        if vitals.state == CaState::Recovery && before != CaState::Recovery {
            self.recovery.is_conserving = true;
            self.rounds.restart(vitals);
            cwnd = delivered;
        } else if before >= CaState::Recovery && vitals.state < CaState::Recovery {
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
    use crate::cc::Control;
    use crate::time::Span;

    /// In flight 60 of 80, then an ACK for two that says three are lost.
    #[test]
    fn recovery_conserves_packets_for_a_round_then_grows_and_restores() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        (vitals.cwnd, vitals.packets_out, vitals.lost_out) = (80, 63, 3);
        vitals.delivered = 500;
        bbr.ssthresh(&mut vitals);
        vitals.state = CaState::Recovery;
        let loss = RateSample { losses: 3, acked_sacked: 2, ..RateSample::default() };
        assert_eq!(bbr.recover_or_restore(&vitals, &loss), (62, true));
        assert_eq!(bbr.rounds.end, 500, "the round begins now");

        vitals.cwnd = 50;
        let more = RateSample { acked_sacked: 2, ..RateSample::default() };
        assert_eq!(bbr.recover_or_restore(&vitals, &more), (62, true));
        vitals.cwnd = 62;
        bbr.recovery.end_conservation();
        assert_eq!(bbr.recover_or_restore(&vitals, &more), (62, false));
        vitals.state = CaState::Open;
        assert_eq!(bbr.recover_or_restore(&vitals, &more), (80, false));
    }

    #[test]
    fn the_next_round_ends_conservation() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        vitals.delivered = 500;
        vitals.state = CaState::Recovery;
        let ack = |prior_delivered| RateSample {
            prior_delivered,
            acked_sacked: 1,
            delivered: Some(1),
            interval: Span::from_millis(40),
            ..RateSample::default()
        };
        bbr.recover_or_restore(&vitals, &ack(490));
        bbr.update_bandwidth(&vitals, &ack(499));
        assert!(bbr.recover_or_restore(&vitals, &ack(499)).1);
        bbr.update_bandwidth(&vitals, &ack(500));
        assert!(!bbr.recover_or_restore(&vitals, &ack(500)).1);
    }

    #[test]
    fn a_timeout_restores_the_window_after_it_too() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        vitals.cwnd = 80;
        bbr.ssthresh(&mut vitals);
        bbr.on_state(&mut vitals, CaState::Loss);
        vitals.state = CaState::Loss;
        vitals.cwnd = 1;
        bbr.ssthresh(&mut vitals);
        assert_eq!(bbr.recovery.saved_cwnd(), 80, "a second timeout does not forget it");
        let sample = RateSample { acked_sacked: 1, losses: 5, ..RateSample::default() };
        assert_eq!(bbr.recover_or_restore(&vitals, &sample), (1, false));
        vitals.state = CaState::Open;
        assert_eq!(bbr.recover_or_restore(&vitals, &sample), (80, false));
    }

    #[test]
    fn a_window_that_probe_rtt_cut_is_not_saved() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        vitals.cwnd = 80;
        bbr.save_cwnd(&vitals);
        bbr.mode = Mode::ProbeRtt;
        vitals.cwnd = 4;
        bbr.save_cwnd(&vitals);
        assert_eq!(bbr.recovery.saved_cwnd(), 80);
        bbr.mode = Mode::ProbeBw;
        bbr.save_cwnd(&vitals);
        assert_eq!(bbr.recovery.saved_cwnd(), 4);
    }
}
