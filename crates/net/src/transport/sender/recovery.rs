//! Congestion states, and the window's reduction in them (`tcp_fastretrans_alert`, PRR).
//!
//! ```text
//!            SACK              loss
//!   Open <---------> Disorder ------> Recovery ---+
//!    | ^                 |               |        | high_seq acknowledged, or undone
//!    | +-----------------|---------------|--------+
//!    | ECE, local drop   | timeout       | timeout
//!    v                   v               v
//!   Cwr -------------> Loss <------------+      Loss -> Open likewise
//! ```
//!
//! [`super::rack`] detects losses, [`super::undo`] undoes reductions, [`super::rto`] handles timeouts.

use super::Sender;
use super::ack::{Ack, Rexmit};
use super::number::{jiffies_from_us, unsigned};
use super::record::Marks;
use super::tasks::Task;
use super::timer::{Pending, TIMEOUT_MIN_US};
use crate::cc::{CaState, CongestionControl, Event, INFINITE_SSTHRESH};
use crate::number::narrow;

/// A recovery episode and its reduction.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    /// `snd_nxt` when the state was entered: the state ends when that is acknowledged.
    high_seq: u64,
    /// PRR: packets delivered in this reduction.
    prr_delivered: u32,
    /// PRR: packets sent in this reduction.
    prr_out: u32,
}

impl Recovery {
    /// The state ends when what was sent so far is acknowledged.
    pub const fn enter(&mut self, high_seq: u64) {
        self.high_seq = high_seq;
    }

    /// The state ends when this is acknowledged.
    pub const fn high_seq(&self) -> u64 {
        self.high_seq
    }

    /// Counts packets sent in a reduction.
    pub const fn sent(&mut self, packets: u32) {
        self.prr_out += packets;
    }

