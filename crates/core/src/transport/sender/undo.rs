//! Undo of a reduction when the loss turns out to be spurious.
//!
//! Three kinds of evidence: DSACKs for every retransmission, an echo older than the first retransmission (Eifel, RFC
//! 3522), and after a timeout the delivery of what was never retransmitted (F-RTO, RFC 5682).

use super::Sender;
use super::ack::{Ack, Rexmit};
use super::record::Marks;
use super::tasks::Task;
use crate::cc::{CaState, CongestionControl};

impl<C: CongestionControl> Sender<C> {
    /// `high_seq` is acknowledged: undoes the reduction if possible, and enters Open (`tcp_try_undo_recovery`).
    pub(super) fn try_undo_recovery(&mut self) {
        if self.may_undo() {
            self.undo_reduction(false);
        } else {
            self.rack.on_recovered();
        }
        self.set_state(CaState::Open);
        self.recovery.reneged = false;
    }

    /// Undoes the reduction if every retransmission was answered by a DSACK.
    pub(super) fn try_undo_dsack(&mut self) -> bool {
        if self.recovery.undo_marker.is_none() || self.recovery.undo_retrans != 0 {
            return false;
        }
        self.rack.on_undone();
        self.undo_reduction(false);
        true
    }

    /// A late segment made progress in recovery. Returns whether to wait for outstanding retransmissions
    /// (`tcp_try_undo_partial`).
    pub(super) fn try_undo_partial(&mut self, ack: &Ack) -> bool {
        if self.recovery.undo_marker.is_none() || !self.was_only_late() {
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
        let recovered = self.tp.snd_una >= self.recovery.high_seq;
        if ack.advances && self.try_undo_loss(false) {
            return Rexmit::Nothing;
        }
        if self.recovery.frto {
            // RFC 5682 section 3.1 step 3.b: something never retransmitted arrived, so not everything was lost.
            if ack.acks_original && self.try_undo_loss(true) {
                return Rexmit::Nothing;
            }
            if self.tp.snd_nxt > self.recovery.high_seq {
                let is_duplicate = ack.is_duplicate() && !ack.advances && !ack.dsacks;
                if ack.sacks_data || is_duplicate {
                    self.recovery.frto = false; // Step 3.a: the loss was real.
                }
            } else if ack.advances && !recovered {
                self.recovery.high_seq = self.tp.snd_nxt;
                if self.app_source.end() > self.tp.snd_nxt && self.window_end() > self.tp.snd_nxt {
                    return Rexmit::New; // Step 2.b.
                }
                self.recovery.frto = false;
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
        if self.tp.snd_nxt <= self.recovery.high_seq {
            self.recovery.frto = false;
            self.tasks.schedule(Task::Retransmit);
        }
    }

    fn try_undo_loss(&mut self, by_frto: bool) -> bool {
        if !by_frto && !self.may_undo() {
            return false;
        }
        self.undo_reduction(true);
        self.recovery.timeouts = 0;
        self.set_state(CaState::Open);
        self.recovery.reneged = false;
        true
    }

    fn may_undo(&self) -> bool {
        self.recovery.undo_marker.is_some() && (self.recovery.undo_retrans == 0 || self.was_only_late())
    }

    /// Nothing was retransmitted yet, or the echo is older than the first retransmission (`tcp_packet_delayed`).
    fn was_only_late(&self) -> bool {
        let echo_ms = self.recovery.echo_ms;
        self.recovery.retrans_stamp_ms.is_none_or(|stamp_ms| echo_ms > 0 && echo_ms < stamp_ms)
    }

    /// Restores window and threshold; with `unmark`, clears all loss marks (`tcp_undo_cwnd_reduction`).
    fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            self.unmark_lost();
        }
        if self.recovery.prior_ssthresh > 0 {
            self.cc.cwnd = self.controller.undo_cwnd(&self.tp, &mut self.cc);
            if self.recovery.prior_ssthresh > self.cc.ssthresh {
                self.cc.ssthresh = self.recovery.prior_ssthresh;
                self.ecn.cwr_queued = false;
            }
        }
        self.usage.stamp = self.jiffy;
        self.recovery.undo_marker = None;
        self.rack.advanced = true;
    }

    /// Clears all loss marks. Records marked by a timeout return to their position in the order of transmission; those
    /// marked by RACK stay out of it, as in Linux, until they are retransmitted.
    fn unmark_lost(&mut self) {
        let mut hint = None;
        for number in self.board.first()..self.board.next() {
            let record = self.board.get_mut(number);
            let was_lost = record.marks.has(Marks::LOST);
            record.marks.clear(Marks::LOST);
            if was_lost && !record.marks.has(Marks::LISTED.with(Marks::OVERDUE).with(Marks::SACKED)) {
                self.board.list_by_time(number, hint);
                hint = Some(number);
            }
        }
        self.tp.lost_out = 0;
        self.board.clear_all_pending();
    }
}
