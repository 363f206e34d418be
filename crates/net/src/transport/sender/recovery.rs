//! Congestion states, and the window's reduction in them (`tcp_fastretrans_alert`).
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
//! All transitions are here. They ask four machines that know nothing of the sender: [`super::rack`] which segments are
//! lost, [`super::prr`] how large the window is during a reduction, [`super::undo`] and [`super::timeouts`] whether a loss
//! was spurious, [`super::probe`] what a loss probe showed.

use super::Sender;
use super::ack::{Ack, Rexmit};
use super::number::jiffies_from_us;
use super::probe::{Answer, LossProbe};
use super::prr::{Progress, Prr};
use super::record::Marks;
use super::tasks::Task;
use super::timeouts::{Evidence, Frto, Timeouts};
use super::timer::{Pending, TIMEOUT_MIN_US};
use super::undo::Undo;
use crate::cc::{CaState, CongestionControl, Event, INFINITE_SSTHRESH};
use crate::number::narrow;

/// A recovery episode: its end, its reduction, and what may end it early.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    /// `snd_nxt` when the state was entered: the state ends when that is acknowledged.
    high_seq: u64,
    prr: Prr,
    undo: Undo,
    timeouts: Timeouts,
    probe: LossProbe,
}

impl Recovery {
    /// Nothing was lost.
    pub fn new() -> Self {
        Self {
            high_seq: 0,
            prr: Prr::default(),
            undo: Undo::new(),
            timeouts: Timeouts::default(),
            probe: LossProbe::default(),
        }
    }

    /// Was what ends here sent before the state was entered?
    pub const fn covers(&self, end: u64) -> bool {
        end <= self.high_seq
    }

    /// `snd_una` advances.
    pub const fn progressed(&mut self) {
        self.timeouts.progressed();
    }

    /// Did the receiver drop data that it had SACKed?
    pub const fn has_reneged(&self) -> bool {
        self.timeouts.has_reneged()
    }

    /// Timeouts so far, modulo 2¹⁶.
    pub const fn timeouts(&self) -> u16 {
        self.timeouts.total()
    }

    /// Packets were sent in this state: a reduction counts them.
    #[inline]
    pub const fn sent(&mut self, state: CaState, packets: u32) {
        if is_reducing(state) {
            self.prr.sent(packets);
        }
    }

    /// Segments were retransmitted at this time, or could not be.
    pub fn retransmitted(&mut self, stamp_ms: u64, segments: u32) {
        self.undo.retransmitted(stamp_ms, segments);
    }

    /// A segment that ends here arrived twice.
    pub fn count_duplicate(&mut self, end: u64) {
        self.undo.count_duplicate(end);
    }

    /// `snd_una` when the window was reduced, while that may still be undone.
    pub const fn undo_marker(&self) -> Option<u64> {
        self.undo.marker()
    }

    /// Is late data evidence of reordering? Not after a timeout that cannot be undone.
    pub fn shows_reordering(&self, state: CaState) -> bool {
        state != CaState::Loss || self.undo.is_allowed()
    }

    /// A loss probe is sent.
    pub const fn probe_sent(&mut self, snd_nxt: u64, is_retransmission: bool) {
        self.probe.begin(snd_nxt, is_retransmission);
    }

    /// Is a loss probe unanswered?
    pub const fn is_probe_out(&self) -> bool {
        self.probe.is_out()
    }

    /// Does this sequence number end the loss probe?
    pub fn ends_probe(&self, seq: u64) -> bool {
        self.probe.ends_at(seq)
    }
}

/// Is the window reduced gradually in this state?
const fn is_reducing(state: CaState) -> bool {
    matches!(state, CaState::Cwr | CaState::Recovery)
}

