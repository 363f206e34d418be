//! One flow of fq: packets in order of departure, credit, and state.

use crate::packet::Packet;
use crate::time::Time;
use alloc::collections::VecDeque;

/// A flow. A socket's departure times never decrease, so packets stay in arrival order.
#[derive(Debug)]
pub(super) struct Flow {
    pub packets: VecDeque<Packet>,
    /// Bytes that it may still send in this round.
    pub credit: i64,
    pub state: FlowState,
    /// The band of its last packet; 0 before the first.
    pub band: usize,
    /// Earliest time of the next packet, whatever its departure time; zero before the first limit.
    pub next_at: Time,
}

/// Whether a flow is detached, listed or throttled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowState {
    /// In no list; since this jiffy, made odd as in Linux.
    Detached { since: u64 },
    /// In a list, or throttled.
    Listed,
}

impl Flow {
    /// An empty flow with this credit.
    pub const fn new(credit: i64, jiffy: u64) -> Self {
        let state = FlowState::Detached { since: jiffy };
        Self { packets: VecDeque::new(), credit, state, band: 0, next_at: Time::ZERO }
    }

    /// Departure time of its next packet; None if it is empty.
    pub fn departs_at(&self) -> Option<Time> {
        self.packets.front().map(|packet| packet.queued_at.max(self.next_at))
    }
}
