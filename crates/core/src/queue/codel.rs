//! codel: one queue, one control loop (RFC 8289; Linux `net/sched/sch_codel.c`).

use super::control::{Bin, Control, Params};
use super::discipline::Turn;
use super::tally::Tally;
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
    /// Empty.
    pub fn new(config: &CodelConfig) -> Self {
        Self { packets: VecDeque::new(), limit: config.limit, params: Params::new(config), control: Control::default() }
    }

    /// Lets a packet in while there is room.
    pub fn enqueue(&mut self, mut packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        if tally.backlog.packets >= self.limit {
            tally.counters.drops += 1;
            turn.dropped.push(packet);
            return Verdict::Dropped;
        }
        packet.queued_at = turn.now;
        tally.stand(packet.bytes);
        self.packets.push_back(packet);
        Verdict::Queued
    }

    /// The oldest packet that has not waited too long.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        let mut bin = Head { packets: &mut self.packets, tally, dropped: turn.dropped };
        self.control.next(&self.params, turn.now, &mut bin).map_or(Next::Empty, Next::Packet)
    }

    /// New settings. Linux drops what stands beyond a smaller limit: here it stays.
    pub fn change(&mut self, config: &CodelConfig) {
        self.limit = config.limit;
        self.params = Params::new(config);
    }
}

/// The queue as its control loop sees it.
struct Head<'a> {
    packets: &'a mut VecDeque<Packet>,
    tally: &'a mut Tally,
    dropped: &'a mut Vec<Packet>,
}

impl Bin for Head<'_> {
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.tally.leave(packet.bytes);
        Some(packet)
    }

    fn backlog_bytes(&self) -> u64 {
        self.tally.backlog.bytes
    }

    fn kill(&mut self, packet: Packet) {
        self.tally.counters.drops += 1;
        self.dropped.push(packet);
    }

    fn marked(&mut self) {
        self.tally.counters.marks += 1;
    }
}
