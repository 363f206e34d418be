//! The scoreboard: a record of every segment that was sent and not yet cumulatively acknowledged.
//!
//! ```text
//!   first                                        next
//!     |  seq order: a ring, one record per segment |
//!     [ ][S][S][L][R][S][ ][ ][ ][ ][ ][ ][ ][ ][ ]
//!      ^ older <---- order of transmission ----> newer ^
//! ```
//!
//! Linux keeps one skb for several segments and splits it at the end of a SACK block or a retransmission. Here each
//! segment has a record and [`Marks::FIRST`] shows where a packet starts: nothing is ever split or inserted. The order
//! of transmission (`tsorted_sent_queue`) is a list through the same records; a retransmission moves to its end, SACKed
//! and lost records leave it.
//!
//! Only this module changes a record's state. Each transition also keeps the counts that a controller reads
//! ([`SenderState::packets_out`], `sacked_out`, `lost_out`, `retrans_out`, `lost`), which is why it takes the state.

#[cfg(test)]
mod tests;

use super::number::{link, slot};
use super::pending_set::PendingSet;
use super::record::{Marks, NONE, Record};
use crate::cc::{LostPacket, SenderState};
use crate::number::{low, narrow};
use alloc::vec;
use alloc::vec::Vec;

/// Records removed from the front together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub packets: u32,
    /// First sequence number of the first one.
    pub start: u64,
    /// End of the first record.
    pub first_end: u64,
    /// When the first record was sent.
    pub first_sent_us: u64,
    pub last: Record,
}

/// Records by number; numbers count up from zero and never repeat.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    ring: Vec<Record>,
    mask: usize,
    first: u64,
    next: u64,
    /// Sequence number of the first record's first byte.
    start: u64,
    oldest: u32,
    newest: u32,
    pending: PendingSet,
    /// Records with [`Marks::FIRST`].
    packets: u64,
    mss: u64,
}

impl Scoreboard {
    /// An empty scoreboard for segments of up to `mss` bytes.
    pub fn new(mss: u32) -> Self {
        Self {
            ring: vec![Record::default(); MIN_RING],
            mask: MIN_RING - 1,
            first: 0,
            next: 0,
            start: 0,
            oldest: NONE,
            newest: NONE,
            pending: PendingSet::new(MIN_RING),
            packets: 0,
            mss: u64::from(mss),
        }
    }

    /// Starts at this sequence number.
    pub const fn begin(&mut self, seq: u64) {
        self.start = seq;
    }

    /// Number of the first record.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// Number of the record after the last one.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Is nothing outstanding?
    pub const fn is_empty(&self) -> bool {
        self.first == self.next
    }

    /// Number of packets in which the records were sent; a partly acknowledged packet counts as one.
    pub fn packets(&self) -> u64 {
        self.packets + u64::from(self.front().is_some_and(|front| !front.marks.has(Marks::FIRST)))
    }

    /// Was everything outstanding sent as one packet?
    pub fn is_single_packet(&self) -> bool {
        (self.first + 1..self.next).all(|number| !self.get(number).marks.has(Marks::FIRST))
    }

    /// Makes this record the start of a packet that is sent in parts.
    pub fn split_packet(&mut self, number: u64) {
        let marks = &mut self.get_mut(number).marks;
        let is_new = !marks.has(Marks::FIRST);
        marks.set(Marks::FIRST);
        self.packets += u64::from(is_new);
    }

    /// Merges the packet that starts with this record into the previous one.
    fn join(&mut self, number: u64) {
        self.get_mut(number).marks.clear(Marks::FIRST);
        self.packets -= 1;
    }

    /// Merges each skb of the range that arrived into the one before, which frees memory, and the one after the range
    /// into the last, if that was merged too. Data that arrived and data that did not are in separate skbs
    /// (`tcp_match_skb_to_sack`, `tcp_shift_skb_data`). `fit`: do these bytes' pages fit one skb?
    pub fn join_arrived(&mut self, first: u64, end: u64, mss: u32, fit: impl Fn(u64, u64) -> bool) {
        let mut has_joined = false;
        for number in first.max(self.first + 1)..(end + 1).min(self.next) {
            let [before, here] = [number - 1, number].map(|number| self.get(number).marks);
            if !here.has(Marks::FIRST) {
                if before.has(Marks::SACKED) != here.has(Marks::SACKED) {
                    self.split_packet(number);
                    has_joined = false;
                }
                continue;
            }
            let may_join = has_joined || number < end;
            has_joined = may_join && before.is_arrived() && here.is_arrived() && self.can_join(number, mss, &fit);
            if has_joined {
                self.join(number);
            }
        }
    }