/// What an ACK does.
impl<C: CongestionControl> Sender<C> {
    /// Processes an ACK that is not plain progress: states, losses, reductions.
    pub(super) fn alert(&mut self, ack: &mut Ack) -> Rexmit {
        self.recovery.undo.take_echo(ack.echo_ms);
        if ack.ece {
            self.recovery.undo.keep_reduction(); // Congestion is certain.
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

    /// Leaves states that end when `high_seq` is acknowledged.
    fn leave_state(&mut self) {
        if self.tp.state == CaState::Open {
            self.recovery.undo.forget_stamp();
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
                self.end_recovery();
                self.end_reduction();
            }
            _ => {}
        }
    }

    fn alert_in_recovery(&mut self, ack: &mut Ack) -> Rexmit {
        if ack.advances && self.undo_partial(ack) {
            return Rexmit::Nothing;
        }
        if self.undo_by_duplicates() {
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
            self.undo_by_duplicates();
        }
        self.find_losses(ack);
        if self.tp.lost_out == 0 {
            self.try_to_open(ack);
            return Rexmit::Nothing;
        }
        self.enter_recovery(ack.ece);
        Rexmit::Lost
    }

    /// Processes an ACK in the Loss state: undo, F-RTO's steps, or more retransmissions (`tcp_process_loss`).
    fn process_loss(&mut self, ack: &Ack) -> Rexmit {
        let recovered = self.tp.snd_una >= self.recovery.high_seq;
        if ack.advances && self.recovery.undo.is_due() {
            self.undo_loss();
            return Rexmit::Nothing;
        }
        let evidence = Evidence {
            acks_original: ack.acks_original,
            sent_new_data: !self.recovery.covers(self.tp.snd_nxt),
            repeats: ack.sacks_data || (ack.is_duplicate() && !ack.advances && !ack.dsacks),
            is_partial: ack.advances && !recovered,
            may_send_new_data: self.app_source.end() > self.tp.snd_nxt && self.window_end() > self.tp.snd_nxt,
        };
        match self.recovery.timeouts.check(evidence) {
            Frto::Continue => {}
            Frto::Spurious => {
                self.undo_loss();
                return Rexmit::Nothing;
            }
            Frto::Advance => self.recovery.high_seq = self.tp.snd_nxt,
            Frto::SendNewData => {
                self.recovery.high_seq = self.tp.snd_nxt;
                return Rexmit::New;
            }
        }
        if recovered {
            self.end_recovery();
            return Rexmit::Nothing;
        }
        Rexmit::Lost
    }

    /// After F-RTO's step 2.b: if no new data could be sent, retransmits as usual.
    pub(super) fn end_new_data(&mut self) {
        if self.recovery.covers(self.tp.snd_nxt) {
            self.recovery.timeouts.end_frto();
            self.tasks.schedule(Task::Retransmit);
        }
    }

    /// An ACK arrived while a loss probe is unanswered.
    #[cold]
    pub(super) fn on_probe_acked(&mut self, acked: u64, ack: &mut Ack) {
        let is_pure_duplicate = !ack.advances && ack.is_duplicate() && !ack.sacks_data;
        match self.recovery.probe.take_ack(acked, ack.dsacks_probe, is_pure_duplicate) {
            Answer::Nothing => {}
            Answer::Ambiguous => ack.answers_probe = true,
            Answer::Repaired => {
                // Reduces the window as for a detected loss.
                self.begin_reduction(self.tp.snd_nxt);
                self.set_state(CaState::Cwr);
                self.end_reduction();
                self.keep_open();
                self.controller.cwnd_event(&self.tp, &mut self.cc, Event::LossProbeRecovery);
            }
        }
    }
}

/// Losses.
impl<C: CongestionControl> Sender<C> {
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

    /// Handles the timeout: retransmits the first segment, marks everything old enough as lost, doubles the timeout.
    pub(super) fn on_retransmission_timeout(&mut self) {
        self.timer.stop();
        if self.board.is_empty() {
            return;
        }
        self.enter_loss();
        if self.peer.window() > 0 {
            self.recovery.timeouts.count();
        }
        self.tasks.schedule(Task::Head);
        self.rtt.back_off();
        self.timer.set(Pending::Retransmit, self.jiffy, self.rtt.rto());
    }

