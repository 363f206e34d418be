//! Retransmission timeout: what it marks, how the window collapses, and when the timer is set (RFC 6298, `tcp_timer.c`).

use super::Sender;
use super::number::{JIFFY_US, signed, unsigned};
use super::record::Marks;
use super::recovery::REORDERING;
use super::timer::Pending;
use super::todo::Task;
use crate::cc::{CaState, Control, Event};

impl<C: Control> Sender<C> {
    /// The timeout: the first segment goes out again, everything that is old enough is lost, the timeout doubles.
    pub(super) fn on_retransmission_timeout(&mut self) {
        self.timer.stop();
        if self.board.is_empty() {
            return;
        }
        self.enter_loss();
        if self.peer.window > 0 {
            self.recovery.timeouts += 1;
        }
        self.todo.want(Task::Head);
        self.rtt.back_off();
        self.timer.set(Pending::Retransmit, self.jiffy, self.rtt.rto);
    }

    /// Sets the loss probe's timer if it applies, else the timeout (`tcp_set_xmit_timer`).
    pub(super) fn set_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_timeout();
        }
    }

    /// RFC 6298 section 5.3: the timeout runs from now, or from the first segment's transmission when another timer ran
    /// in between (`tcp_rearm_rto`).
    pub(super) fn rearm_timeout(&mut self) {
        if self.vitals.packets_out == 0 {
            self.timer.stop();
            return;
        }
        let mut jiffies = self.rtt.rto;
        if matches!(self.timer.pending, Pending::Reordering | Pending::LossProbe) {
            jiffies = super::number::jiffies_from_us(unsigned(self.timeout_in_us().max(1)));
        }
        self.timer.set(Pending::Retransmit, self.jiffy, jiffies + self.pacing_delay());
    }

    /// How far ahead the timeout of the first segment is (`tcp_rto_delta_us`).
    pub(super) fn timeout_in_us(&self) -> i64 {
        let rto_us = self.rtt.rto * JIFFY_US;
        self.board.front().map_or(signed(rto_us), |front| signed(front.sent_us + rto_us) - signed(self.now_us))
    }

    /// The Loss state (`tcp_enter_loss`).
    fn enter_loss(&mut self) {
        let state = self.vitals.state;
        let is_new = state < CaState::Recovery;
        self.mark_timed_out();
        let first_in_window = state <= CaState::Disorder
            || self.recovery.high_seq <= self.vitals.snd_una
            || (state == CaState::Loss && self.recovery.timeouts == 0);
        if first_in_window {
            self.recovery.prior_ssthresh = self.vitals.current_ssthresh();
            self.vitals.prior_cwnd = self.vitals.cwnd;
            self.vitals.ssthresh = self.controller.ssthresh(&mut self.vitals);
            self.controller.on_event(&mut self.vitals, Event::Loss);
            self.allow_undo();
        }
        self.vitals.cwnd = self.vitals.in_flight() + 1;
        self.vitals.cwnd_count = 0;
        self.usage.stamp = self.jiffy;
        if state <= CaState::Disorder && self.vitals.sacked_out >= REORDERING {
            // So much was SACKed that reordering was overestimated.
            self.recovery.reordering = self.recovery.reordering.min(REORDERING);
        }
        self.set_state(CaState::Loss);
        self.recovery.high_seq = self.vitals.snd_nxt;
        self.recovery.probe_end = None;
        self.queue_cwr();
        // RFC 5682 section 3.1 step 1, and 3.2 for repeated timeouts.
        self.recovery.frto = is_new || self.recovery.timeouts > 0;
    }

    /// All but what was sent within the last round trip is lost; if the receiver reneged, all is (`tcp_timeout_mark_lost`).
    fn mark_timed_out(&mut self) {
        let head = self.board.first();
        let reneged = self.board.front().is_some_and(|front| front.marks.has(Marks::SACKED));
        if reneged {
            self.vitals.sacked_out = 0;
            self.recovery.reneged = true;
        }
        for number in head..self.board.next() {
            if reneged {
                self.board.get_mut(number).marks.clear(Marks::SACKED);
            } else if number != head && self.time_left(self.board.get(number), 0) > 0 {
                continue;
            }
            self.mark_lost(number);
        }
    }
}