    /// Has the previous skb space for this one, and segments of its size?
    fn can_join(&self, number: u64, mss: u32, fit: &impl Fn(u64, u64) -> bool) -> bool {
        let size = |packet: (u64, u64)| {
            let bytes = self.start_of(packet.1) - self.start_of(packet.0);
            if packet.1 - packet.0 == 1 { bytes } else { u64::from(mss) }
        };
        let (before, here) = (self.packet_of(number - 1), self.packet_of(number));
        size(before) == size(here) && fit(self.start_of(before.0), self.start_of(here.1))
    }

    /// The packet that contains this record: its first record, and the one after it.
    fn packet_of(&self, number: u64) -> (u64, u64) {
        let is_first = |number: &u64| self.get(*number).marks.has(Marks::FIRST);
        let first = (self.first + 1..=number).rev().find(is_first).unwrap_or(self.first);
        (first, (number + 1..self.next).find(is_first).unwrap_or(self.next))
    }

    /// The first record, if any.
    pub fn front(&self) -> Option<&Record> {
        (!self.is_empty()).then(|| self.get(self.first))
    }

    /// A record by its number.
    pub fn get(&self, number: u64) -> &Record {
        &self.ring[slot(number, self.mask)]
    }

    fn get_mut(&mut self, number: u64) -> &mut Record {
        &mut self.ring[slot(number, self.mask)]
    }

    /// A record that was not SACKed before is SACKED: it is no longer lost, nor is a retransmission of a lost one in
    /// flight. Its sample of the delivery rate is used once.
    pub fn sack(&mut self, tp: &mut SenderState, number: u64) -> &mut Record {
        let marks = self.get(number).marks;
        if marks.has(Marks::LOST) {
            if marks.has(Marks::RETRANS) {
                self.end_retransmission(tp, number);
            }
            tp.lost_out -= 1;
            self.clear_pending(number);
        }
        tp.sacked_out += 1;
        self.unlist(number);
        let record = self.get_mut(number);
        record.marks.clear(Marks::LOST.with(Marks::OVERDUE));
        record.marks.set(Marks::SACKED);
        record
    }

    /// The receiver dropped everything that it had SACKed.
    pub fn forget_sacks(&mut self, tp: &mut SenderState) {
        tp.sacked_out = 0;
        for number in self.first..self.next {
            self.get_mut(number).marks.clear(Marks::SACKED);
        }
    }

    /// Marks a record lost unless it arrived; if it was retransmitted, that transmission is lost too
    /// (`tcp_mark_skb_lost`). Returns the loss if it is a new one.
    pub fn mark_lost(&mut self, tp: &mut SenderState, number: u64) -> Option<LostPacket> {
        let marks = self.get(number).marks;
        if marks.has(Marks::SACKED) {
            return None;
        }
        if !marks.has(Marks::LOST) {
            tp.lost_out += 1;
        } else if marks.has(Marks::RETRANS) {
            self.end_retransmission(tp, number);
        } else {
            return None;
        }
        tp.lost += 1;
        let begins_range = number == self.first || !self.get(number - 1).marks.has(Marks::LOST);
        let record = self.get_mut(number);
        record.marks.set(Marks::LOST);
        let lost = LostPacket {
            tx_in_flight: record.in_flight,
            lost: low(tp.lost).wrapping_sub(record.lost),
            is_app_limited: record.marks.has(Marks::APP_LIMITED),
            begins_range,
        };
        // A retransmission without a loss mark stays in flight.
        if !record.marks.has(Marks::RETRANS) {
            self.set_pending(number);
            self.unlist(number);
        }
        Some(lost)
    }

    /// RACK found a record overdue: it leaves the order of transmission.
    pub fn set_overdue(&mut self, number: u64) {
        self.unlist(number);
        self.get_mut(number).marks.set(Marks::OVERDUE);
    }

    /// Clears all loss marks. Records marked by a timeout return to their position in the order of transmission; those
    /// marked by RACK stay out of it, as in Linux, until they are retransmitted.
    pub fn unmark_lost(&mut self, tp: &mut SenderState) {
        let mut hint = None;
        for number in self.first..self.next {
            let marks = self.get(number).marks;
            self.get_mut(number).marks.clear(Marks::LOST);
            if marks.has(Marks::LOST) && !marks.has(Marks::LISTED.with(Marks::OVERDUE).with(Marks::SACKED)) {
                self.list_by_time(number, hint);
                hint = Some(number);
            }
        }
        tp.lost_out = 0;
        self.pending.clear();
    }

    /// A record's retransmission is no longer in flight.
    pub fn end_retransmission(&mut self, tp: &mut SenderState, number: u64) {
        self.get_mut(number).marks.clear(Marks::RETRANS);
        tp.retrans_out -= 1;
    }