    /// A reduction begins.
    const fn restart_prr(&mut self) {
        (self.prr_delivered, self.prr_out) = (0, 0);
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Processes an ACK that is not plain progress: states, losses, reductions.
    pub(super) fn alert(&mut self, ack: &mut Ack) -> Rexmit {
        self.undo.take_echo(ack.echo_ms);
        if ack.ece {
            self.undo.keep_reduction(); // Congestion is certain.
        }
        if ack.reneges && ack.advances {
            self.wait_for_reneged();
            ack.sets_timer = false;
            return Rexmit::Nothing;
        }
        self.leave_state();
        match self.tp.state {
            CaState::Recovery => self.alert_in_recovery(ack),
            CaState::Loss => self.alert_in_loss(ack),
            _ => self.alert_elsewhere(ack),
        }
    }

    /// Detects losses after an ACK, and sets a timer for segments that may still arrive (`tcp_rack_mark_lost`).
    fn find_losses(&mut self, ack: &mut Ack) {
        if self.board.is_empty() {
            return;
        }
        let resent = self.tp.retrans_out;
        if self.rack.take_advance() {
            let wait_us = self.mark_overdue();
            if wait_us > 0 {
                let jiffies = jiffies_from_us(wait_us + TIMEOUT_MIN_US).min(self.rtt.rto());
                self.timer.set(Pending::Reordering, self.jiffy, jiffies);
                ack.sets_timer = false;
            }
        }
        ack.loses_retransmission |= self.tp.retrans_out < resent;
    }

    /// The reordering window ended (`tcp_rack_reo_timeout`).
    pub(super) fn on_reordering_timeout(&mut self) {
        let (in_flight, lost) = (self.tp.in_flight(), self.tp.lost);
        self.mark_overdue();
        if self.tp.in_flight() == in_flight {
            self.rearm_timeout();
            return;
        }
        if self.tp.state != CaState::Recovery {
            self.enter_recovery(false);
            if !self.has_cong_control {
                self.reduce_window(1, narrow(self.tp.lost - lost), false);
            }
        }
        self.tasks.schedule(Task::Retransmit);
    }

    /// Marks what RACK finds overdue as lost; returns the longest remaining time of the others in microseconds.
    fn mark_overdue(&mut self) -> u64 {
        let window_us = self.rack.window_us(&self.tp, &self.reordering);
        self.rack.detect(&mut self.board, window_us, self.now_us, |board, number| {
            if let Some(packet) = board.mark_lost(&mut self.tp, number) {
                self.controller.skb_marked_lost(&self.tp, &mut self.cc, &packet);
            }
        })
    }

    /// Starts a reduction without loss: ECN, or a drop in the host's queue. It cannot be undone. It lasts until
    /// something from `high_seq` on is acknowledged.
    pub(super) fn enter_cwr(&mut self, high_seq: u64) {
        self.undo.keep_reduction();
        if self.tp.state < CaState::Cwr {
            self.undo.end();
            self.begin_reduction(high_seq);
            self.set_state(CaState::Cwr);
        }
    }

    /// Starts fast recovery (RFC 6675, RFC 8985).
    pub(super) fn enter_recovery(&mut self, ece: bool) {
        self.forget_old_stamp();
        self.undo.keep_reduction();
        self.allow_undo();
        if !self.is_reducing() {
            if !ece {
                self.undo.save_ssthresh(self.cc.current_ssthresh(self.tp.state));
            }
            self.begin_reduction(self.tp.snd_nxt);
        }
        self.set_state(CaState::Recovery);
    }

    /// Is a gradual reduction of the window in progress?
    pub(super) const fn is_reducing(&self) -> bool {
        matches!(self.tp.state, CaState::Cwr | CaState::Recovery)
    }

    /// Proportional rate reduction (RFC 6937 with Linux's changes): the window follows the delivered packets, so that
    /// it reaches the threshold after a round trip (`tcp_cwnd_reduction`).
    pub(super) fn reduce_window(&mut self, delivered: u32, losses: u32, advances: bool) {
        let prior_cwnd = u64::from(self.tp.prior_cwnd);
        if delivered == 0 || prior_cwnd == 0 {
            return;
        }
        let (ssthresh, in_flight) = (u64::from(self.cc.ssthresh), u64::from(self.tp.in_flight()));
        let recovery = &mut self.recovery;
        recovery.prr_delivered += delivered;
        let (prr_delivered, prr_out) = (i64::from(recovery.prr_delivered), i64::from(recovery.prr_out));
        let send = if in_flight > ssthresh {
            (ssthresh * u64::from(recovery.prr_delivered)).div_ceil(prior_cwnd).cast_signed() - prr_out
        } else {
            let conserve = (prr_delivered - prr_out).max(i64::from(delivered));
            let grow = i64::from(advances && losses == 0);
            (conserve + grow).min((ssthresh - in_flight).cast_signed())
        };
        // The first retransmission of a recovery is sent at once.
        let send = send.max(i64::from(prr_out == 0));
        self.cc.cwnd = narrow(unsigned(in_flight.cast_signed() + send));
    }

    /// Sets threshold and counters for a reduction that starts now (`tcp_init_cwnd_reduction`).
    pub(super) fn begin_reduction(&mut self, high_seq: u64) {
        self.recovery.enter(high_seq);
        self.loss_probe.end();
        self.cc.cwnd_count = 0;
        self.tp.prior_cwnd = self.cc.cwnd;
        self.recovery.restart_prr();
        self.cc.ssthresh = self.controller.ssthresh(&self.tp, &mut self.cc);
        self.queue_cwr();
    }

    /// The reduction is complete (`tcp_end_cwnd_reduction`).
    pub(super) fn end_reduction(&mut self) {
        if self.has_cong_control {
            return;
        }
        let counts = self.tp.state == CaState::Cwr || self.undo.is_allowed();
        if self.cc.ssthresh < INFINITE_SSTHRESH && counts {
            self.cc.cwnd = self.cc.ssthresh;
            self.usage.stamp = self.jiffy;
        }
        self.controller.cwnd_event(&self.tp, &mut self.cc, Event::CompleteCwr);
    }

    /// Allows an undo of the reduction from here on (`tcp_init_undo`).
    pub(super) fn allow_undo(&mut self) {
        let resent = i64::from(self.tp.retrans_out) + i64::from(self.loss_probe.is_retransmission_out());
        self.undo.allow(self.tp.snd_una, resent);
    }

    /// The next new data carries CWR.
    pub(super) const fn queue_cwr(&mut self) {
        self.ecn.cwr_queued = self.ecn.answers;
    }

    /// Returns to Open, or Disorder while anything is unclear (`tcp_try_keep_open`).
    pub(super) fn keep_open(&mut self) {
        let unclear = self.tp.sacked_out + self.tp.lost_out > 0 || self.has_retransmissions();
        let state = if unclear { CaState::Disorder } else { CaState::Open };
        if self.tp.state != state {
            self.set_state(state);
            self.recovery.enter(self.tp.snd_nxt);
        }
    }

    /// Is a retransmission outstanding, or is the first outstanding segment one?
    pub(super) fn has_retransmissions(&self) -> bool {
        self.tp.retrans_out > 0 || self.board.front().is_some_and(|front| front.marks.has(Marks::EVER))
    }

    /// Drops the timestamp of the first retransmission when none is outstanding.
    pub(super) fn forget_old_stamp(&mut self) {
        if !self.has_retransmissions() {
            self.undo.forget_stamp();
        }
    }

    /// Leaves states that end when `high_seq` is acknowledged.
    fn leave_state(&mut self) {
        if self.tp.state == CaState::Open {
            self.undo.forget_stamp();
            return;
        }
        let (una, high) = (self.tp.snd_una, self.recovery.high_seq);
        match self.tp.state {
            // Something above high_seq, so that CWR has reached the receiver.
            CaState::Cwr if una > high => {
                self.end_reduction();
                self.set_state(CaState::Open);
            }
            CaState::Recovery if una >= high => {
                self.try_undo_recovery();
                self.end_reduction();
            }
            _ => {}
        }
    }

    fn alert_in_recovery(&mut self, ack: &mut Ack) -> Rexmit {
        if ack.advances && self.try_undo_partial(ack) {
            return Rexmit::Nothing;
        }
        if self.try_undo_dsack() {
            self.try_to_open(ack);
        }
        self.find_losses(ack);
        if self.tp.state != CaState::Recovery {
            if self.tp.lost_out == 0 {
                return Rexmit::Nothing;
            }
            self.enter_recovery(ack.ece);
        }
        Rexmit::Lost
    }

    fn alert_in_loss(&mut self, ack: &mut Ack) -> Rexmit {
        let rexmit = self.process_loss(ack);
        self.find_losses(ack);
        if self.tp.state != CaState::Open && !ack.loses_retransmission {
            return rexmit;
        }
        match self.alert_elsewhere(ack) {
            Rexmit::Nothing => rexmit,
            other => other,
        }
    }

    fn alert_elsewhere(&mut self, ack: &mut Ack) -> Rexmit {
        if self.tp.state <= CaState::Disorder {
            self.try_undo_dsack();
        }
        self.find_losses(ack);
        if self.tp.lost_out == 0 {
            self.try_to_open(ack);
            return Rexmit::Nothing;
        }
        self.enter_recovery(ack.ece);
        Rexmit::Lost
    }

    fn try_to_open(&mut self, ack: &Ack) {
        self.forget_old_stamp();
        if ack.ece {
            self.enter_cwr(self.tp.snd_nxt);
        }
        if self.tp.state != CaState::Cwr {
            self.keep_open();
        }
    }

    /// The receiver seems to have dropped data that it SACKed: after a short wait, a timeout drops all SACKs
    /// (`tcp_check_sack_reneging`).
    fn wait_for_reneged(&mut self) {
        let half_rtt = jiffies_from_us(u64::from(self.tp.srtt_us8 >> 4));
        let patience = half_rtt.max(jiffies_from_us(RENEGING_US));
        self.timer.set(Pending::Retransmit, self.jiffy, patience);
    }

    pub(super) fn set_state(&mut self, state: CaState) {
        self.controller.set_state(&self.tp, &mut self.cc, state);
        self.tp.state = state;
    }
}

/// Minimum wait for a receiver that seems to renege.
const RENEGING_US: u64 = 10_000;
