//! Data behind a hole: the ranges held, and those that the next ACKs report (SACK, RFC 2018; DSACK, RFC 2883).
//!
//! The reported blocks are a separate list of four, newest first, as in Linux (`tcp_sack_new_ofo_skb`): with many holes
//! it covers less than what is held.

use super::space::OVERHEAD;
use crate::packet::{Layout, Sack, Segment};
use alloc::collections::VecDeque;

/// A contiguous range of bytes held behind a hole.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    memory: u32,
    /// Page fragments of its last packet: the next packet is merged into it while they fit.
    pages: u8,
}

/// Ranges held, and blocks to report.
#[derive(Debug, Default)]
pub(super) struct Holes {
    /// By sequence number; they neither overlap nor touch.
    ranges: VecDeque<Range>,
    /// Memory of all ranges.
    memory: u32,
    blocks: [(u64, u64); SLOTS],
    count: u8,
    duplicate: Option<(u64, u64)>,
    /// A block to add after the next ACK, which is about to be sent.
    late: Option<(u64, u64)>,
}

/// A range that moved to the queue in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drained {
    /// End of the data that was in order before.
    pub after: u64,
    /// No hole up to here.
    pub end: u64,
    /// Memory that moved with it.
    pub memory: u32,
    /// Page fragments of the last packet.
    pub pages: u8,
    /// It is one packet, and no part of it arrived twice.
    pub is_one: bool,
}

impl Holes {
    /// Is nothing held?
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Is there nothing to report either?
    pub fn is_idle(&self) -> bool {
        self.ranges.is_empty() && self.count == 0 && self.duplicate.is_none() && self.late.is_none()
    }

    /// Memory held.
    pub fn memory(&self) -> u32 {
        self.memory
    }

    /// Holds a packet of `[start, end)`, whose payload uses `pages` page fragments. Reports what was already held as
    /// duplicate.
    pub fn insert(&mut self, start: u64, end: u64, pages: u8) {
        let first = self.ranges.partition_point(|range| range.end < start);
        let past = first + self.ranges.iter().skip(first).take_while(|range| range.start <= end).count();
        if first == past {
            let memory = length(start, end) + OVERHEAD;
            self.memory += memory;
            self.ranges.insert(first, Range { start, end, memory, pages });
            return;
        }
        self.report_overlap(first, past, start, end);
        let before = self.ranges[first];
        if before.start <= start && end <= before.end {
            return;
        }
        let merged = self.merge(first, past, Range { start, end, memory: length(start, end), pages });
        let replaced: u32 = self.ranges.range(first..past).map(|range| range.memory).sum();
        self.memory = self.memory - replaced + merged.memory;
        self.ranges[first] = merged;
        self.ranges.drain(first + 1..past);
    }

    /// Reports the part of `[start, end)` that the first overlapped range holds as duplicate; later parts do not change
    /// it.
    fn report_overlap(&mut self, first: usize, past: usize, start: u64, end: u64) {
        let overlapped = self.ranges.range(first..past).find(|range| range.start < end && start < range.end);
        if let Some(range) = overlapped.copied() {
            self.report_duplicate(range.start.max(start), range.end.min(end));
        }
    }

    /// Merges a packet with all ranges that it touches; ranges that it covers free their memory.
    fn merge(&self, first: usize, past: usize, new: Range) -> Range {
        let mut merged = new;
        let before = self.ranges[first];
        let joins = before.end == new.start && before.pages + new.pages <= MAX_PAGES;
        if joins {
            merged.pages += before.pages;
        } else {
            merged.memory += OVERHEAD;
        }
        for range in self.ranges.range(first..past) {
            if new.start <= range.start && range.end <= new.end {
                continue;
            }
            merged.start = merged.start.min(range.start);
            merged.memory += range.memory;
            if range.end > merged.end {
                merged.end = range.end;
                merged.pages = range.pages;
            }
        }
        merged
    }

    /// Everything up to `rcv_nxt` is in order: moves what follows without a hole, range by range (`tcp_ofo_queue`).
    /// Returns the new end.
    pub fn drain(&mut self, rcv_nxt: u64, mut take: impl FnMut(Drained)) -> u64 {
        let mut after = rcv_nxt;
        while let Some(range) = self.ranges.front().copied().filter(|range| range.start <= after) {
            if range.start < rcv_nxt {
                self.extend_duplicate(range.start, range.end.min(rcv_nxt));
            }
            if range.end > after {
                let is_one = range.start == after && range.memory == length(range.start, range.end) + OVERHEAD;
                take(Drained { after, end: range.end, memory: range.memory, pages: range.pages, is_one });
                after = range.end;
            }
            self.memory -= range.memory;
            self.ranges.pop_front();
        }
        self.forget_blocks(after);
        after
    }

