//! RACK: a segment is lost if one sent later has arrived and its own time is over (RFC 8985, `tcp_recovery.c`).
//!
//! Its time is the last round-trip time plus a reordering window: zero while no reordering was seen, else steps of a
//! quarter of the minimum round-trip time, more after each round with a DSACK.

use super::Sender;
use super::number::jiffies_from_us;
use super::rate::Draft;
use super::record::{Marks, Record};
use super::tasks::Task;
use super::timer::Pending;
use crate::cc::{CaState, CongestionControl};
use crate::number::narrow;

/// The most recently sent segment that arrived, and the reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// Its transmission time and end.
    newest: (u64, u64),
    /// Its round-trip time.
    rtt_us: u64,
    /// Did anything arrive since the last loss detection?
    advanced: bool,
    /// Did a DSACK report a spurious retransmission?
    dsack_seen: bool,
    /// The window in quarters of the minimum round-trip time.
    steps: u32,
    /// Recoveries for which a widened window is kept.
    persists: u32,
    /// `delivered` when it was last widened.
    widened_at: u64,
}

impl Rack {
    /// Nothing arrived yet.
    pub const fn new() -> Self {
        Self { newest: (0, 0), rtt_us: 0, advanced: false, dsack_seen: false, steps: 1, persists: 0, widened_at: 0 }
    }

    /// A segment arrived (`tcp_rack_advance`). One that was retransmitted less than the minimum round-trip time ago
    /// arrived by an earlier transmission and is ignored.
    pub const fn advance(&mut self, record: &Record, now_us: u64, min_rtt_us: u32) {
        let rtt_us = now_us.saturating_sub(record.sent_us);
        if rtt_us < min_rtt_us as u64 && record.marks.has(Marks::RETRANSMITTED) {
            return;
        }
        self.advanced = true;
        self.rtt_us = rtt_us;
        if Self::is_later(record.order(), self.newest) {
            self.newest = record.order();
        }
    }

    /// Widens the window after a round with a DSACK; resets it after sixteen recoveries (`tcp_rack_update_reo_wnd`).
    pub fn update_window(&mut self, draft: &Draft, delivered: u64) {
        if draft.prior_delivered == 0 {
            return;
        }
        if draft.prior_delivered < self.widened_at {
            self.dsack_seen = false; // less than a round trip since
        }
        if self.dsack_seen {
            self.dsack_seen = false;
            self.steps = (self.steps + 1).min(MAX_STEPS);
            self.widened_at = delivered;
            self.persists = RECOVERIES;
        } else if self.persists == 0 {
            self.steps = 1;
        }
    }

    /// A DSACK reported a spurious retransmission.
    pub const fn take_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// Losses are detected again with the next ACK.
    pub const fn look_again(&mut self) {
        self.advanced = true;
    }

    /// A recovery ended without undo.
    pub const fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
    }

    /// A recovery was undone by DSACKs.
    pub fn on_undone(&mut self) {
        self.persists = (self.persists + 1).min(RECOVERIES);
    }

    const fn is_later(one: (u64, u64), other: (u64, u64)) -> bool {
        one.0 > other.0 || (one.0 == other.0 && one.1 > other.1)
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Detects losses after an ACK, and sets a timer for segments that may still arrive (`tcp_rack_mark_lost`).
    pub(super) fn find_losses(&mut self, ack: &mut super::ack::Ack) {
        if self.board.is_empty() {
            return;
        }
        let resent = self.tp.retrans_out;
        if core::mem::take(&mut self.rack.advanced) {
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

    /// Microseconds until a segment is overdue (`tcp_rack_skb_timeout`).
    pub(super) const fn time_left(&self, record: &Record, window_us: u64) -> u64 {
        (self.rack.rtt_us + window_us).saturating_sub(self.now_us.saturating_sub(record.sent_us))
    }

    /// Marks a record lost, and reports a new loss to the controller.
    pub(super) fn mark_lost(&mut self, number: u64) {
        if let Some(packet) = self.board.mark_lost(&mut self.tp, number) {
            self.controller.skb_marked_lost(&self.tp, &mut self.cc, &packet);
        }
    }

    /// Marks overdue records, oldest transmission first; returns the longest remaining time of the others.
    fn mark_overdue(&mut self) -> u64 {
        let window_us = self.reordering_window_us();
        let mut longest_us = 0;
        let mut next = self.board.oldest();
        while let Some(number) = next {
            next = self.board.newer(number);
            let record = self.board.get(number);
            if !Rack::is_later(self.rack.newest, record.order()) {
                break;
            }
            let left_us = self.time_left(record, window_us);
            if left_us == 0 {
                self.mark_lost(number);
                self.board.set_overdue(number);
            }
            longest_us = longest_us.max(left_us);
        }
        longest_us
    }

    /// Zero while no reordering was seen and loss is likely (`tcp_rack_reo_wnd`).
    fn reordering_window_us(&self) -> u64 {
        let tp = &self.tp;
        let is_likely = tp.state >= CaState::Recovery || tp.sacked_out >= self.sacked.reordering();
        if self.sacked.reord_seen() == 0 && is_likely {
            return 0;
        }
        let steps = u64::from(tp.min_rtt_us >> 2) * u64::from(self.rack.steps);
        steps.min(u64::from(tp.srtt_us8 >> 3))
    }
}

/// `TCP_TIMEOUT_MIN_US`: the minimum timer.
pub(super) const TIMEOUT_MIN_US: u64 = 2_000;
/// `TCP_RACK_RECOVERY_THRESH`.
const RECOVERIES: u32 = 16;
/// Steps have eight bits.
const MAX_STEPS: u32 = 255;
