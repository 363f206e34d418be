//! tbf: a packet leaves when one bucket, or two, can pay for it (Linux `net/sched/sch_tbf.c`).
//!
//! The first bucket holds `burst` bytes and fills at `rate`; the second, when there is one, is small and limits how
//! fast a burst leaves. A super-packet larger than a bucket is cut into its segments; another packet of that size dies.
//! Packets wait in the discipline below.

use super::bucket::{Bucket, instant, nanos};
use super::discipline::{Discipline, Lot, Turn};
use super::lookahead::{Ahead, Lookahead};
use super::tally::Tally;
use super::{Next, TbfConfig, Verdict};
use crate::packet::{Packet, cut};

#[cfg(test)]
mod tests;

/// A token bucket filter.
#[derive(Debug)]
pub(super) struct Tbf {
    bucket: Bucket,
    peak: Option<Bucket>,
    /// When the buckets were last reckoned (`t_c`).
    checked_ns: i64,
    /// Largest packet that a bucket can pay for (`max_size`).
    largest: u64,
    queue: Lookahead,
}

impl Tbf {
    /// With full buckets.
    pub fn new(config: &TbfConfig, lot: &Lot) -> Self {
        let queue = match &config.inner {
            Some(node) => Lookahead::new(Discipline::new(node, lot)),
            None => Lookahead::bfifo(config.limit),
        };
        let (bucket, peak) = buckets(config);
        Self { bucket, peak, checked_ns: 0, largest: largest(config), queue }
    }

    /// Hands a packet down, in pieces when it is too large.
    pub fn enqueue(&mut self, packet: &Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        if u64::from(packet.bytes) <= self.largest {
            return self.queue.enqueue(packet, tally, turn);
        }
        let Some(segments) = cut(*packet).filter(|_| self.pays_for_a_segment_of(packet)) else {
            tally.counters.drops += 1;
            turn.dropped.push(*packet);
            return Verdict::Dropped;
        };
        let before = tally.backlog.packets;
        for segment in segments {
            self.queue.enqueue(&segment, tally, turn);
        }
        if tally.backlog.packets > before { Verdict::Queued } else { Verdict::Dropped }
    }

    /// The next packet, when it can be paid for.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        let bytes = match self.queue.peek(tally, turn) {
            Ahead::Packet { bytes } => bytes,
            Ahead::At(time) => return Next::At(time),
            Ahead::Empty => return Next::Empty,
        };
        let now_ns = nanos(turn.now);
        let elapsed_ns = now_ns - self.checked_ns;
        let tokens_ns = self.bucket.after(elapsed_ns, bytes);
        let peak_ns = self.peak.as_mut().map_or(0, |peak| peak.after(elapsed_ns, bytes));
        let short_ns = -tokens_ns.min(peak_ns);
        if short_ns > 0 {
            tally.counters.overlimits += 1;
            return Next::At(instant(now_ns + short_ns));
        }
        self.pay(now_ns, tokens_ns, peak_ns);
        self.queue.take(tally, turn)
    }

    /// New rates and sizes: the buckets are full again, and the queue has the new limit (`tbf_change`).
    pub fn change(&mut self, config: &TbfConfig) {
        (self.bucket, self.peak) = buckets(config);
        self.largest = largest(config);
        self.queue.inner.set_fifo_limit(config.limit);
    }

    /// Where packets wait.
    pub const fn inner(&self) -> &Discipline {
        &self.queue.inner
    }

    /// Where packets wait.
    pub const fn inner_mut(&mut self) -> &mut Discipline {
        &mut self.queue.inner
    }

    fn pay(&mut self, now_ns: i64, tokens_ns: i64, peak_ns: i64) {
        self.checked_ns = now_ns;
        self.bucket.set(tokens_ns);
        if let Some(peak) = &mut self.peak {
            peak.set(peak_ns);
        }
    }

    /// Does the largest of its segments fit (`skb_gso_validate_mac_len`)?
    fn pays_for_a_segment_of(&self, packet: &Packet) -> bool {
        cut(*packet).is_some_and(|mut parts| parts.all(|part| u64::from(part.bytes) <= self.largest))
    }
}

fn buckets(config: &TbfConfig) -> (Bucket, Option<Bucket>) {
    let full = |rate, bytes| Bucket::full(rate, crate::rate::Rate::time_for(rate, bytes));
    (full(config.rate, config.burst), config.peak.map(|(rate, bytes)| full(rate, bytes)))
}

fn largest(config: &TbfConfig) -> u64 {
    config.peak.map_or(config.burst, |(_, bytes)| bytes.min(config.burst))
}
