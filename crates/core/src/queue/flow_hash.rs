//! Maps flows to queues by a hash (`skb_get_hash`); two flows may share a queue. The two directions of a flow hash
//! separately.

use crate::packet::{Direction, Packet};
use crate::rng::Rng;

/// A hash keyed per run.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowHash {
    secret: u64,
}

impl FlowHash {
    /// A key drawn from the random stream.
    pub fn new(rng: &mut Rng) -> Self {
        Self { secret: rng.next_u64() }
    }

    /// A number below `queues`, the same for all packets of a flow (`reciprocal_scale`).
    pub fn queue_of(self, packet: &Packet, queues: usize) -> usize {
        let direction = u64::from(packet.direction == Direction::Backward);
        let hash = mixed(((u64::from(packet.flow.0) << 1) | direction) ^ self.secret) >> 32;
        usize::try_from((hash * queues as u64) >> 32).expect("it is less than the number of queues")
    }
}

/// Mixes the bits of a number (the finalizer of splitmix64).
pub(super) const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
