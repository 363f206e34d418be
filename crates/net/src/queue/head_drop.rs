//! `pfifo_head_drop`: a full queue drops its oldest packet to admit the newest (Linux `net/sched/sch_fifo.c`,
//! `pfifo_tail_enqueue`).

use super::call::{CallContext, Peeked};
use super::stats::QdiscStats;
use super::{Next, Verdict};
use crate::packet::Packet;
use alloc::collections::VecDeque;

/// A queue that drops at the head.
#[derive(Debug)]
pub(super) struct HeadDrop {
    packets: VecDeque<Packet>,
    limit: u32,
}

impl HeadDrop {
    /// An empty queue.
    pub const fn new(limit: u32) -> Self {
        Self { packets: VecDeque::new(), limit }
    }

    /// Enqueues a packet; a full queue drops the oldest.
    pub fn enqueue(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        if self.limit == 0 {
            stats.counters.drops += 1;
            ctx.dropped.push(*packet);
            return Verdict::Dropped;
        }
        let oldest = if stats.backlog.packets < self.limit { None } else { self.packets.pop_front() };
        if let Some(oldest) = oldest {
            stats.leave(oldest.bytes);
            stats.counters.drops += 1;
            ctx.dropped.push(oldest);
        }
        stats.add_packet(packet.bytes);
        self.packets.push_back(*packet);
        if oldest.is_some() { Verdict::Congested } else { Verdict::Queued }
    }

    /// Dequeues the oldest packet.
    pub fn dequeue(&mut self, stats: &mut QdiscStats) -> Next {
        let Some(packet) = self.packets.pop_front() else { return Next::Empty };
        stats.leave(packet.bytes);
        Next::Packet(packet)
    }

    /// Peeks at the oldest packet.
    pub fn peek(&self) -> Peeked {
        self.packets.front().map_or(Peeked::Empty, |packet| Peeked::Packet { bytes: packet.bytes })
    }

    /// Sets a new limit; packets beyond it stay.
    pub const fn change(&mut self, limit: u32) {
        self.limit = limit;
    }
}