    /// A record's retransmission was refused by the host's queue: if it is lost, it is pending again.
    pub fn take_back_retransmission(&mut self, tp: &mut SenderState, number: u64) {
        self.end_retransmission(tp, number);
        if self.get(number).marks.has(Marks::LOST) {
            self.unlist(number);
            self.set_pending(number);
        }
    }

    /// A record is retransmitted, and has these marks now: it becomes the newest in order of transmission, and gets a
    /// new stamp of the delivery rate.
    pub fn retransmit(
        &mut self,
        tp: &mut SenderState,
        number: u64,
        departure: (u64, u16),
        serial: u32,
        marks: Marks,
    ) -> &mut Record {
        self.list_last(number);
        self.clear_pending(number);
        let record = self.get_mut(number);
        // After an undo a retransmission may be outstanding whose record is not lost; a timeout retransmits it. Linux
        // then counts it twice ("retrans_out leaked") and never corrects that.
        tp.retrans_out += u32::from(marks.has(Marks::RETRANS) && !record.marks.has(Marks::RETRANS));
        (record.sent_us, record.sent_rest_ns) = departure;
        record.serial = serial;
        record.marks.set(marks);
        record.marks.clear(Marks::OVERDUE);
        record
    }

    /// First sequence number of a record: the end of the previous one.
    pub fn start_of(&self, number: u64) -> u64 {
        if number == self.first { self.start } else { self.get(number - 1).end }
    }

    /// Number of consecutive lost records in the packet of `first` that wait for retransmission.
    pub fn lost_from(&self, first: u64) -> u32 {
        let follow = (first + 1..self.next).take_while(|number| {
            let marks = self.get(*number).marks;
            let waits = marks.has(Marks::LOST) && !marks.has(Marks::SACKED.with(Marks::RETRANS));
            waits && !marks.has(Marks::FIRST)
        });
        narrow(1 + follow.count() as u64)
    }

    /// Appends a record, also as the newest in order of transmission.
    #[inline]
    pub fn push(&mut self, tp: &mut SenderState, mut record: Record) {
        tp.packets_out += 1;
        if slot(self.next.wrapping_sub(self.first), usize::MAX) > self.mask {
            self.grow();
        }
        let at = slot(self.next, self.mask);
        self.packets += u64::from(record.marks.has(Marks::FIRST));
        record.marks.set(Marks::LISTED);
        record.older = self.newest;
        record.newer = NONE;
        self.ring[at] = record;
        self.relink(self.newest, link(at));
        self.newest = link(at);
        self.next += 1;
    }

    /// Removes records at the front that end by `una` and are plain: sent once, neither SACKed nor lost.
    ///
    /// Everything sent before a plain front record has been removed, so these are also the oldest in order of
    /// transmission, in the same order.
    #[inline]
    pub fn pop_plain(&mut self, tp: &mut SenderState, una: u64) -> Option<Run> {
        let front = self.front().filter(|front| front.is_plain_by(una))?;
        debug_assert_eq!(self.oldest, link(slot(self.first, self.mask)), "a plain front record was sent first");
        let (before, start, first_end, first_sent_us) = (self.first, self.start, front.end, front.sent_us);
        while let Some(record) = self.front().filter(|record| record.is_plain_by(una)) {
            self.packets -= u64::from(record.marks.has(Marks::FIRST));
            self.first += 1;
        }
        let last = *self.get(self.first - 1);
        self.start = last.end;
        self.oldest = last.newer;
        match self.oldest {
            NONE => self.newest = NONE,
            at => self.ring[at as usize].older = NONE,
        }
        let packets = low(self.first - before);
        tp.packets_out -= packets;
        Some(Run { packets, start, first_end, first_sent_us, last })
    }

    /// Removes the first record.
    pub fn pop_first(&mut self, tp: &mut SenderState) -> Record {
        let number = self.first;
        self.unlist(number);
        let record = *self.get(number);
        tp.packets_out -= 1;
        tp.retrans_out -= u32::from(record.marks.has(Marks::RETRANS));
        tp.sacked_out -= u32::from(record.marks.has(Marks::SACKED));
        if record.marks.has(Marks::LOST) {
            tp.lost_out -= 1;
            self.pending.remove(slot(number, self.mask));
        }
        self.packets -= u64::from(record.marks.has(Marks::FIRST));
        self.start = record.end;
        self.first += 1;
        record
    }

    /// Removes the last record: its packet was refused by the host's queue.
    pub fn pop_last(&mut self, tp: &mut SenderState) {
        tp.packets_out -= 1;
        let number = self.next - 1;
        self.unlist(number);
        self.pending.remove(slot(number, self.mask));
        self.next = number;
        self.packets -= u64::from(self.get(number).marks.has(Marks::FIRST));
    }

