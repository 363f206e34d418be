//! One flow of a fq: its packets in order of departure, what it may send in this round, and where it stands.

use crate::packet::Packet;
use crate::time::Time;
use alloc::collections::VecDeque;

/// A flow. A socket never takes a departure time back, so that its packets are in order as they come.
#[derive(Debug)]
pub(super) struct Flow {
    pub packets: VecDeque<Packet>,
    /// Bytes that it may send before the next one's turn.
    pub credit: i64,
    pub standing: Standing,
    /// Not before this, whatever its packets say; zero before the first limit.
    pub next_at: Time,
}

/// Is a flow in a list, or among those that wait?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// In none; since when, in jiffies, made odd as Linux makes them.
    Detached { since: u64 },
    /// In one of the lists, or waiting.
    Listed,
}

impl Flow {
    /// Empty, with so much to begin with.
    pub const fn new(credit: i64, jiffy: u64) -> Self {
        Self { packets: VecDeque::new(), credit, standing: Standing::Detached { since: jiffy }, next_at: Time::ZERO }
    }

    /// When its next packet may leave; None when it has none.
    pub fn due(&self) -> Option<Time> {
        self.packets.front().map(|packet| packet.queued_at.max(self.next_at))
    }
}
