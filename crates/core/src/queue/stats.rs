//! Statistics of a qdisc, and how they propagate to its parents.
//!
//! In the kernel a child that drops a packet corrects its parents' counters (`qdisc_tree_reduce_backlog`). Here the
//! parent compares its child's statistics before and after each call and adds the difference.

use super::{Backlog, Counters};
use crate::packet::Packet;

/// Backlog and counters of a qdisc, its children included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QdiscStats {
    pub backlog: Backlog,
    pub counters: Counters,
}

/// The part of a child's statistics that its parent follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatsSnapshot {
    backlog: Backlog,
    drops: u64,
}

impl QdiscStats {
    /// Counts a packet into the backlog.
    pub const fn add_packet(&mut self, bytes: u32) {
        self.backlog.bytes += bytes as u64;
        self.backlog.packets += 1;
    }

    /// Counts a packet out of the backlog.
    pub const fn leave(&mut self, bytes: u32) {
        self.backlog.bytes -= bytes as u64;
        self.backlog.packets -= 1;
    }

    /// Counts a sent packet (`bstats_update`).
    pub fn sent(&mut self, packet: &Packet) {
        self.counters.sent_bytes += u64::from(packet.bytes);
        self.counters.sent_packets += u64::from(packet.segments);
    }

    /// Values for a later [`Self::follow`].
    pub const fn read(&self) -> StatsSnapshot {
        StatsSnapshot { backlog: self.backlog, drops: self.counters.drops }
    }

    /// Adds a child's changes.
    pub const fn follow(&mut self, before: StatsSnapshot, after: StatsSnapshot) {
        self.backlog.bytes = self.backlog.bytes + after.backlog.bytes - before.backlog.bytes;
        self.backlog.packets = self.backlog.packets + after.backlog.packets - before.backlog.packets;
        self.counters.drops += after.drops - before.drops;
    }
}
