//! Retransmissions: lost records in order of sequence, as many as the window allows (`tcp_xmit_retransmit_queue`,
//! `__tcp_retransmit_skb`).
//!
//! Which records are lost is decided in [`super::rack`] and [`super::rto`].

use super::number::narrow;
use super::record::Marks;
use super::timer::Pending;
use super::todo::Task;
use super::{Sender, Transmission};
use crate::cc::Control;

/// Retransmissions that are sent in one go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mending {
    /// Most segments in a packet; 0 before the first.
    most_segments: u32,
    /// The run that was sent last.
    last: Run,
    /// Was the first record among them?
    head: bool,
    /// Did the host's queue refuse one?
    refused: bool,
}

/// A run of records that goes out as one packet.
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

impl<C: Control> Sender<C> {
    /// One step of the retransmission of lost records.
    pub(super) fn retransmit_next(&mut self) -> Option<Transmission> {
        let transmission = self.next_lost().and_then(|run| self.resend_lost(run));
        if transmission.is_none() {
            self.todo.done(Task::Retransmit);
            self.end_retransmissions();
        }
        transmission
    }

    /// Retransmits the first record after a timeout, one segment, whatever the window says.
    pub(super) fn resend_head(&mut self) -> Option<Transmission> {
        self.todo.done(Task::Head);
        if self.board.is_empty() {
            return None;
        }
        self.resend_lost(Run { first: self.board.first(), segments: 1 })
    }

    /// Retransmits the last segment as a probe: it counts as a retransmission, but not as one in flight.
    pub(super) fn resend_last(&mut self) -> Option<Transmission> {
        let last = self.board.next() - 1;
        self.board.part(last);
        self.resend(Run { first: last, segments: 1 }, Marks::EVER)
    }

    /// A retransmission was refused by the host's queue: its records from `seq` on still wait for it.
    pub(super) fn take_back_resent(&mut self, seq: u64) {
        self.mending.refused = true;
        for number in self.mending.last.numbers() {
            let marks = self.board.get(number).marks;
            if self.board.get(number).end <= seq || !marks.has(Marks::RETRANS) {
                continue;
            }
            self.board.get_mut(number).marks.clear(Marks::RETRANS);
            self.vitals.retrans_out -= 1;
            if marks.has(Marks::LOST) {
                self.board.unlist(number);
                self.board.set_due(number);
            }
        }
    }

    fn next_lost(&mut self) -> Option<Run> {
        if self.mending.refused || self.must_wait() {
            return None;
        }
        let first = self.board.next_due()?;
        let room = self.vitals.cwnd.saturating_sub(self.vitals.in_flight());
        if room == 0 || self.vitals.retrans_out >= self.vitals.lost_out {
            return None;
        }
        if self.mending.most_segments == 0 {
            self.mending.most_segments = self.tso_segments();
        }
        let lost = self.lost_from(first);
        // Linux looks at the skb before it cuts off what may leave of it.
        if self.is_host_full(self.run_bytes(Run { first, segments: lost }), 1) {
            return None;
        }
        let segments = lost.min(room).min(self.mending.most_segments);
        if segments < lost {
            self.board.part(first + u64::from(segments));
        }
        Some(Run { first, segments })
    }

    /// `tcp_retransmit_skb`: what is tried counts for undo, even when it can't leave.
    fn resend_lost(&mut self, run: Run) -> Option<Transmission> {
        // After an undo a retransmission may be out whose record is not lost; a timeout sends that one again. Linux
        // counts it twice then ("retrans_out leaked") and never gets rid of it.
        let known = run.numbers().filter(|number| self.board.get(*number).marks.has(Marks::RETRANS)).count();
        let departs_us = self.departure_us();
        let transmission = self.resend(run, Marks::RETRANS.with(Marks::EVER));
        let recovery = &mut self.recovery;
        recovery.retrans_stamp_ms = recovery.retrans_stamp_ms.or(Some((departs_us - 1) / 1_000));
        recovery.undo_retrans = recovery.undo_retrans.max(0) + i64::from(run.segments);
        transmission?;
        self.vitals.retrans_out += run.segments - narrow(known as u64);
        if self.is_reducing() {
            self.recovery.prr_out += run.segments;
        }
        if run.first == self.board.first() && self.timer.pending != Pending::Reordering {
            self.mending.head = true;
        }
        transmission
    }

    /// Sends the records of a run again (`__tcp_retransmit_skb`).
    fn resend(&mut self, run: Run, marks: Marks) -> Option<Transmission> {
        if self.host.holds(self.board.get(run.first).serial) {
            self.host.throttled = true;
            return None;
        }
        let seq = self.board.start_of(run.first).max(self.vitals.snd_una);
        if self.window_end() <= seq && seq != self.vitals.snd_una {
            return None;
        }
        let last = self.board.get(run.first + u64::from(run.segments) - 1);
        let (fin, psh, end) = (last.marks.has(Marks::FIN), last.marks.has(Marks::PSH), last.end);
        let len = narrow(end - u64::from(fin) - seq);
        let before = self.depart();
        let (departs_at, sent_us) = (self.vitals.next_send_at, self.departure_us());
        self.note_sent(len, run.segments);
        self.counters.total_retrans = self.counters.total_retrans.wrapping_add(run.segments);
        self.counters.bytes_retrans += u64::from(len);
        self.space_next(len, before);
        self.stamp_again(run, marks, sent_us);
        self.mending.last = run;
        let segments = u16::try_from(run.segments).unwrap_or(u16::MAX);
        self.host.hand_over(len);
        let psh = psh || segments > 1;
        let retransmission = true;
        Some(Transmission { seq, len, segments, fin, psh, retransmission, departs_at, ..Transmission::default() })
    }

    fn stamp_again(&mut self, run: Run, marks: Marks, sent_us: u64) {
        let serial = self.host.serial();
        let mut in_flight = self.vitals.in_flight();
        for number in run.numbers() {
            self.board.list_last(number);
            self.board.clear_due(number);
            let record = self.board.get_mut(number);
            record.sent_us = sent_us;
            record.serial = serial;
            record.marks.set(marks);
            record.marks.clear(Marks::OVERDUE);
            in_flight += 1;
            self.rate.stamp(record, &self.vitals, in_flight);
        }
    }

    /// Lost records of one packet that follow each other.
    fn lost_from(&self, first: u64) -> u32 {
        let follow = (first + 1..self.board.next()).take_while(|number| {
            let marks = self.board.get(*number).marks;
            let waits = marks.has(Marks::LOST) && !marks.has(Marks::SACKED.with(Marks::RETRANS));
            waits && !marks.has(Marks::FIRST)
        });
        narrow(1 + follow.count() as u64)
    }

    fn run_bytes(&self, run: Run) -> u32 {
        let last = self.board.get(run.first + u64::from(run.segments) - 1);
        narrow(last.end - self.board.start_of(run.first))
    }

    fn end_retransmissions(&mut self) {
        let head = core::mem::take(&mut self.mending).head;
        if self.timer.has_rung() {
            self.rearm_timeout();
        } else if head {
            let jiffies = self.rtt.rto + self.pacing_delay();
            self.timer.set(Pending::Retransmit, self.jiffy, jiffies);
        }
    }
}
