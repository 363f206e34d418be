//! What a discipline counts, and how counts go up a tree.
//!
//! The kernel lets a child that drops behind its parent's back correct the parents (`qdisc_tree_reduce_backlog`).
//! Here a parent looks at its child's tally before and after it called it, and takes over the difference.

use super::{Backlog, Counters};
use crate::packet::Packet;

/// What stands in a discipline and below it, and what it has done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub backlog: Backlog,
    pub counters: Counters,
}

/// What a parent wants to know of its child's tally.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    backlog: Backlog,
    drops: u64,
}

impl Tally {
    /// One more packet stands here.
    pub const fn stand(&mut self, bytes: u32) {
        self.backlog.bytes += bytes as u64;
        self.backlog.packets += 1;
    }

    /// A packet stands here no longer.
    pub const fn leave(&mut self, bytes: u32) {
        self.backlog.bytes -= bytes as u64;
        self.backlog.packets -= 1;
    }

    /// A packet went out (`bstats_update`).
    pub fn sent(&mut self, packet: &Packet) {
        self.counters.sent_bytes += u64::from(packet.bytes);
        self.counters.sent_packets += u64::from(packet.segments);
    }

    /// What a parent compares later.
    pub const fn read(&self) -> Reading {
        Reading { backlog: self.backlog, drops: self.counters.drops }
    }

    /// Takes over what changed below.
    pub const fn follow(&mut self, before: Reading, after: Reading) {
        self.backlog.bytes = self.backlog.bytes + after.backlog.bytes - before.backlog.bytes;
        self.backlog.packets = self.backlog.packets + after.backlog.packets - before.backlog.packets;
        self.counters.drops += after.drops - before.drops;
    }
}
