//! Retransmission timeout: the records that it marks, the window's reduction, and the timer (RFC 6298,
//! `tcp_timer.c`).

use super::Sender;
use super::number::{JIFFY_US, unsigned};
use super::record::Marks;
use super::tasks::Task;
use super::timer::Pending;
use crate::cc::{CaState, CongestionControl, Event};

/// Retransmission timeouts, and what follows one.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeouts {
    /// Since `snd_una` last advanced.
    in_a_row: u32,
    /// Of the connection, modulo 2¹⁶.
    total: u16,
    /// Is F-RTO checking whether the timeout was spurious?
    is_frto: bool,
    /// Did the receiver drop data that it had SACKed?
    has_reneged: bool,
}

impl Timeouts {
    /// `snd_una` advances, or the timeout was spurious.
    pub const fn progressed(&mut self) {
        self.in_a_row = 0;
    }

    /// Is F-RTO checking whether the timeout was spurious?
    pub const fn is_frto(&self) -> bool {
        self.is_frto
    }

    /// F-RTO has its answer.
    pub const fn end_frto(&mut self) {
        self.is_frto = false;
    }

    /// Did the receiver drop data that it had SACKed?
    pub const fn has_reneged(&self) -> bool {
        self.has_reneged
    }

    /// What the receiver dropped is delivered.
    pub const fn end_reneging(&mut self) {
        self.has_reneged = false;
    }

    const fn count(&mut self) {
        self.in_a_row += 1;
        self.total = self.total.wrapping_add(1);
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Handles the timeout: retransmits the first segment, marks everything old enough as lost, doubles the timeout.
    pub(super) fn on_retransmission_timeout(&mut self) {
        self.timer.stop();
        if self.board.is_empty() {
            return;
        }
        self.enter_loss();
        if self.peer.window > 0 {
            self.timeouts.count();
        }
        self.tasks.schedule(Task::Head);
        self.rtt.back_off();
        self.timer.set(Pending::Retransmit, self.jiffy, self.rtt.rto());
    }

    /// Timeouts so far; each draws another hash for the socket's packets.
    pub(crate) const fn rehashes(&self) -> u16 {
        self.timeouts.total
    }

    /// Sets the loss probe's timer if applicable, else the timeout (`tcp_set_xmit_timer`).
    pub(super) fn set_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_timeout();
        }
    }

    /// RFC 6298 section 5.3: the timeout starts now, or at the first segment's transmission if another timer was set in
    /// between (`tcp_rearm_rto`).
    pub(super) fn rearm_timeout(&mut self) {
        if self.tp.packets_out == 0 {
            self.timer.stop();
            return;
        }
        let mut jiffies = self.rtt.rto();
        if matches!(self.timer.pending, Pending::Reordering | Pending::LossProbe) {
            jiffies = super::number::jiffies_from_us(unsigned(self.timeout_in_us().max(1)));
        }
        self.timer.set(Pending::Retransmit, self.jiffy, jiffies + self.pacing_delay());
    }

    /// Time until the first segment's timeout (`tcp_rto_delta_us`).
    pub(super) fn timeout_in_us(&self) -> i64 {
        let rto_us = self.rtt.rto() * JIFFY_US;
        self.board
            .front()
            .map_or(rto_us.cast_signed(), |front| (front.sent_us + rto_us).cast_signed() - self.now_us.cast_signed())
    }

    /// Enters the Loss state (`tcp_enter_loss`).
    fn enter_loss(&mut self) {
        let state = self.tp.state;
        let is_new = state < CaState::Recovery;
        self.mark_timed_out();
        let first_in_window = state <= CaState::Disorder
            || self.recovery.high_seq() <= self.tp.snd_una
            || (state == CaState::Loss && self.timeouts.in_a_row == 0);
        if first_in_window {
            self.undo.save_ssthresh(self.cc.current_ssthresh(self.tp.state));
            self.tp.prior_cwnd = self.cc.cwnd;
            self.cc.ssthresh = self.controller.ssthresh(&self.tp, &mut self.cc);
            self.controller.cwnd_event(&self.tp, &mut self.cc, Event::Loss);
            self.allow_undo();
        }
        self.cc.cwnd = self.tp.in_flight() + 1;
        self.cc.cwnd_count = 0;
        self.usage.stamp = self.jiffy;
        if state <= CaState::Disorder {
            self.reordering.timed_out(self.tp.sacked_out);
        }
        self.set_state(CaState::Loss);
        self.recovery.enter(self.tp.snd_nxt);
        self.loss_probe.end();
        self.queue_cwr();
        // RFC 5682 section 3.1 step 1, and 3.2 for repeated timeouts.
        self.timeouts.is_frto = is_new || self.timeouts.in_a_row > 0;
    }

    /// Marks everything lost except what was sent within the last round trip; if the receiver reneged, everything
    /// (`tcp_timeout_mark_lost`).
    fn mark_timed_out(&mut self) {
        let head = self.board.first();
        let reneged = self.board.front().is_some_and(|front| front.marks.has(Marks::SACKED));
        if reneged {
            self.board.forget_sacks(&mut self.tp);
            self.timeouts.has_reneged = true;
        }
        for number in head..self.board.next() {
            if !reneged && number != head && self.rack.time_left_us(self.board.get(number), 0, self.now_us) > 0 {
                continue;
            }
            if let Some(packet) = self.board.mark_lost(&mut self.tp, number) {
                self.controller.skb_marked_lost(&self.tp, &mut self.cc, &packet);
            }
        }
    }
}