    /// Discards everything behind a FIN.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.memory = 0;
        self.count = 0;
        self.late = None;
    }

    /// Frees `goal` bytes of memory from the far end, but nothing before `seq` (`tcp_prune_ofo_queue`).
    pub fn prune(&mut self, seq: u64, goal: u32) {
        let mut freed = 0;
        while freed < goal && self.ranges.back().is_some_and(|range| range.start >= seq) {
            freed += self.ranges.pop_back().map_or(0, |range| range.memory);
        }
        self.memory -= freed;
        if freed > 0 {
            self.count = 0;
            self.late = None;
        }
    }

    /// Packs each range into as few pages as possible, to free memory.
    pub fn pack(&mut self) {
        for range in &mut self.ranges {
            range.memory = range.memory.min(packed(range.end - range.start));
        }
        self.memory = self.ranges.iter().map(|range| range.memory).sum();
    }

    /// `[start, end)` arrived again. Reported once, with the next ACK.
    pub fn report_duplicate(&mut self, start: u64, end: u64) {
        self.duplicate = Some((start, end));
    }

    fn extend_duplicate(&mut self, start: u64, end: u64) {
        match &mut self.duplicate {
            Some(block) => {
                extend(block, start, end);
            }
            None => self.duplicate = Some((start, end)),
        }
    }

    /// New data arrived: drops an unreported duplicate.
    pub fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// Would reporting `[start, end)` displace unreported blocks from those that every ACK carries? Then the held back
    /// ones have to be reported first.
    pub fn displaces_unreported_blocks(&self, start: u64, end: u64) -> bool {
        let touched = self.reported().iter().position(|&(from, to)| start <= to && from <= end);
        touched.unwrap_or(self.reported().len()) >= SURE_BLOCKS
    }

    /// Puts `[start, end)` first in the report.
    pub fn report(&mut self, start: u64, end: u64) {
        let mut new = (start, end);
        let mut kept = [(0, 0); SLOTS];
        let mut count = 0;
        for &(from, to) in self.reported() {
            if !extend(&mut new, from, to) {
                kept[count] = (from, to);
                count += 1;
            }
        }
        self.blocks[0] = new;
        let room = count.min(SLOTS - 1);
        self.blocks[1..=room].copy_from_slice(&kept[..room]);
        self.count = u8::try_from(room + 1).unwrap_or(0);
    }

    /// Adds `[start, end)` to the report after the next ACK.
    pub fn report_late(&mut self, start: u64, end: u64) {
        self.settle();
        self.late = Some((start, end));
    }

    /// Takes the blocks of an ACK that is sent now.
    pub fn take(&mut self) -> Sack {
        let mut sack = Sack::default();
        if let Some((start, end)) = self.duplicate.take() {
            sack.push(start, end);
        }
        for &(start, end) in self.reported() {
            sack.push(start, end);
        }
        self.settle();
        sack
    }

    /// Adds the block that waited for the last ACK.
    pub fn settle(&mut self) {
        if let Some((start, end)) = self.late.take() {
            self.report(start, end);
        }
    }

    /// Removes blocks that are now in order (`tcp_sack_remove`).
    fn forget_blocks(&mut self, rcv_nxt: u64) {
        if self.ranges.is_empty() {
            self.count = 0;
            return;
        }
        let mut count = 0;
        for index in 0..usize::from(self.count) {
            if self.blocks[index].0 > rcv_nxt {
                self.blocks[count] = self.blocks[index];
                count += 1;
            }
        }
        self.count = u8::try_from(count).unwrap_or(0);
    }

    fn reported(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// Extends `block` by `[start, end)` if they touch; returns whether they do.
fn extend(block: &mut (u64, u64), start: u64, end: u64) -> bool {
    let touches = start <= block.1 && block.0 <= end;
    if touches {
        *block = (block.0.min(start), block.1.max(end));
    }
    touches
}

fn length(start: u64, end: u64) -> u32 {
    u32::try_from(end - start).unwrap_or(u32::MAX >> 1)
}

/// Memory of this payload after Linux has copied it into packets of one page each (`tcp_collapse`).
pub(super) fn packed(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(PAGE_PAYLOAD) * PAGE_MEMORY).unwrap_or(u32::MAX >> 1)
}

/// Page fragments of a segment's payload.
pub(in crate::transport) fn pieces(segment: &Segment) -> u8 {
    segment.layout.map_or_else(|| pages(segment.seq, segment.len), |layout| layout.pieces(segment.len))
}

/// Pages of 4 KiB that a payload covers if the stream is laid out contiguously, as a sender's file is.
pub(super) fn pages(seq: u64, len: u32) -> u8 {
    Layout::new(seq.wrapping_sub(1), 0).pieces(len)
}

/// Fragments of a packet (`MAX_SKB_FRAGS`).
pub(in crate::transport) const MAX_PAGES: u8 = 17;
/// `TCP_NUM_SACKS`.
const SLOTS: usize = 4;
/// `TCP_SACK_BLOCKS_EXPECTED`: as many as fit with timestamps, less one for a lost ACK.
const SURE_BLOCKS: usize = 2;
/// Payload of a packet of one page (`SKB_MAX_ORDER(0, 0)`).
const PAGE_PAYLOAD: u64 = 3_776;
/// Memory of a packet of one page.
const PAGE_MEMORY: u64 = 4_352;
