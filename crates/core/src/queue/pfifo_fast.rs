//! `pfifo_fast`: three bands by a packet's priority, each first in, first out (Linux `net/sched/sch_generic.c`).
//!
//! A packet's priority comes from its socket, or on a router from its TOS bits without those of ECN. All of ours have
//! priority 0, which is band 1 (`sch_default_prio2band`), so two of the bands are always empty and this is one queue.

use super::discipline::Turn;
use super::fifo::Fifo;
use super::lookahead::Ahead;
use super::tally::Tally;
use super::{Next, Verdict};
use crate::packet::Packet;

/// The band of priority 0.
#[derive(Debug)]
pub(super) struct PfifoFast {
    band: Fifo,
}

impl PfifoFast {
    /// Empty; a band holds as many packets as the device's queue is long.
    pub const fn new(limit: u32) -> Self {
        Self { band: Fifo::of_packets(limit) }
    }

    /// Lets a packet in while there is room.
    pub fn enqueue(&mut self, packet: &Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        self.band.enqueue(packet, tally, turn)
    }

    /// The oldest packet.
    pub fn dequeue(&mut self, tally: &mut Tally) -> Next {
        self.band.dequeue(tally)
    }

    /// What the oldest packet is.
    pub fn peek(&self) -> Ahead {
        self.band.peek()
    }
}
