//! In-network telemetry: what the links on a packet's way wrote down when it left them (HPCC section 3.1).
//!
//! A stack has a hop for each link that stamps, in the packet's order. It travels beside the packet, not in it: who
//! keeps it, and how it comes back with the acknowledgement, is the world's affair.

use crate::rate::Rate;
use crate::time::Time;

/// What a link wrote down when a packet left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// When.
    pub at: Time,
    /// Bytes that stood in its queue then, without the packet.
    pub queue_bytes: u64,
    /// Bytes that had left it so far, with the packet.
    pub sent_bytes: u64,
    /// The rate that it sends at.
    pub rate: Rate,
}

/// Most links that one packet's stack has room for.
pub const MOST_HOPS: usize = 8;

/// The stamps of one packet, in the order of its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    hops: [Hop; MOST_HOPS],
    count: u8,
}

impl Stack {
    /// Appends a hop while there is room.
    pub fn push(&mut self, hop: Hop) {
        if let Some(place) = self.hops.get_mut(usize::from(self.count)) {
            *place = hop;
            self.count += 1;
        }
    }

    /// The hops so far.
    #[must_use]
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..usize::from(self.count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_holds_eight_hops_in_their_order() {
        let mut stack = Stack::default();
        for bytes in 0..10 {
            stack.push(Hop { sent_bytes: bytes, ..Hop::default() });
        }
        assert!(stack.hops().iter().map(|hop| hop.sent_bytes).eq(0..8));
    }
}
