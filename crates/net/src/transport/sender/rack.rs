//! RACK: a segment is lost if one sent later has arrived and its own time is over (RFC 8985, `tcp_recovery.c`).
//!
//! Its time is the last round-trip time plus a reordering window: zero while no reordering was seen, else steps of a
//! quarter of the minimum round-trip time, more after each round with a DSACK. [`super::recovery`] acts on the losses.

#[cfg(test)]
mod tests;

use super::record::{Marks, Record};
use super::reordering::Reordering;
use super::scoreboard::Scoreboard;
use crate::cc::{CaState, SenderState};

/// The most recently sent segment that arrived, and the reordering window.
#[derive(Clone, Debug)]
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

    /// An ACK delivered a segment that was sent when `prior_delivered` packets were delivered (0: it delivered none), and
    /// now `delivered` are. Widens the window after a round with a DSACK; resets it after sixteen recoveries
    /// (`tcp_rack_update_reo_wnd`).
    pub fn update_window(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered == 0 {
            return;
        }
        if prior_delivered < self.widened_at {
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

    /// Is there anything new to detect losses by? Only once.
    pub const fn take_advance(&mut self) -> bool {
        core::mem::replace(&mut self.advanced, false)
    }

    /// The reordering window in microseconds: zero while no reordering was seen and loss is likely
    /// (`tcp_rack_reo_wnd`).
    pub fn window_us(&self, tp: &SenderState, reordering: &Reordering) -> u64 {
        let is_likely = tp.state >= CaState::Recovery || tp.sacked_out >= reordering.packets();
        if reordering.seen() == 0 && is_likely {
            return 0;
        }
        let steps = u64::from(tp.min_rtt_us >> 2) * u64::from(self.steps);
        steps.min(u64::from(tp.srtt_us8 >> 3))
    }

    /// Microseconds until a segment is overdue (`tcp_rack_skb_timeout`).
    pub const fn time_left_us(&self, record: &Record, window_us: u64, now_us: u64) -> u64 {
        (self.rtt_us + window_us).saturating_sub(now_us.saturating_sub(record.sent_us))
    }

    /// Passes overdue records to `lose`, oldest transmission first, and takes them out of that order; returns the longest
    /// remaining time of the others (`tcp_rack_detect_loss`).
    pub fn detect(
        &self,
        board: &mut Scoreboard,
        window_us: u64,
        now_us: u64,
        mut lose: impl FnMut(&mut Scoreboard, u64),
    ) -> u64 {
        let mut longest_us = 0;
        let mut next = board.oldest();
        while let Some(number) = next {
            next = board.newer(number);
            let record = board.get(number);
            if !Self::is_later(self.newest, record.order()) {
                break;
            }
            let left_us = self.time_left_us(record, window_us, now_us);
            if left_us == 0 {
                lose(board, number);
                board.set_overdue(number);
            }
            longest_us = longest_us.max(left_us);
        }
        longest_us
    }

    const fn is_later(one: (u64, u64), other: (u64, u64)) -> bool {
        one.0 > other.0 || (one.0 == other.0 && one.1 > other.1)
    }
}

/// `TCP_RACK_RECOVERY_THRESH`.
const RECOVERIES: u32 = 16;
/// Steps have eight bits.
const MAX_STEPS: u32 = 255;
