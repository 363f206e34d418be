//! Which queue a flow belongs to, for disciplines that tell flows apart by a hash (`skb_get_hash`): two flows may share
//! one. Both directions of a flow are flows of their own.

use crate::dice::Dice;
use crate::packet::{Direction, Packet};

/// A hash that is another one in every run.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowHash {
    secret: u64,
}

impl FlowHash {
    /// One that nobody could foresee.
    pub fn new(dice: &mut Dice) -> Self {
        Self { secret: dice.long() }
    }

    /// A number below `queues`, the same for all packets of a flow (`reciprocal_scale`).
    pub fn queue_of(self, packet: &Packet, queues: usize) -> usize {
        let direction = u64::from(packet.direction == Direction::Backward);
        let hash = mixed(((u64::from(packet.flow.0) << 1) | direction) ^ self.secret) >> 32;
        usize::try_from((hash * queues as u64) >> 32).expect("it is less than the number of queues")
    }
}

/// Spreads the bits of a number over all of it (the finisher of splitmix64).
pub(super) const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
