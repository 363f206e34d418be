//! tbf: a packet leaves when one or two token buckets suffice (Linux `net/sched/sch_tbf.c`).
//!
//! The first bucket holds `burst` bytes and fills at `rate`; the optional second is small and limits the rate of a
//! burst. A super-packet larger than a bucket is split into its segments; any other packet of that size is dropped.
//! Packets wait in the child qdisc.

use super::bucket::{Bucket, instant, nanos};
use super::call::{CallContext, Peeked, QdiscContext};
use super::child::Child;
use super::lookahead::Lookahead;
use super::stats::QdiscStats;
use super::{Next, TbfConfig, Verdict};
use crate::packet::{Packet, cut};

#[cfg(test)]
mod tests;

/// A token bucket filter.
#[derive(Debug)]
pub(super) struct Tbf<Q> {
    bucket: Bucket,
    peak: Option<Bucket>,
    /// Time of the last bucket update (`t_c`).
    checked_ns: i64,
    /// Largest packet that the buckets allow (`max_size`).
    largest: u64,
    queue: Lookahead<Q>,
}

impl<Q: Child> Tbf<Q> {
    /// A tbf with full buckets.
    pub fn new(config: &TbfConfig, context: &QdiscContext) -> Self {
        let queue = match &config.inner {
            Some(node) => Lookahead::new(Q::new(node, context)),
            None => Lookahead::bfifo(config.limit),
        };
        let (bucket, peak) = buckets(config);
        Self { bucket, peak, checked_ns: 0, largest: largest(config), queue }
    }

    /// Enqueues a packet in the child, split if it is too large.
    pub fn enqueue(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        if u64::from(packet.bytes) <= self.largest {
            return self.queue.enqueue(packet, stats, ctx);
        }
        let Some(segments) = cut(*packet).filter(|_| self.pays_for_a_segment_of(packet)) else {
            stats.counters.drops += 1;
            ctx.dropped.push(*packet);
            return Verdict::Dropped;
        };
        ctx.cuts += packet.segments - 1;
        let before = stats.backlog.packets;
        for segment in segments {
            self.queue.enqueue(&segment, stats, ctx);
        }
        if stats.backlog.packets > before { Verdict::Queued } else { Verdict::Dropped }
    }

    /// Dequeues the next packet if tokens suffice.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let bytes = match self.queue.peek(stats, ctx) {
            Peeked::Packet { bytes } => bytes,
            Peeked::At(time) => return Next::At(time),
            Peeked::Empty => return Next::Empty,
        };
        let now_ns = nanos(ctx.now);
        let elapsed_ns = now_ns - self.checked_ns;
        let tokens_ns = self.bucket.after(elapsed_ns, bytes);
        let peak_ns = self.peak.as_mut().map_or(0, |peak| peak.after(elapsed_ns, bytes));
        let short_ns = -tokens_ns.min(peak_ns);
        if short_ns > 0 {
            stats.counters.overlimits += 1;
            return Next::At(instant(now_ns + short_ns));
        }
        self.pay(now_ns, tokens_ns, peak_ns);
        self.queue.take(stats, ctx)
    }

    /// Applies new rates and sizes: the buckets are refilled and the child gets the new limit (`tbf_change`).
    pub fn change(&mut self, config: &TbfConfig) {
        (self.bucket, self.peak) = buckets(config);
        self.largest = largest(config);
        self.queue.inner.set_fifo_limit(config.limit);
    }

    /// The child qdisc.
    pub const fn inner(&self) -> &Q {
        &self.queue.inner
    }

    /// The child qdisc.
    pub const fn inner_mut(&mut self) -> &mut Q {
        &mut self.queue.inner
    }

    fn pay(&mut self, now_ns: i64, tokens_ns: i64, peak_ns: i64) {
        self.checked_ns = now_ns;
        self.bucket.set(tokens_ns);
        if let Some(peak) = &mut self.peak {
            peak.set(peak_ns);
        }
    }

    /// Whether its largest segment fits (`skb_gso_validate_mac_len`).
    fn pays_for_a_segment_of(&self, packet: &Packet) -> bool {
        cut(*packet).is_some_and(|mut parts| parts.all(|part| u64::from(part.bytes) <= self.largest))
    }
}

fn buckets(config: &TbfConfig) -> (Bucket, Option<Bucket>) {
    (Bucket::for_bytes(config.rate, config.burst), config.peak.map(|(rate, bytes)| Bucket::for_bytes(rate, bytes)))
}

fn largest(config: &TbfConfig) -> u64 {
    config.peak.map_or(config.burst, |(_, bytes)| bytes.min(config.burst))
}
