//! Data behind a hole: the packets held, and the ranges that the next ACKs report (SACK, RFC 2018; DSACK, RFC 2883).
//!
//! The reported blocks are a separate list of four, newest first, as in Linux (`tcp_sack_new_ofo_skb`): with many holes
//! it covers less than what is held.

use super::space::OVERHEAD;
use crate::packet::{Layout, Sack, Segment};
use alloc::collections::VecDeque;
use core::mem;

/// A packet in a receive queue (`sk_buff`), perhaps with later ones merged into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub start: u64,
    pub end: u64,
    /// `truesize`.
    pub memory: u32,
    /// Page fragments of its payload.
    pub pages: u8,
}

impl Packet {
    /// A segment that has arrived.
    pub fn of(segment: &Segment) -> Self {
        Self { start: segment.seq, end: segment.end(), memory: segment.len + OVERHEAD, pages: pieces(segment) }
    }

    /// Merges the packet that follows without a gap, if the page fragments fit, which saves its header
    /// (`tcp_try_coalesce`). Returns whether it did.
    pub fn merge(&mut self, next: &Self) -> bool {
        let fits = next.start == self.end && self.pages + next.pages <= MAX_PAGES;
        if fits {
            self.end = next.end;
            self.memory += next.memory - OVERHEAD;
            self.pages += next.pages;
        }
        fits
    }
}

/// What happened to a packet behind a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inserted {
    /// Merged into the packet before it.
    Merged,
    /// Held by itself.
    Alone,
    /// Discarded: all of it was held.
    Discarded,
}

/// Packets held, and blocks to report.
#[derive(Debug, Default)]
pub(super) struct Holes {
    /// By sequence number; none covers another.
    packets: VecDeque<Packet>,
    /// Memory of all packets.
    memory: u32,
    blocks: [(u64, u64); SLOTS],
    count: u8,
    duplicate: Option<(u64, u64)>,
    /// A block to add after the next ACK, which is about to be sent.
    late: Option<(u64, u64)>,
}

impl Holes {
    /// Is nothing held?
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Is there nothing to report either?
    pub fn is_idle(&self) -> bool {
        self.packets.is_empty() && self.count == 0 && self.duplicate.is_none() && self.late.is_none()
    }

    /// Memory held.
    pub fn memory(&self) -> u32 {
        self.memory
    }

    /// Holds a packet (`tcp_data_queue_ofo`). Reports what was already held as duplicate.
    pub fn insert(&mut self, packet: Packet) -> Inserted {
        let mut place = self.packets.partition_point(|held| held.start <= packet.start);
        if let Some(before) = place.checked_sub(1).and_then(|index| self.packets.get_mut(index)) {
            let held = *before;
            if packet.end <= held.end {
                self.report_duplicate(packet.start, packet.end);
                return Inserted::Discarded;
            }
            if before.merge(&packet) {
                self.memory += packet.memory - OVERHEAD;
                return Inserted::Merged;
            }
            if held.start == packet.start {
                self.extend_duplicate(held.start, held.end);
                place -= 1;
                self.remove(place);
            } else if packet.start < held.end {
                self.report_duplicate(packet.start, held.end);
            }
        }
        self.remove_covered(place, packet.end);
        self.memory += packet.memory;
        self.packets.insert(place, packet);
        Inserted::Alone
    }

    /// Removes the packets from `place` on that end before `end`, and reports what they held as duplicate.
    fn remove_covered(&mut self, place: usize, end: u64) {
        while let Some(next) = self.packets.get(place).copied().filter(|next| next.start < end) {
            self.extend_duplicate(next.start, next.end.min(end));
            if end < next.end {
                return;
            }
            self.remove(place);
        }
    }

    fn remove(&mut self, place: usize) {
        self.memory -= self.packets.remove(place).map_or(0, |packet| packet.memory);
    }

    /// Everything up to `rcv_nxt` is in order: gives the packets that follow without a hole to `take`
    /// (`tcp_ofo_queue`). Returns the new end.
    pub fn drain(&mut self, rcv_nxt: u64, mut take: impl FnMut(Packet)) -> u64 {
        let mut end = rcv_nxt;
        while let Some(packet) = self.packets.front().copied().filter(|packet| packet.start <= end) {
            if packet.start < rcv_nxt {
                self.extend_duplicate(packet.start, packet.end.min(rcv_nxt));
            }
            if packet.end > end {
                end = packet.end;
                take(packet);
            }
            self.remove(0);
        }
        self.forget_blocks(end);
        end
    }

    /// Discards everything behind a FIN.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.memory = 0;
        self.count = 0;
        self.late = None;
    }

    /// Discards packets from the far end, but none before `seq`, in steps of at least `goal` bytes until `excess` bytes
    /// are free (`tcp_prune_ofo_queue`).
    pub fn prune(&mut self, seq: u64, goal: u32, excess: u32) {
        let (mut freed, mut step) = (0, 0);
        while let Some(packet) = self.packets.back().copied().filter(|packet| packet.start >= seq) {
            self.packets.pop_back();
            freed += packet.memory;
            step += packet.memory;
            self.count = 0;
            self.late = None;
            if step >= goal {
                if freed >= excess {
                    break;
                }
                step = 0;
            }
        }
        self.memory -= freed;
    }

    /// Copies the packets of each range without a hole into packets of one page, where that frees memory
    /// (`tcp_collapse_ofo_queue`).
    pub fn pack(&mut self) {
        let mut old = mem::take(&mut self.packets);
        while let Some(first) = old.front().copied() {
            let (mut end, mut count, mut memory) = (first.end, 0, 0);
            while let Some(packet) = old.get(count).filter(|packet| packet.start <= end) {
                end = end.max(packet.end);
                memory += packet.memory;
                count += 1;
            }
            if memory > packed(end - first.start) {
                old.drain(..count);
                self.packets.extend(pages_of(first.start, end));
            } else {
                self.packets.extend(old.drain(..count));
            }
        }
        self.memory = self.packets.iter().map(|packet| packet.memory).sum();
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

    /// Adds `[start, end)` to the report after the next ACK. That one already has it if it extends a block; only its
    /// place in the report comes later (`tcp_sack_new_ofo_skb`).
    pub fn report_late(&mut self, start: u64, end: u64) {
        self.settle();
        let _ = self.blocks[..usize::from(self.count)].iter_mut().any(|block| extend(block, start, end));
        self.late = Some((start, end));
    }

    /// Does a block wait until the next ACK is sent?
    pub fn has_late_block(&self) -> bool {
        self.late.is_some()
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
        if self.packets.is_empty() {
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

/// Packets of one page each that hold `[start, end)`.
fn pages_of(start: u64, end: u64) -> impl Iterator<Item = Packet> {
    let starts = (start..end).step_by(usize::try_from(PAGE_PAYLOAD).unwrap_or(usize::MAX));
    starts.map(move |from| Packet {
        start: from,
        end: end.min(from + PAGE_PAYLOAD),
        memory: PAGE_MEMORY,
        pages: MAX_PAGES, // Their payload is in the header block, so none is merged.
    })
}

/// Memory of this payload after Linux has copied it into packets of one page each (`tcp_collapse`).
pub(super) fn packed(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(PAGE_PAYLOAD) * u64::from(PAGE_MEMORY)).unwrap_or(u32::MAX >> 1)
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
const PAGE_MEMORY: u32 = 4_352;
