//! Undo of a reduction when the loss turns out to be spurious.
//!
//! Three kinds of evidence: DSACKs for every retransmission, an echo older than the first retransmission (Eifel, RFC
//! 3522), and after a timeout the delivery of what was never retransmitted (F-RTO, RFC 5682).

use super::Sender;
use super::ack::{Ack, Rexmit};
use super::tasks::Task;
use crate::cc::{CaState, CongestionControl};

/// What an undo needs to know about the reduction.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// `snd_una` when the window was reduced, while that may still be undone.
    marker: Option<u64>,
    /// Retransmissions not yet answered by a DSACK; -1 when there was none.
    retrans: i64,
    /// The previous threshold; 0 if it must not be restored.
    prior_ssthresh: u32,
    /// TSval of the first retransmission in milliseconds.
    stamp_ms: Option<u64>,
    /// The last ACK's TSecr in milliseconds; 0 for none.
    echo_ms: u64,
}

impl Undo {
    /// Nothing was reduced.
    pub const fn new() -> Self {
        Self { marker: None, retrans: -1, prior_ssthresh: 0, stamp_ms: None, echo_ms: 0 }
    }

    /// The reduction that begins now may be undone; `resent` retransmissions are in flight.
    pub const fn allow(&mut self, snd_una: u64, resent: i64) {
        self.marker = Some(snd_una);
        self.retrans = if resent == 0 { -1 } else { resent };
    }

    /// There is nothing to undo any more.
    pub const fn end(&mut self) {
        self.marker = None;
    }

    /// May the reduction be undone?
    pub const fn is_allowed(&self) -> bool {
        self.marker.is_some()
    }

    /// `snd_una` when the window was reduced, while that may still be undone.
    pub const fn marker(&self) -> Option<u64> {
        self.marker
    }

    /// The threshold to restore.
    pub const fn save_ssthresh(&mut self, ssthresh: u32) {
        self.prior_ssthresh = ssthresh;
    }

    /// An undo restores neither window nor threshold.
    pub const fn keep_reduction(&mut self) {
        self.prior_ssthresh = 0;
    }

    /// The last ACK's TSecr in milliseconds; 0 for none.
    pub const fn take_echo(&mut self, echo_ms: u64) {
        self.echo_ms = echo_ms;
    }

    /// No retransmission is outstanding.
    pub const fn forget_stamp(&mut self) {
        self.stamp_ms = None;
    }

    /// Segments were retransmitted at this time.
    pub fn retransmitted(&mut self, stamp_ms: u64, segments: u32) {
        self.stamp_ms = self.stamp_ms.or(Some(stamp_ms));
        self.retrans = self.retrans.max(0) + i64::from(segments);
    }

    /// A segment that ends here arrived twice.
    pub fn count_duplicate(&mut self, end: u64) {
        if self.retrans > 0 && self.marker.is_some_and(|marker| end > marker) {
            self.retrans -= 1;
        }
    }

    /// Was every retransmission answered by a DSACK?
    const fn are_all_duplicates(&self) -> bool {
        self.retrans == 0
    }

    /// Nothing was retransmitted yet, or the echo is older than the first retransmission (`tcp_packet_delayed`).
    fn was_only_late(&self) -> bool {
        self.stamp_ms.is_none_or(|stamp_ms| self.echo_ms > 0 && self.echo_ms < stamp_ms)
    }

    fn may_undo(&self) -> bool {
        self.is_allowed() && (self.are_all_duplicates() || self.was_only_late())
    }
}

impl<C: CongestionControl> Sender<C> {
    /// `high_seq` is acknowledged: undoes the reduction if possible, and enters Open (`tcp_try_undo_recovery`).
    pub(super) fn try_undo_recovery(&mut self) {
        if self.undo.may_undo() {
            self.undo_reduction(false);
        } else {
            self.rack.on_recovered();
        }
        self.set_state(CaState::Open);
        self.timeouts.end_reneging();
    }

    /// Undoes the reduction if every retransmission was answered by a DSACK.
    pub(super) fn try_undo_dsack(&mut self) -> bool {
        if !self.undo.is_allowed() || !self.undo.are_all_duplicates() {
            return false;
        }
        self.rack.on_undone();
        self.undo_reduction(false);
        true
    }

    /// A late segment made progress in recovery. Returns whether to wait for outstanding retransmissions
    /// (`tcp_try_undo_partial`).
    pub(super) fn try_undo_partial(&mut self, ack: &Ack) -> bool {
        if !self.undo.is_allowed() || !self.undo.was_only_late() {
            return false;
        }
        self.note_reordering(ack.prior_una);
        if self.tp.retrans_out > 0 {
            return true;
        }
        self.forget_old_stamp();
        self.undo_reduction(true);
        self.keep_open();
        false
    }

    /// Processes an ACK in the Loss state: undo, F-RTO's steps, or more retransmissions (`tcp_process_loss`).
    pub(super) fn process_loss(&mut self, ack: &Ack) -> Rexmit {
        let recovered = self.tp.snd_una >= self.recovery.high_seq();
        if ack.advances && self.try_undo_loss(false) {
            return Rexmit::Nothing;
        }
        if self.timeouts.is_frto() {
            // RFC 5682 section 3.1 step 3.b: something never retransmitted arrived, so not everything was lost.
            if ack.acks_original && self.try_undo_loss(true) {
                return Rexmit::Nothing;
            }
            if self.tp.snd_nxt > self.recovery.high_seq() {
                let is_duplicate = ack.is_duplicate() && !ack.advances && !ack.dsacks;
                if ack.sacks_data || is_duplicate {
                    self.timeouts.end_frto(); // Step 3.a: the loss was real.
                }
            } else if ack.advances && !recovered {
                self.recovery.enter(self.tp.snd_nxt);
                if self.app_source.end() > self.tp.snd_nxt && self.window_end() > self.tp.snd_nxt {
                    return Rexmit::New; // Step 2.b.
                }
                self.timeouts.end_frto();
            }
        }
        if recovered {
            self.try_undo_recovery();
            return Rexmit::Nothing;
        }
        Rexmit::Lost
    }

    /// After F-RTO's step 2.b: if no new data could be sent, retransmits as usual.
    pub(super) fn end_new_data(&mut self) {
        if self.tp.snd_nxt <= self.recovery.high_seq() {
            self.timeouts.end_frto();
            self.tasks.schedule(Task::Retransmit);
        }
    }

    fn try_undo_loss(&mut self, by_frto: bool) -> bool {
        if !by_frto && !self.undo.may_undo() {
            return false;
        }
        self.undo_reduction(true);
        self.timeouts.progressed();
        self.set_state(CaState::Open);
        self.timeouts.end_reneging();
        true
    }

    /// Restores window and threshold; with `unmark`, clears all loss marks (`tcp_undo_cwnd_reduction`).
    fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            self.board.unmark_lost(&mut self.tp);
        }
        if self.undo.prior_ssthresh > 0 {
            self.cc.cwnd = self.controller.undo_cwnd(&self.tp, &mut self.cc);
            if self.undo.prior_ssthresh > self.cc.ssthresh {
                self.cc.ssthresh = self.undo.prior_ssthresh;
                self.ecn.cwr_queued = false;
            }
        }
        self.usage.stamp = self.jiffy;
        self.undo.end();
        self.rack.look_again();
    }
}