    /// The receiver seems to have dropped data that it SACKed: after a short wait, a timeout drops all SACKs
    /// (`tcp_check_sack_reneging`).
    fn wait_for_reneged(&mut self) {
        let half_rtt = jiffies_from_us(u64::from(self.tp.srtt_us8 >> 4));
        let patience = half_rtt.max(jiffies_from_us(RENEGING_US));
        self.timer.set(Pending::Retransmit, self.jiffy, patience);
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

    /// Marks everything lost except what was sent within the last round trip; if the receiver reneged, everything
    /// (`tcp_timeout_mark_lost`).
    fn mark_timed_out(&mut self) {
        let head = self.board.first();
        let reneged = self.board.front().is_some_and(|front| front.marks.has(Marks::SACKED));
        if reneged {
            self.board.forget_sacks(&mut self.tp);
            self.recovery.timeouts.reneged();
        }
        for number in head..self.board.next() {
            let is_recent = || self.rack.time_left_us(self.board.get(number), 0, self.now_us) > 0;
            if !reneged && number != head && is_recent() {
                continue;
            }
            if let Some(packet) = self.board.mark_lost(&mut self.tp, number) {
                self.controller.skb_marked_lost(&self.tp, &mut self.cc, &packet);
            }
        }
    }
}

/// States and reductions.
impl<C: CongestionControl> Sender<C> {
    /// Starts a reduction without loss: ECN, or a drop in the host's queue. It cannot be undone. It lasts until
    /// something from `high_seq` on is acknowledged.
    pub(super) fn enter_cwr(&mut self, high_seq: u64) {
        self.recovery.undo.keep_reduction();
        if self.tp.state < CaState::Cwr {
            self.recovery.undo.end();
            self.begin_reduction(high_seq);
            self.set_state(CaState::Cwr);
        }
    }

    /// Starts fast recovery (RFC 6675, RFC 8985).
    fn enter_recovery(&mut self, ece: bool) {
        self.forget_old_stamp();
        self.recovery.undo.keep_reduction();
        self.allow_undo();
        if !self.is_reducing() {
            if !ece {
                self.recovery.undo.save_ssthresh(self.cc.current_ssthresh(self.tp.state));
            }
            self.begin_reduction(self.tp.snd_nxt);
        }
        self.set_state(CaState::Recovery);
    }

    /// Enters the Loss state (`tcp_enter_loss`).
    fn enter_loss(&mut self) {
        let state = self.tp.state;
        let is_new = state < CaState::Recovery;
        self.mark_timed_out();
        let first_in_window = state <= CaState::Disorder
            || self.recovery.high_seq <= self.tp.snd_una
            || (state == CaState::Loss && self.recovery.timeouts.is_first());
        if first_in_window {
            self.recovery.undo.save_ssthresh(self.cc.current_ssthresh(self.tp.state));
            self.tp.prior_cwnd = self.cc.cwnd;
            self.cc.ssthresh = self.controller.ssthresh(&self.tp, &mut self.cc);
            self.controller.cwnd_event(&self.tp, &mut self.cc, Event::Loss);
            self.allow_undo();
        }
        self.cc.cwnd = self.tp.in_flight() + 1;
        self.cc.cwnd_count = 0;
        self.usage.touch(self.jiffy);
        if state <= CaState::Disorder {
            self.reordering.timed_out(self.tp.sacked_out);
        }
        self.set_state(CaState::Loss);
        self.recovery.high_seq = self.tp.snd_nxt;
        self.recovery.probe.end();
        self.ecn.queue_cwr();
        self.recovery.timeouts.begin_frto(is_new);
    }

    /// `high_seq` is acknowledged: undoes the reduction if possible, and enters Open (`tcp_try_undo_recovery`).
    fn end_recovery(&mut self) {
        if self.recovery.undo.is_due() {
            self.undo_reduction(false);
        } else {
            self.rack.on_recovered();
        }
        self.set_state(CaState::Open);
        self.recovery.timeouts.end_reneging();
    }

    /// Is a gradual reduction of the window in progress?
    pub(super) const fn is_reducing(&self) -> bool {
        is_reducing(self.tp.state)
    }

    /// Sets threshold and counters for a reduction that starts now (`tcp_init_cwnd_reduction`).
    fn begin_reduction(&mut self, high_seq: u64) {
        self.recovery.high_seq = high_seq;
        self.recovery.probe.end();
        self.cc.cwnd_count = 0;
        self.tp.prior_cwnd = self.cc.cwnd;
        self.recovery.prr.restart();
        self.cc.ssthresh = self.controller.ssthresh(&self.tp, &mut self.cc);
        self.ecn.queue_cwr();
    }

