//! Statistics of a qdisc, and how they propagate to its parents.
//!
//! In the kernel a child that drops a packet corrects its parents' counters (`qdisc_tree_reduce_backlog`). Here the
//! parent compares its child's statistics before and after each call and adds the difference.

use crate::packet::Packet;

/// Current backlog, as `tc -s` shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes.
    pub bytes: u64,
    /// Packets; a super-packet counts once.
    pub packets: u32,
}

/// Counters since the start, as `tc -s` shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent; a super-packet counts each of its segments, as `bstats_update` does.
    pub sent_packets: u64,
    /// Packets dropped here or in a child; a super-packet counts once.
    pub drops: u64,
    /// Packets marked CE here.
    pub marks: u64,
    /// Times that a shaper held a packet back (or that red selected a packet), counted as the kernel does.
    pub overlimits: u64,
    /// Packets that netem duplicated; a super-packet counts each of its segments.
    pub duplicated_packets: u64,
    /// Bytes of the packets that netem duplicated.
    pub duplicated_bytes: u64,
}

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
