//! One queue of sfq: packets, what it may send in its turn, and its red's average.

use crate::dice::Dice;
use crate::packet::Packet;
use crate::queue::red::early::Early;
use crate::queue::red::slope::Slope;
use alloc::collections::VecDeque;

/// A queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    pub packets: VecDeque<Packet>,
    bytes: u64,
    /// Bytes that it may still send in this turn.
    pub allot: i64,
    /// The hash's value that it belongs to.
    pub value: usize,
    /// Larger in the slot whose length changed later.
    pub changed: u64,
    /// The average in bytes, shifted left by `wlog`.
    average: u64,
    early: Early,
}

/// What red says about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Pass,
    Hit,
    HitHard,
}

impl Slot {
    /// Empty, for this value of the hash.
    pub fn of(value: usize) -> Self {
        Self { value, ..Self::default() }
    }

    /// A packet joins.
    pub fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    /// The oldest packet leaves, or the newest.
    pub fn pop(&mut self, oldest: bool) -> Option<Packet> {
        let packet = if oldest { self.packets.pop_front() } else { self.packets.pop_back() }?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Moves the average (`red_calc_qavg_no_idle_time`: a queue without packets has none).
    pub fn watch(&mut self, slope: &Slope) {
        self.average = slope.moved(self.average, self.bytes);
    }

    /// Moves the average for a packet that comes, and says what becomes of it.
    pub fn action(&mut self, slope: &Slope, dice: &mut Dice) -> Action {
        self.watch(slope);
        let outside = match (slope.is_below(self.average), slope.is_above(self.average)) {
            (true, _) => Action::Pass,
            (_, true) => Action::HitHard,
            _ if self.early.hits(slope, self.average, dice) => return Action::Hit,
            _ => return Action::Pass,
        };
        self.early.forget();
        outside
    }
}
