//! Selective acknowledgements: the records that they mark, and duplicates (DSACK, RFC 2883)
//! (`tcp_sacktag_write_queue`).
//!
//! Receivers repeat their blocks. Records covered by the last ACK's blocks are already marked and skipped.

use super::Sender;
use super::ack::Ack;
use super::record::Marks;
use crate::cc::CongestionControl;
use crate::number::narrow;
use crate::packet::{MAX_SACK_BLOCKS, Segment};

/// A block of sequence numbers `[start, end)`.
type Block = (u64, u64);

/// The blocks of the last ACK, in order of sequence.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    blocks: [Block; MAX_SACK_BLOCKS],
    count: usize,
}

/// What SACKs have shown.
#[derive(Clone, Debug)]
pub(super) struct Sacked {
    /// End of the highest SACKed segment; see [`Sender::highest_sack`].
    highest: u64,
    /// Blocks of the last ACK.
    seen: Seen,
}

impl Sacked {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { highest: 0, seen: Seen::default() }
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Marks the records that the segment's blocks cover.
    pub(super) fn tag_sacks(&mut self, segment: &Segment, ack: &mut Ack) {
        let blocks = segment.sack.blocks();
        ack.reordered = self.tp.snd_nxt;
        if self.tp.sacked_out == 0 {
            self.sacked.highest = self.tp.snd_una;
            self.sacked.seen = Seen::default();
        }
        let is_dsack = self.take_dsack(segment.ack, &blocks, ack);
        if segment.ack + u64::from(self.peer.largest()) < ack.prior_una || self.tp.packets_out == 0 {
            return;
        }
        if is_dsack && self.is_valid(blocks[0], true) && blocks[0].1 > ack.prior_una {
            self.tag_range(blocks[0], true, ack);
        }
        let fresh = self.sorted(&blocks[usize::from(is_dsack)..], ack.prior_una);
        let seen = core::mem::replace(&mut self.sacked.seen, fresh);
        for block in &fresh.blocks[..fresh.count] {
            self.tag_unseen(*block, &seen, ack);
        }
        if self.recovery.shows_reordering(self.tp.state) {
            self.note_reordering(ack.reordered);
        }
    }

    /// `lowest`, which was sent once, was delivered; something higher may have been before.
    #[cold]
    pub(super) fn note_reordering(&mut self, lowest: u64) {
        self.reordering.delivered_late(lowest, self.highest_sack(), self.tp.mss);
    }

    /// End of the highest SACKed segment; `snd_una` if there is none.
    pub(super) const fn highest_sack(&self) -> u64 {
        if self.tp.sacked_out == 0 { self.tp.snd_una } else { self.sacked.highest }
    }

    fn tag_unseen(&mut self, block: Block, seen: &Seen, ack: &mut Ack) {
        let (mut start, end) = block;
        for known in seen.blocks[..seen.count].iter().filter(|known| known.1 > block.0 && known.0 < end) {
            if start < known.0 {
                self.tag_range((start, known.0), false, ack);
            }
            start = start.max(known.1);
        }
        if start < end {
            self.tag_range((start, end), false, ack);
        }
    }

    /// Marks the records that lie entirely in the block.
    fn tag_range(&mut self, block: Block, is_dsack: bool, ack: &mut Ack) {
        let from = self.board.start_of(self.board.first()).max(block.0);
        let Some(mut number) = self.board.find(from) else { return };
        let (first, mut start) = (number, self.board.start_of(number));
        let mut has_new = false;
        while number < self.board.next() && start < block.1 {
            let record = self.board.get(number);
            let (end, marks) = (record.end, record.marks);
            let is_covered = start >= block.0 && end <= block.1;
            if is_covered && (is_dsack || !marks.has(Marks::SACKED)) {
                self.tag(number, start, is_dsack, ack);
                has_new = true;
            }
            start = end;
            number += 1;
        }
        if has_new && !is_dsack {
            let app_source = &self.app_source;
            self.board.join_arrived(first, number, self.tp.mss, |start, end| app_source.fit(start, end));
        }
    }

