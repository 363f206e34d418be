//! RACK: a segment is lost when one sent later has arrived and its own time is over (RFC 8985, `tcp_recovery.c`).
//!
//! "Its time" is the last round trip plus a reordering window: nothing while reordering was never seen, else steps of a
//! quarter of the minimum round trip, more after each round with a DSACK.

use super::Sender;
use super::number::{jiffies_from_us, low, narrow};
use super::rate::Draft;
use super::record::{Marks, Record};
use super::timer::Pending;
use super::todo::Task;
use crate::cc::{CaState, Control, LostPacket};

/// The most recently sent segment that arrived, and the reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// Its time of transmission and end.
    newest: (u64, u64),
    /// Its round-trip time.
    rtt_us: u64,
    /// Did anything arrive since the last look for losses?
    pub advanced: bool,
    /// Did a DSACK blame the window for a needless retransmission?
    pub dsack_seen: bool,
    /// The window in quarters of the minimum round trip.
    steps: u32,
    /// Recoveries for which a widened window is kept.
    persists: u32,
    /// `delivered` when it was widened last.
    widened_at: u64,
}

impl Rack {
    /// Nothing arrived yet.
    pub const fn new() -> Self {
        Self { newest: (0, 0), rtt_us: 0, advanced: false, dsack_seen: false, steps: 1, persists: 0, widened_at: 0 }
    }

    /// A segment arrived (`tcp_rack_advance`). One that was retransmitted less than the shortest round trip ago arrived
    /// by an earlier transmission and tells nothing.
    pub const fn advance(&mut self, record: &Record, now_us: u64, min_rtt_us: u32) {
        let rtt_us = now_us.saturating_sub(record.sent_us);
        if rtt_us < min_rtt_us as u64 && record.marks.has(Marks::RESENT) {
            return;
        }
        self.advanced = true;
        self.rtt_us = rtt_us;
        if Self::is_later(record.order(), self.newest) {
            self.newest = record.order();
        }
    }

    /// Widens the window after a round with a DSACK, forgets that after sixteen recoveries (`tcp_rack_update_reo_wnd`).
    pub fn update_window(&mut self, draft: &Draft, delivered: u64) {
        if draft.prior_delivered == 0 {
            return;
        }
        if draft.prior_delivered < self.widened_at {
            self.dsack_seen = false; // Less than a round trip since.
        }
        if self.dsack_seen {
            self.dsack_seen = false;
            self.steps = (self.steps + 1).min(MOST_STEPS);
            self.widened_at = delivered;
            self.persists = RECOVERIES;
        } else if self.persists == 0 {
            self.steps = 1;
        }
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

impl<C: Control> Sender<C> {
    /// Looks for losses after an ACK, and sets a timer for what may still be on its way (`tcp_rack_mark_lost`).
    pub(super) fn find_losses(&mut self, ack: &mut super::ack::Ack) {
        if self.board.is_empty() {
            return;
        }
        let resent = self.vitals.retrans_out;
        if core::mem::take(&mut self.rack.advanced) {
            let wait_us = self.mark_overdue();
            if wait_us > 0 {
                let jiffies = jiffies_from_us(wait_us + TIMEOUT_MIN_US).min(self.rtt.rto);
                self.timer.set(Pending::Reordering, self.jiffy, jiffies);
                ack.sets_timer = false;
            }
        }
        ack.loses_resent |= self.vitals.retrans_out < resent;
    }

    /// The reordering window is over (`tcp_rack_reo_timeout`).
    pub(super) fn on_reordering_timeout(&mut self) {
        let (in_flight, lost) = (self.vitals.in_flight(), self.vitals.lost);
        self.mark_overdue();
        if self.vitals.in_flight() == in_flight {
            self.rearm_timeout();
            return;
        }
        if self.vitals.state != CaState::Recovery {
            self.enter_recovery(false);
            if !self.controls {
                self.reduce_window(1, narrow(self.vitals.lost - lost), false);
            }
        }
        self.todo.want(Task::Retransmit);
    }

    /// How long ago a segment was due, negative while it may still come (`tcp_rack_skb_timeout`): microseconds left.
    pub(super) const fn time_left(&self, record: &Record, window_us: u64) -> u64 {
        (self.rack.rtt_us + window_us).saturating_sub(self.now_us.saturating_sub(record.sent_us))
    }

    /// One record is lost; if it was retransmitted, that transmission is lost too (`tcp_mark_skb_lost`).
    pub(super) fn mark_lost(&mut self, number: u64) {
        let marks = self.board.get(number).marks;
        if marks.has(Marks::SACKED) {
            return;
        }
        if !marks.has(Marks::LOST) {
            self.vitals.lost_out += 1;
        } else if marks.has(Marks::RETRANS) {
            self.vitals.retrans_out -= 1;
            self.board.get_mut(number).marks.clear(Marks::RETRANS);
        } else {
            return;
        }
        self.vitals.lost += 1;
        self.tell_lost(number);
        let marks = &mut self.board.get_mut(number).marks;
        marks.set(Marks::LOST);
        if !marks.has(Marks::RETRANS) {
            self.board.set_due(number);
            self.board.unlist(number);
        }
    }

    fn tell_lost(&mut self, number: u64) {
        let record = self.board.get(number);
        let follows = number > self.board.first() && self.board.get(number - 1).marks.has(Marks::LOST);
        let packet = LostPacket {
            tx_in_flight: record.in_flight,
            lost: low(self.vitals.lost).wrapping_sub(record.lost),
            is_app_limited: record.marks.has(Marks::APP_LIMITED),
            begins_range: !follows,
        };
        self.controller.on_lost(&mut self.vitals, &packet);
    }

    /// Marks what is overdue, oldest transmission first; returns how long the last of the others may take.
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
                self.board.unlist(number);
                self.board.get_mut(number).marks.set(Marks::OVERDUE);
            }
            longest_us = longest_us.max(left_us);
        }
        longest_us
    }

    /// Nothing while reordering was never seen and loss is likely (`tcp_rack_reo_wnd`).
    fn reordering_window_us(&self) -> u64 {
        let vitals = &self.vitals;
        let is_likely = vitals.state >= CaState::Recovery || vitals.sacked_out >= self.recovery.reordering;
        if self.recovery.reord_seen == 0 && is_likely {
            return 0;
        }
        let steps = u64::from(vitals.min_rtt_us >> 2) * u64::from(self.rack.steps);
        steps.min(u64::from(vitals.srtt_us8 >> 3))
    }
}

/// `TCP_TIMEOUT_MIN_US`: no timer is set shorter than that.
pub(super) const TIMEOUT_MIN_US: u64 = 2_000;
/// `TCP_RACK_RECOVERY_THRESH`.
const RECOVERIES: u32 = 16;
/// Steps are kept in eight bits.
const MOST_STEPS: u32 = 255;
