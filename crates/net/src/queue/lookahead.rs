//! A child that its parent peeks before it dequeues: tbf compares the packet's size with its tokens.
//!
//! A fifo can show its head. Any other qdisc must dequeue the packet, so it is held here and still counts in the
//! child's backlog (`qdisc_peek_dequeued`, Linux `include/net/sch_generic.h`).

use super::call::{CallContext, Peeked};
use super::child::Child;
use super::fifo::Fifo;
use super::stats::QdiscStats;
use super::{Next, Verdict};
use crate::packet::Packet;

/// A child and the packet that was peeked.
#[derive(Debug)]
pub(super) struct Lookahead<Q> {
    pub inner: Q,
    held: Option<Packet>,
}

impl<Q: Child> Lookahead<Q> {
    /// Nothing is held yet.
    pub const fn new(inner: Q) -> Self {
        Self { inner, held: None }
    }

    /// The default child: a bfifo.
    pub fn bfifo(limit: u64) -> Self {
        Self::new(Q::built_in(Fifo::of_bytes(limit)))
    }

    /// Enqueues a packet in the child.
    pub fn enqueue(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        self.inner.with_parent_stats(stats, |inner| inner.enqueue(packet, ctx))
    }

    /// Peeks at what [`Self::take`] will return.
    pub fn peek(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Peeked {
        if let Some(packet) = &self.held {
            return Peeked::Packet { bytes: packet.bytes };
        }
        let held = &mut self.held;
        self.inner.with_parent_stats(stats, |inner| inner.peek(ctx).unwrap_or_else(|| hold(inner, held, ctx)))
    }

    /// Dequeues the next packet.
    pub fn take(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let held = self.held.take();
        self.inner.with_parent_stats(stats, |inner| match held {
            Some(packet) => {
                inner.stats_mut().leave(packet.bytes);
                Next::Packet(packet)
            }
            None => inner.dequeue(ctx),
        })
    }
}

fn hold(inner: &mut impl Child, held: &mut Option<Packet>, ctx: &mut CallContext) -> Peeked {
    match inner.dequeue(ctx) {
        Next::Packet(packet) => {
            inner.stats_mut().add_packet(packet.bytes);
            *held = Some(packet);
            Peeked::Packet { bytes: packet.bytes }
        }
        Next::At(time) => Peeked::At(time),
        Next::Empty => Peeked::Empty,
    }
}
