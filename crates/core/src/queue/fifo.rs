//! pfifo and bfifo: first in, first out, up to so many packets or bytes (Linux `net/sched/sch_fifo.c`).

use super::discipline::Turn;
use super::lookahead::Ahead;
use super::tally::Tally;
use super::{ChangeError, Config, Next, Verdict};
use crate::packet::Packet;
use alloc::collections::VecDeque;

/// A queue with a limit.
#[derive(Debug)]
pub(super) struct Fifo {
    packets: VecDeque<Packet>,
    limit: Limit,
}

/// What a fifo's limit counts.
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

    /// Lets a packet in while there is room. Only disciplines that ask how long it stood note when it came.
    #[inline]
    pub fn enqueue(&mut self, packet: &Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        if !self.has_room(packet.bytes, tally) {
            tally.counters.drops += 1;
            turn.dropped.push(*packet);
            return Verdict::Dropped;
        }
        tally.stand(packet.bytes);
        self.packets.push_back(*packet);
        Verdict::Queued
    }

    /// The oldest packet.
    #[inline]
    pub fn dequeue(&mut self, tally: &mut Tally) -> Next {
        let Some(packet) = self.packets.pop_front() else { return Next::Empty };
        tally.leave(packet.bytes);
        Next::Packet(packet)
    }

    /// What the oldest packet is.
    pub fn peek(&self) -> Ahead {
        self.packets.front().map_or(Ahead::Empty, |packet| Ahead::Packet { bytes: packet.bytes })
    }

    /// tc's name for it.
    pub const fn kind(&self) -> &'static str {
        match self.limit {
            Limit::Packets(_) => "pfifo",
            Limit::Bytes(_) => "bfifo",
        }
    }

    /// A new limit; what stands beyond it stays.
    pub const fn change(&mut self, config: &Config) -> Result<(), ChangeError> {
        match (&mut self.limit, config) {
            (Limit::Packets(limit), Config::Pfifo { limit: new }) => *limit = *new,
            (Limit::Bytes(limit), Config::Bfifo { limit: new }) => *limit = *new,
            _ => return Err(ChangeError::OtherKind),
        }
        Ok(())
    }

    /// A parent's limit in whatever this fifo counts (`fifo_set_limit` does not ask).
    pub fn set_limit(&mut self, limit: u64) {
        match &mut self.limit {
            Limit::Packets(packets) => *packets = u32::try_from(limit).unwrap_or(u32::MAX),
            Limit::Bytes(bytes) => *bytes = limit,
        }
    }

    fn has_room(&self, bytes: u32, tally: &Tally) -> bool {
        match self.limit {
            Limit::Packets(limit) => tally.backlog.packets < limit,
            Limit::Bytes(limit) => tally.backlog.bytes + u64::from(bytes) <= limit,
        }
    }
}