    /// The record that holds sequence number `seq`, which must not precede the first one.
    pub fn find(&self, seq: u64) -> Option<u64> {
        if self.is_empty() || seq < self.start || seq >= self.get(self.next - 1).end {
            return None;
        }
        // No segment is longer than the MSS, so the guess is never too high.
        let guess = self.first + (seq - self.start) / self.mss;
        let (mut low, mut high) = (guess.min(self.next - 1), self.next - 1);
        if self.get(low).end > seq {
            return Some(low);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).end > seq { high = middle } else { low = middle + 1 }
        }
        Some(low)
    }

    /// Removes a record from the order of transmission, if present.
    fn unlist(&mut self, number: u64) {
        let record = self.get_mut(number);
        if !record.marks.has(Marks::LISTED) {
            return;
        }
        record.marks.clear(Marks::LISTED);
        let (older, newer) = (record.older, record.newer);
        self.relink(older, newer);
        match newer {
            NONE => self.newest = older,
            at => self.ring[at as usize].older = older,
        }
    }

    /// Makes a record the newest in order of transmission.
    fn list_last(&mut self, number: u64) {
        self.unlist(number);
        let (at, newest) = (link(slot(number, self.mask)), self.newest);
        let record = self.get_mut(number);
        record.marks.set(Marks::LISTED);
        (record.older, record.newer) = (newest, NONE);
        self.relink(newest, at);
        self.newest = at;
    }

    /// Inserts a record into the order of transmission by its time, searching from `hint` (the last one inserted).
    fn list_by_time(&mut self, number: u64, hint: Option<u64>) {
        let key = self.get(number).order();
        let mut before =
            hint.filter(|hint| self.get(*hint).order() < key).map_or(NONE, |hint| link(slot(hint, self.mask)));
        let mut after = self.after(before);
        while after != NONE && self.ring[after as usize].order() < key {
            before = after;
            after = self.after(before);
        }
        let at = link(slot(number, self.mask));
        let record = self.get_mut(number);
        record.marks.set(Marks::LISTED);
        (record.older, record.newer) = (before, after);
        self.relink(before, at);
        match after {
            NONE => self.newest = at,
            after => self.ring[after as usize].older = at,
        }
    }

    /// The least recently transmitted record.
    pub const fn oldest(&self) -> Option<u64> {
        self.number(self.oldest)
    }

    /// The record transmitted next after a listed one.
    pub fn newer(&self, number: u64) -> Option<u64> {
        self.number(self.get(number).newer)
    }

    /// Marks a record as pending retransmission.
    fn set_pending(&mut self, number: u64) {
        self.pending.insert(slot(number, self.mask));
    }

    /// Clears the mark.
    fn clear_pending(&mut self, number: u64) {
        self.pending.remove(slot(number, self.mask));
    }

    /// The first record pending retransmission.
    pub fn next_pending(&self) -> Option<u64> {
        if self.pending.len() == 0 {
            return None;
        }
        let from = slot(self.first, self.mask);
        let at = self.pending.next(from).or_else(|| self.pending.next(0))?;
        self.number(link(at))
    }

    fn after(&self, at: u32) -> u32 {
        if at == NONE { self.oldest } else { self.ring[at as usize].newer }
    }

    fn relink(&mut self, older: u32, newer: u32) {
        match older {
            NONE => self.oldest = newer,
            at => self.ring[at as usize].newer = newer,
        }
    }

    const fn number(&self, at: u32) -> Option<u64> {
        if at == NONE {
            return None;
        }
        let ahead = (at as usize).wrapping_sub(slot(self.first, self.mask)) & self.mask;
        Some(self.first + ahead as u64)
    }

    /// Doubles the ring. Slots change, so links and pending marks are rebuilt.
    #[cold]
    fn grow(&mut self) {
        let mask = self.mask * 2 + 1;
        let mut larger =
            Self { ring: vec![Record::default(); mask + 1], mask, pending: PendingSet::new(mask + 1), ..*self };
        let moved = |at: u32| self.number(at).map_or(NONE, |number| link(slot(number, mask)));
        for number in self.first..self.next {
            let mut record = *self.get(number);
            (record.older, record.newer) = (moved(record.older), moved(record.newer));
            larger.ring[slot(number, mask)] = record;
        }
        (larger.oldest, larger.newest) = (moved(self.oldest), moved(self.newest));
        let mut from = 0;
        while let Some(at) = self.pending.next(from) {
            if let Some(number) = self.number(link(at)) {
                larger.set_pending(number);
            }
            from = at + 1;
        }
        *self = larger;
    }
}

/// Enough for an initial window without growing, and no more: thousands of flows share a processor's cache.
const MIN_RING: usize = 16;
