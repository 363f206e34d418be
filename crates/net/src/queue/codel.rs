//! codel: one queue, one control loop (RFC 8289; Linux `net/sched/sch_codel.c`).

use super::call::CallContext;
use super::control::{Control, PacketSource, Params};
use super::stats::QdiscStats;
use super::{CodelConfig, Next, Verdict};
use crate::packet::Packet;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A queue with a control loop at its head.
#[derive(Debug)]
pub(super) struct Codel {
    packets: VecDeque<Packet>,
    limit: u32,
    params: Params,
    control: Control,
}

impl Codel {
    /// An empty queue.
    pub fn new(config: &CodelConfig) -> Self {
        Self { packets: VecDeque::new(), limit: config.limit, params: Params::new(config), control: Control::default() }
    }

    /// Enqueues a packet if there is space.
    pub fn enqueue(&mut self, mut packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        if stats.backlog.packets >= self.limit {
            stats.counters.drops += 1;
            ctx.dropped.push(packet);
            return Verdict::Dropped;
        }
        packet.queued_at = ctx.now;
        stats.add_packet(packet.bytes);
        self.packets.push_back(packet);
        Verdict::Queued
    }

    /// Dequeues the next packet that the control loop passes.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let mut source = Head { packets: &mut self.packets, stats, dropped: ctx.dropped };
        self.control.next(&self.params, ctx.now, &mut source).map_or(Next::Empty, Next::Packet)
    }

    /// Applies new settings. Linux drops packets beyond a smaller limit; here they stay.
    pub fn change(&mut self, config: &CodelConfig) {
        self.limit = config.limit;
        self.params = Params::new(config);
    }
}

/// The control loop's access to the queue.
struct Head<'a> {
    packets: &'a mut VecDeque<Packet>,
    stats: &'a mut QdiscStats,
    dropped: &'a mut Vec<Packet>,
}

impl PacketSource for Head<'_> {
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.stats.leave(packet.bytes);
        Some(packet)
    }

    fn backlog_bytes(&self) -> u64 {
        self.stats.backlog.bytes
    }

    fn drop_packet(&mut self, packet: Packet) {
        self.stats.counters.drops += 1;
        self.dropped.push(packet);
    }

    fn marked(&mut self) {
        self.stats.counters.marks += 1;
    }
}