    /// The window during a reduction.
    pub(super) fn reduce_window(&mut self, delivered: u32, losses: u32, advances: bool) {
        let progress = Progress {
            prior_cwnd: self.tp.prior_cwnd,
            ssthresh: self.cc.ssthresh,
            in_flight: self.tp.in_flight(),
            delivered,
            losses,
            advances,
        };
        if let Some(cwnd) = self.recovery.prr.cwnd(&progress) {
            self.cc.cwnd = cwnd;
        }
    }

    /// The reduction is complete (`tcp_end_cwnd_reduction`).
    fn end_reduction(&mut self) {
        if self.has_cong_control {
            return;
        }
        let counts = self.tp.state == CaState::Cwr || self.recovery.undo.is_allowed();
        if self.cc.ssthresh < INFINITE_SSTHRESH && counts {
            self.cc.cwnd = self.cc.ssthresh;
            self.usage.touch(self.jiffy);
        }
        self.controller.cwnd_event(&self.tp, &mut self.cc, Event::CompleteCwr);
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

    /// Returns to Open, or Disorder while anything is unclear (`tcp_try_keep_open`).
    fn keep_open(&mut self) {
        let unclear = self.tp.sacked_out + self.tp.lost_out > 0 || self.has_retransmissions();
        let state = if unclear { CaState::Disorder } else { CaState::Open };
        if self.tp.state != state {
            self.set_state(state);
            self.recovery.high_seq = self.tp.snd_nxt;
        }
    }

    fn set_state(&mut self, state: CaState) {
        self.controller.set_state(&self.tp, &mut self.cc, state);
        self.tp.state = state;
    }

    /// Is a retransmission outstanding, or is the first outstanding segment one?
    fn has_retransmissions(&self) -> bool {
        self.tp.retrans_out > 0 || self.board.front().is_some_and(|front| front.marks.has(Marks::EVER))
    }
}

/// Undo.
impl<C: CongestionControl> Sender<C> {
    /// Allows an undo of the reduction from here on (`tcp_init_undo`).
    fn allow_undo(&mut self) {
        let resent = i64::from(self.tp.retrans_out) + i64::from(self.recovery.probe.is_retransmission_out());
        self.recovery.undo.allow(self.tp.snd_una, resent);
    }

    /// Drops the timestamp of the first retransmission when none is outstanding.
    fn forget_old_stamp(&mut self) {
        if !self.has_retransmissions() {
            self.recovery.undo.forget_stamp();
        }
    }

    /// Undoes the reduction if every retransmission was answered by a DSACK.
    fn undo_by_duplicates(&mut self) -> bool {
        let is_due = self.recovery.undo.by_duplicates();
        if is_due {
            self.rack.on_undone();
            self.undo_reduction(false);
        }
        is_due
    }

    /// A late segment made progress in recovery. Returns whether to wait for outstanding retransmissions
    /// (`tcp_try_undo_partial`).
    fn undo_partial(&mut self, ack: &Ack) -> bool {
        if !self.recovery.undo.by_delay() {
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

    /// The timeout was spurious (`tcp_try_undo_loss`).
    fn undo_loss(&mut self) {
        self.undo_reduction(true);
        self.recovery.progressed();
        self.set_state(CaState::Open);
        self.recovery.timeouts.end_reneging();
    }

    /// Restores window and threshold; with `unmark`, clears all loss marks (`tcp_undo_cwnd_reduction`).
    fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            self.board.unmark_lost(&mut self.tp);
        }
        if let Some(ssthresh) = self.recovery.undo.take() {
            self.cc.cwnd = self.controller.undo_cwnd(&self.tp, &mut self.cc);
            if ssthresh > self.cc.ssthresh {
                self.cc.ssthresh = ssthresh;
                self.ecn.cancel_cwr();
            }
        }
        self.usage.touch(self.jiffy);
        self.rack.look_again();
    }
}

/// Minimum wait for a receiver that seems to renege.
const RENEGING_US: u64 = 10_000;
