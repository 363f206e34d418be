//! `pfifo_head_drop`: first in, first out; a full queue loses its oldest packet for the newest (Linux
//! `net/sched/sch_fifo.c`, `pfifo_tail_enqueue`).

use super::discipline::Turn;
use super::lookahead::Ahead;
use super::tally::Tally;
use super::{Next, Verdict};
use crate::packet::Packet;
use alloc::collections::VecDeque;

/// A queue that forgets its oldest.
#[derive(Debug)]
pub(super) struct HeadDrop {
    packets: VecDeque<Packet>,
    limit: u32,
}

impl HeadDrop {
    /// Empty.
    pub const fn new(limit: u32) -> Self {
        Self { packets: VecDeque::new(), limit }
    }

    /// Lets a packet in; without room the oldest one dies for it.
    pub fn enqueue(&mut self, packet: &Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        if self.limit == 0 {
            tally.counters.drops += 1;
            turn.dropped.push(*packet);
            return Verdict::Dropped;
        }
        let oldest = if tally.backlog.packets < self.limit { None } else { self.packets.pop_front() };
        if let Some(oldest) = oldest {
            tally.leave(oldest.bytes);
            tally.counters.drops += 1;
            turn.dropped.push(oldest);
        }
        tally.stand(packet.bytes);
        self.packets.push_back(*packet);
        if oldest.is_some() { Verdict::Congested } else { Verdict::Queued }
    }

    /// The oldest packet.
    pub fn dequeue(&mut self, tally: &mut Tally) -> Next {
        let Some(packet) = self.packets.pop_front() else { return Next::Empty };
        tally.leave(packet.bytes);
        Next::Packet(packet)
    }

    /// What the oldest packet is.
    pub fn peek(&self) -> Ahead {
        self.packets.front().map_or(Ahead::Empty, |packet| Ahead::Packet { bytes: packet.bytes })
    }

    /// A new limit; what stands beyond it stays.
    pub const fn change(&mut self, limit: u32) {
        self.limit = limit;
    }
}
