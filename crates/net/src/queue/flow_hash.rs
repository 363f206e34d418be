//! Maps flows to queues by a hash (`skb_get_hash`); two flows may share a queue. The two directions of a flow hash
//! separately. A TCP packet has the hash of its socket, which every retransmission timeout draws again.

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
        self.scaled(hash_input(packet), queues)
    }

    /// The same by addresses and ports alone.
    pub fn queue_of_addresses(self, packet: &Packet, queues: usize) -> usize {
        self.scaled(flow_input(packet), queues)
    }

    fn scaled(self, input: u64, queues: usize) -> usize {
        let hash = u64::from(self.hash_of_number(input));
        usize::try_from((hash * queues as u64) >> 32).expect("it is less than the number of queues")
    }

    /// 32 bits by addresses and ports (`skb_get_hash_perturb`).
    pub fn hash_of(self, packet: &Packet) -> u32 {
        self.hash_of_number(flow_input(packet))
    }

    /// 32 bits, the same for equal numbers.
    pub fn hash_of_number(self, number: u64) -> u32 {
        u32::try_from(mixed(number ^ self.secret) >> 32).expect("32 bits")
    }
}

/// What is hashed of a packet: its flow, direction, and the draws of its socket.
pub(super) fn hash_input(packet: &Packet) -> u64 {
    u64::from(packet.rehashes) << 41 | flow_input(packet)
}

/// The same for a hash of addresses and ports (`skb_get_hash_perturb`), which a socket does not draw again.
pub(super) fn flow_input(packet: &Packet) -> u64 {
    (u64::from(packet.flow.0) << 1) | u64::from(packet.direction == Direction::Backward)
}

/// Mixes the bits of a number (the finalizer of splitmix64).
pub(super) const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
