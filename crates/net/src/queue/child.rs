//! A qdisc as its parent sees it.
//!
//! The kinds with children are generic over their type, so that they do not depend on the list of kinds.

use super::call::{CallContext, Peeked, QdiscContext};
use super::fifo::Fifo;
use super::stats::QdiscStats;
use super::{Next, Node, Verdict};
use crate::packet::Packet;

/// A child in a tree of qdiscs.
pub(super) trait Child: Sized {
    /// Builds a qdisc and its children.
    fn new(node: &Node, context: &QdiscContext) -> Self;

    /// A fifo that its parent creates; it has no handle.
    fn built_in(fifo: Fifo) -> Self;

    /// Backlog and counters, children included.
    fn stats(&self) -> &QdiscStats;

    /// The same, to change.
    fn stats_mut(&mut self) -> &mut QdiscStats;

    /// Enqueues a packet.
    fn enqueue(&mut self, packet: &Packet, ctx: &mut CallContext) -> Verdict;

    /// Dequeues the next packet and counts it.
    fn dequeue(&mut self, ctx: &mut CallContext) -> Next;

    /// The next packet's size, for kinds that can tell it without dequeueing.
    fn peek(&mut self, ctx: &mut CallContext) -> Option<Peeked>;

    /// Sets the limit of a fifo on behalf of its parent (`fifo_set_limit`).
    fn set_fifo_limit(&mut self, limit: u64);

    /// Whether the backlog is empty.
    #[inline]
    fn is_empty(&self) -> bool {
        self.stats().backlog.packets == 0
    }

    /// Calls this qdisc and adds its changes to the parent's statistics.
    #[inline]
    fn with_parent_stats<T>(&mut self, parent: &mut QdiscStats, call: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.stats().read();
        let answer = call(self);
        parent.follow(before, self.stats().read());
        answer
    }
}
