//! One queue of sfq: packets, allotment, and red's average.

use crate::packet::Packet;
use crate::queue::red::early::{Action, Early};
use crate::queue::red::slope::Slope;
use crate::rng::Rng;
use alloc::collections::VecDeque;

/// A queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    pub packets: VecDeque<Packet>,
    bytes: u64,
    /// Bytes that it may still send in this round.
    pub allot: i64,
    /// Its hash bucket.
    pub value: usize,
    /// Larger for the slot whose length changed later.
    pub changed: u64,
    /// Average in bytes, shifted left by `wlog`.
    average: u64,
    early: Early,
}

impl Slot {
    /// An empty queue of this hash bucket.
    pub fn of(value: usize) -> Self {
        Self { value, ..Self::default() }
    }

    /// Appends a packet.
    pub fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    /// Removes the oldest packet, or the newest.
    pub fn pop(&mut self, oldest: bool) -> Option<Packet> {
        let packet = if oldest { self.packets.pop_front() } else { self.packets.pop_back() }?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Updates the average (`red_calc_qavg_no_idle_time`: an empty queue has none).
    pub fn watch(&mut self, slope: &Slope) {
        self.average = slope.moved(self.average, self.bytes);
    }

    /// Updates the average for an arriving packet and decides about it.
    pub fn action(&mut self, slope: &Slope, rng: &mut Rng) -> Action {
        self.watch(slope);
        self.early.action(slope, self.average, rng)
    }
}
