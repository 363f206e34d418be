//! Retransmissions: lost records in order of sequence, as many as the window allows (`tcp_xmit_retransmit_queue`,
//! `__tcp_retransmit_skb`).
//!
//! [`super::recovery`] decides which records are lost.

use super::record::Marks;
use super::tasks::Task;
use super::timer::Pending;
use super::{Sender, Transmission};
use crate::cc::CongestionControl;
use crate::number::narrow;

/// State of a series of retransmissions in one call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RetransmitCursor {
    /// Maximum segments in a packet; 0 before the first.
    max_segments: u32,
    /// The last run sent.
    last: Run,
    /// Was the first record among them?
    head: bool,
    /// Did the host's queue refuse one?
    refused: bool,
}

/// Contiguous records that are sent as one packet.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    first: u64,
    segments: u32,
}

impl Run {
    fn numbers(self) -> core::ops::Range<u64> {
        self.first..self.first + u64::from(self.segments)
    }
}

impl<C: CongestionControl> Sender<C> {
    /// One step in retransmitting lost records.
    pub(super) fn retransmit_next(&mut self) -> Option<Transmission> {
        let transmission = self.next_lost().and_then(|run| self.retransmit_lost(run));
        if transmission.is_none() {
            self.tasks.done(Task::Retransmit);
            self.end_retransmissions();
        }
        transmission
    }

    /// Retransmits the first record after a timeout, one segment, independent of the window.
    pub(super) fn retransmit_head(&mut self) -> Option<Transmission> {
        self.tasks.done(Task::Head);
        if self.board.is_empty() {
            return None;
        }
        self.retransmit_lost(Run { first: self.board.first(), segments: 1 })
    }

    /// Retransmits the last segment as a probe: it counts as a retransmission, but not as one in flight.
    pub(super) fn retransmit_last(&mut self) -> Option<Transmission> {
        let last = self.board.next() - 1;
        self.board.split_packet(last);
        self.retransmit(Run { first: last, segments: 1 }, Marks::EVER)
    }

    /// The host's queue refused a retransmission: its records from `seq` on are still pending.
    pub(super) fn take_back_retransmission(&mut self, seq: u64) {
        self.retransmit_cursor.refused = true;
        for number in self.retransmit_cursor.last.numbers() {
            let marks = self.board.get(number).marks;
            if self.board.get(number).end <= seq || !marks.has(Marks::RETRANS) {
                continue;
            }
            self.board.take_back_retransmission(&mut self.tp, number);
        }
    }

    fn next_lost(&mut self) -> Option<Run> {
        if self.retransmit_cursor.refused || self.must_wait() {
            return None;
        }
        let first = self.board.next_pending()?;
        let unused_window = self.cc.cwnd.saturating_sub(self.tp.in_flight());
        if unused_window == 0 || self.tp.retrans_out >= self.tp.lost_out {
            return None;
        }
        if self.retransmit_cursor.max_segments == 0 {
            self.retransmit_cursor.max_segments = self.tso_segments();
        }
        let lost = self.board.lost_from(first);
        // Linux checks the skb before it cuts off the part that may be sent.
        if self.is_host_full(self.run_bytes(Run { first, segments: lost }), 1) {
            return None;
        }
        let segments = lost.min(unused_window).min(self.retransmit_cursor.max_segments);
        if segments < lost {
            self.board.split_packet(first + u64::from(segments));
        }
        Some(Run { first, segments })
    }

    /// `tcp_retransmit_skb`: an attempt counts for undo, even if it cannot be sent.
    fn retransmit_lost(&mut self, run: Run) -> Option<Transmission> {
        let (departs_us, _) = self.pacing.stamp(self.tp.now, self.now_us);
        let transmission = self.retransmit(run, Marks::RETRANS.with(Marks::EVER));
        self.recovery.retransmitted((departs_us - 1) / 1_000, run.segments);
        transmission?;
        self.recovery.sent(self.tp.state, run.segments);
        if run.first == self.board.first() && self.timer.pending() != Pending::Reordering {
            self.retransmit_cursor.head = true;
        }
        transmission
    }

    /// Retransmits the records of a run (`__tcp_retransmit_skb`).
    fn retransmit(&mut self, run: Run, marks: Marks) -> Option<Transmission> {
        if self.host.holds(self.board.get(run.first).serial) {
            self.host.throttle();
            return None;
        }
        let seq = self.board.start_of(run.first).max(self.tp.snd_una);
        if self.window_end() <= seq && seq != self.tp.snd_una {
            return None;
        }
        let last = self.board.get(run.first + u64::from(run.segments) - 1);
        let (fin, psh, end) = (last.marks.has(Marks::FIN), last.marks.has(Marks::PSH), last.end);
        let len = narrow(end - u64::from(fin) - seq);
        let departure = self.depart();
        let (departs_at, stamp) = (departure.at, self.pacing.stamp(self.tp.now, self.now_us));
        self.note_sent(len, run.segments);
        self.counters.retransmitted(len, run.segments);
        self.space_next(len, &departure);
        self.restamp(run, marks, stamp);
        self.retransmit_cursor.last = run;
        let segments = u16::try_from(run.segments).unwrap_or(u16::MAX);
        self.host.enqueue(len);
        let psh = psh || segments > 1;
        let retransmission = true;
        Some(Transmission { seq, len, segments, fin, psh, retransmission, departs_at, ..Transmission::default() })
    }

    fn restamp(&mut self, run: Run, marks: Marks, stamp: (u64, u16)) {
        let serial = self.host.serial();
        let mut in_flight = self.tp.in_flight();
        for number in run.numbers() {
            let record = self.board.retransmit(&mut self.tp, number, stamp, serial, marks);
            in_flight += 1;
            self.rate.stamp(record, &self.tp, self.cc.app_limited != 0, in_flight);
        }
    }

    fn run_bytes(&self, run: Run) -> u32 {
        let last = self.board.get(run.first + u64::from(run.segments) - 1);
        narrow(last.end - self.board.start_of(run.first))
    }

    fn end_retransmissions(&mut self) {
        let head = core::mem::take(&mut self.retransmit_cursor).head;
        if self.timer.has_fired() {
            self.rearm_timeout();
        } else if head {
            self.restart_timeout();
        }
    }
}
