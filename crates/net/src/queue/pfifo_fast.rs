//! `pfifo_fast`: three bands by priority, each first in, first out (Linux `net/sched/sch_generic.c`).
//!
//! A packet's priority comes from its socket, or on a router from its TOS bits without ECN. All packets here have
//! priority 0, which is band 1 (`sch_default_prio2band`), so the other bands stay empty and one queue suffices.

use super::call::{CallContext, Peeked};
use super::fifo::Fifo;
use super::stats::QdiscStats;
use super::{Next, Verdict};
use crate::packet::Packet;

/// The band of priority 0.
#[derive(Debug)]
pub(super) struct PfifoFast {
    band: Fifo,
}

impl PfifoFast {
    /// An empty queue; a band holds as many packets as the device's queue length.
    pub const fn new(limit: u32) -> Self {
        Self { band: Fifo::of_packets(limit) }
    }

    /// Enqueues a packet if there is space.
    pub fn enqueue(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        self.band.enqueue(packet, stats, ctx)
    }

    /// Dequeues the oldest packet.
    pub fn dequeue(&mut self, stats: &mut QdiscStats) -> Next {
        self.band.dequeue(stats)
    }

    /// Peeks at the oldest packet.
    pub fn peek(&self) -> Peeked {
        self.band.peek()
    }
}
