//! What a call into a tree of qdiscs takes along, what a qdisc is built from, and the results of calls.

use crate::packet::Packet;
use crate::rng::Rng;
use crate::time::Time;
use alloc::format;
use alloc::vec::Vec;

/// Result of enqueueing a packet (Linux's `NET_XMIT_*`). A sender on the same host gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is queued (or netem lost it, which a sender cannot distinguish).
    Queued,
    /// The packet was dropped.
    Dropped,
    /// The packet is queued, but another packet was dropped for it.
    Congested,
}

/// Result of dequeueing.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// This packet leaves now.
    Packet(Packet),
    /// No packet yet; dequeue again at this time.
    At(Time),
    /// The queue is empty.
    Empty,
}

/// The device that a queue is attached to, as far as qdiscs need to know it.
#[derive(Clone, Copy, Debug)]
pub struct DeviceContext<'a> {
    /// Seed of the run.
    pub seed: u64,
    /// Name of the device; it names the random streams.
    pub name: &'a str,
    /// Whether packets come from sockets of this host and carry departure times.
    pub is_home: bool,
    /// Sender's and receiver's host of every flow, for qdiscs that isolate hosts; may be shorter than the list of
    /// flows.
    pub ends: &'a [[u32; 2]],
}

/// Why a change failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// No qdisc or class has this handle.
    Unknown,
    /// The qdisc is of another kind.
    OtherKind,
}

/// Context of one call into a tree.
#[derive(Debug)]
pub(super) struct CallContext<'a> {
    pub now: Time,
    /// Packets dropped by this call.
    pub dropped: &'a mut Vec<Packet>,
    /// Packets that a qdisc made of the enqueued one beyond the first, because it splits super-packets.
    pub cuts: u16,
    /// Copies made by netem; the tree's owner enqueues them at the root.
    pub copies: &'a mut Vec<Packet>,
    /// Whether the packet is such a copy. Copies are not duplicated again (Linux's `tc_depth`).
    pub is_copy: bool,
}

impl CallContext<'_> {
    /// Jiffies since the qdisc was created, which is in the jiffy before the experiment starts (the agent's
    /// `Clock::start_on_jiffy`).
    pub const fn age_jiffies(&self) -> u64 {
        self.now.jiffies() + 1
    }
}

/// Context from which a qdisc is built.
pub(super) type QdiscContext<'a> = DeviceContext<'a>;

impl DeviceContext<'_> {
    /// Random stream of the qdisc with this handle.
    pub(super) fn rng(&self, handle: &str) -> Rng {
        Rng::from_name(self.seed, &format!("{}.{handle}", self.name))
    }
}

/// Result of peeking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peeked {
    /// A packet of this size is next.
    Packet { bytes: u32 },
    /// No packet before this time.
    At(Time),
    /// The queue is empty.
    Empty,
}