    /// Marks a record that arrived, or arrived twice (`tcp_sacktag_one`).
    fn tag(&mut self, number: u64, start: u64, is_dsack: bool, ack: &mut Ack) {
        let record = *self.board.get(number);
        if is_dsack && record.marks.has(Marks::RETRANSMITTED) {
            self.recovery.count_duplicate(record.end);
            if record.marks.has(Marks::SACKED) {
                ack.reordered = ack.reordered.min(start);
            }
        }
        if record.end <= self.tp.snd_una {
            return;
        }
        if !record.marks.has(Marks::SACKED) {
            self.tag_arrived(number, start, ack);
        }
        // A duplicate's retransmission is no longer in flight.
        if is_dsack && self.board.get(number).marks.has(Marks::RETRANS) {
            self.board.end_retransmission(&mut self.tp, number);
        }
        self.sacked.highest = self.sacked.highest.max(record.end);
    }

    fn tag_arrived(&mut self, number: u64, start: u64, ack: &mut Ack) {
        let record = *self.board.get(number);
        let marks = record.marks;
        self.rack.advance(&record, self.now_us, self.tp.min_rtt_us);
        if !marks.has(Marks::RETRANSMITTED) {
            if start < self.highest_sack() {
                ack.reordered = ack.reordered.min(start);
            }
            ack.acks_original |= self.recovery.covers(record.end);
            if ack.first_sacked_us == 0 {
                ack.first_sacked_us = record.sent_us;
            }
            ack.last_sacked_us = record.sent_us;
        }
        let record = self.board.sack(&mut self.tp, number);
        self.rate.delivered(record, &mut ack.draft);
        ack.sacks_data = true;
        ack.sack_delivered += 1;
    }

    /// Is the first block a valid DSACK (`tcp_check_dsack`)?
    fn take_dsack(&mut self, acked: u64, blocks: &[Block], ack: &mut Ack) -> bool {
        let first = blocks[0];
        let below = first.0 < acked;
        let within = blocks.get(1).is_some_and(|second| first.1 <= second.1 && first.0 >= second.0);
        if !below && !within {
            return false;
        }
        let duplicates = self.count_dsack(first, ack);
        if duplicates == 0 {
            return false;
        }
        if first.1 <= ack.prior_una {
            for _ in 0..duplicates {
                self.recovery.count_duplicate(first.1);
            }
        }
        true
    }

    /// Segments that arrived twice; 0 if that is impossible (`tcp_dsack_seen`).
    fn count_dsack(&mut self, block: Block, ack: &mut Ack) -> u32 {
        if block.0 >= block.1 || block.1 - block.0 > u64::from(self.peer.largest()) {
            return 0;
        }
        let duplicates = narrow((block.1 - block.0).div_ceil(u64::from(self.tp.mss)));
        ack.dsacks_probe |= duplicates == 1 && self.recovery.ends_probe(block.1);
        if !self.counters.duplicated(duplicates) {
            return 0;
        }
        if self.reordering.seen() > 0 && !ack.dsacks_probe {
            self.rack.take_dsack();
        }
        ack.dsacks = true;
        ack.sack_delivered += duplicates;
        duplicates
    }

    /// The valid blocks, in order of sequence.
    fn sorted(&self, blocks: &[Block], prior_una: u64) -> Seen {
        let mut fresh = Seen::default();
        for block in blocks {
            if self.is_valid(*block, false) && block.1 > prior_una {
                fresh.blocks[fresh.count] = *block;
                fresh.count += 1;
            }
        }
        fresh.blocks[..fresh.count].sort_unstable();
        fresh
    }

    /// Is the block in the outstanding window, or for a DSACK close below it (`tcp_is_sackblock_valid`)?
    fn is_valid(&self, (start, end): Block, is_dsack: bool) -> bool {
        if end > self.tp.snd_nxt || start >= end {
            return false;
        }
        if start > self.tp.snd_una {
            return true;
        }
        let Some(marker) = self.recovery.undo_marker() else { return false };
        if !is_dsack || end > self.tp.snd_una {
            return false;
        }
        start >= marker || (end > marker && start + u64::from(self.peer.largest()) >= end)
    }
}
