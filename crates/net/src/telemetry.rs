//! In-network telemetry: what each link on a packet's path recorded when the packet left it (HPCC section 3.1).
//!
//! A stack has one hop per stamping link, in path order. It travels next to the packet, not in it; the simulator stores
//! it and returns it with the acknowledgement.

use crate::rate::Rate;
use crate::time::Time;

/// What a link recorded when a packet left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// Time of departure.
    pub at: Time,
    /// Bytes in the link's queue at that time, without the packet.
    pub queue_bytes: u64,
    /// Bytes sent by the link so far, including the packet.
    pub sent_bytes: u64,
    /// The link's rate.
    pub rate: Rate,
}

/// Capacity of a packet's stack, in hops.
pub const MAX_HOPS: usize = 8;

/// The hops of one packet, in path order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    hops: [Hop; MAX_HOPS],
    count: u8,
}

impl Stack {
    /// Appends a hop if there is space.
    pub fn push(&mut self, hop: Hop) {
        if let Some(slot) = self.hops.get_mut(usize::from(self.count)) {
            *slot = hop;
            self.count += 1;
        }
    }

    /// The hops recorded so far.
    #[must_use]
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..usize::from(self.count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_holds_the_first_eight_hops_in_order() {
        let mut stack = Stack::default();
        for bytes in 0..10 {
            stack.push(Hop { sent_bytes: bytes, ..Hop::default() });
        }
        assert!(stack.hops().iter().map(|hop| hop.sent_bytes).eq(0..8));
    }
}
