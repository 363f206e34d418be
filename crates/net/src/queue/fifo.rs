//! pfifo and bfifo: first in, first out, limited in packets or bytes (Linux `net/sched/sch_fifo.c`).

use super::call::{CallContext, Peeked};
use super::stats::QdiscStats;
use super::{ChangeError, Config, Next, Verdict};
use crate::packet::Packet;
use alloc::collections::VecDeque;

/// A queue with a limit.
#[derive(Debug)]
pub(super) struct Fifo {
    packets: VecDeque<Packet>,
    limit: Limit,
}

/// Unit of the limit.
#[derive(Clone, Copy, Debug)]
enum Limit {
    Packets(u32),
    Bytes(u64),
}

impl Fifo {
    /// pfifo.
    pub const fn of_packets(limit: u32) -> Self {
        Self { packets: VecDeque::new(), limit: Limit::Packets(limit) }
    }

    /// bfifo.
    pub const fn of_bytes(limit: u64) -> Self {
        Self { packets: VecDeque::new(), limit: Limit::Bytes(limit) }
    }

    /// Enqueues a packet if there is space. Only qdiscs that use sojourn time record the arrival time.
    #[inline]
    pub fn enqueue(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        if !self.fits(packet.bytes, stats) {
            stats.counters.drops += 1;
            ctx.dropped.push(*packet);
            return Verdict::Dropped;
        }
        stats.add_packet(packet.bytes);
        self.packets.push_back(*packet);
        Verdict::Queued
    }

    /// Dequeues the oldest packet.
    #[inline]
    pub fn dequeue(&mut self, stats: &mut QdiscStats) -> Next {
        let Some(packet) = self.packets.pop_front() else { return Next::Empty };
        stats.leave(packet.bytes);
        Next::Packet(packet)
    }

    /// Peeks at the oldest packet.
    pub fn peek(&self) -> Peeked {
        self.packets.front().map_or(Peeked::Empty, |packet| Peeked::Packet { bytes: packet.bytes })
    }

    /// Name in tc.
    pub const fn kind(&self) -> &'static str {
        match self.limit {
            Limit::Packets(_) => "pfifo",
            Limit::Bytes(_) => "bfifo",
        }
    }

    /// Sets a new limit; packets beyond it stay.
    pub const fn change(&mut self, config: &Config) -> Result<(), ChangeError> {
        match (&mut self.limit, config) {
            (Limit::Packets(limit), Config::Pfifo { limit: new }) => *limit = *new,
            (Limit::Bytes(limit), Config::Bfifo { limit: new }) => *limit = *new,
            _ => return Err(ChangeError::OtherKind),
        }
        Ok(())
    }

    /// Sets the limit in this fifo's unit on behalf of its parent (`fifo_set_limit` does not check the kind either).
    pub fn set_limit(&mut self, limit: u64) {
        match &mut self.limit {
            Limit::Packets(packets) => *packets = u32::try_from(limit).unwrap_or(u32::MAX),
            Limit::Bytes(bytes) => *bytes = limit,
        }
    }

    fn fits(&self, bytes: u32, stats: &QdiscStats) -> bool {
        match self.limit {
            Limit::Packets(limit) => stats.backlog.packets < limit,
            Limit::Bytes(limit) => stats.backlog.bytes + u64::from(bytes) <= limit,
        }
    }
}
