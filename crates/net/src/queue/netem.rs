//! netem: network emulator (Linux `net/sched/sch_netem.c`, tc-netem(8)).
//!
//! On arrival a packet may be lost, duplicated or corrupted; then it gets the time at which it leaves the emulated
//! link. [`loss`] has the loss models, [`correlated_rng`] correlated random numbers, [`distribution`] the jitter
//! tables, [`prandom`] the kernel's generator, [`link`] packets by departure time, [`slot`] bursts.
//!
//! ```text
//!  packet -> duplicate? -> lost? -> corrupt? -> limit? -+--> link, until its time --+--> [inner] --> out
//!               |                                     |                           |
//!               +--> copy, at the tree's root         +--> front (reordered) -----+
//! ```
//!
//! A corrupted packet goes on with one bit flipped; [`Damage`] says which host drops it.

use super::bucket::{instant, nanos, span_nanos};
use super::call::{CallContext, QdiscContext};
use super::child::Child;
use super::stats::QdiscStats;
use super::{NetemConfig, NetemRate, Next, Verdict};
use crate::packet::{Damage, Packet, cut};
use crate::rng::Rng;
use crate::time::Time;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use correlated_rng::CorrelatedRng;
use distribution::Jitter;
use link::{LinkQueue, Tag};
use loss::LossModel;
use prandom::Prandom;
use slot::Slots;

mod correlated_rng;
pub mod distribution;
mod link;
mod loss;
pub(crate) mod prandom;
mod slot;
#[cfg(test)]
mod tests;

/// A network emulator.
#[derive(Debug)]
pub(super) struct Netem<Q> {
    limit: u32,
    jitter: Jitter,
    loss: LossModel,
    duplicate: CorrelatedRng,
    corrupt: CorrelatedRng,
    reorder: CorrelatedRng,
    gap: u32,
    /// Packets since the last reordered one.
    since_reordered: u32,
    rate: Option<NetemRate>,
    slots: Option<Box<Slots>>,
    /// Draws for loss, duplication and the rest; one seed gives the same stream here and in Linux.
    numbers: Prandom,
    /// Initial state of correlated streams; Linux takes it from another generator too.
    rng: Rng,
    link: LinkQueue,
    /// Packets that skip the link.
    front: VecDeque<(Tag, Packet)>,
    inner: Option<Box<Q>>,
}

impl<Q: Child> Netem<Q> {
    /// A netem with an empty link.
    pub fn new(config: &NetemConfig, context: &QdiscContext, handle: &str) -> Self {
        let mut rng = context.rng(handle);
        Self {
            limit: config.limit,
            jitter: Jitter::new(config, &mut rng),
            loss: LossModel::new(config.loss, &mut rng),
            duplicate: CorrelatedRng::new(config.duplicate, &mut rng),
            corrupt: CorrelatedRng::new(config.corrupt, &mut rng),
            reorder: reorder(config, &mut rng),
            gap: gap(config),
            since_reordered: 0,
            rate: config.rate,
            slots: slots(config),
            numbers: Prandom::seeded(config.seed.unwrap_or_else(|| rng.next_u64())),
            rng,
            link: LinkQueue::default(),
            front: VecDeque::new(),
            inner: config.inner.as_ref().map(|node| Box::new(Q::new(node, context))),
        }
    }

    /// Decides what happens to a packet. A lost packet counts as sent for its sender.
    pub fn enqueue(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        let duplicated = !ctx.is_copy && self.duplicate.hits_next(&mut self.numbers);
        let lost = self.loss.hits_next(&mut self.numbers);
        if lost && !duplicated {
            return drop_corrupted(packet, Verdict::Queued, stats, ctx);
        }
        let corrupted = self.corrupt.hits_next(&mut self.numbers);
        // The copy follows its original, which is queued already; in Linux it precedes it.
        let standing = stats.backlog.packets - u32::from(ctx.is_copy && stats.backlog.packets > 0);
        if standing >= self.limit {
            return drop_corrupted(packet, Verdict::Dropped, stats, ctx);
        }
        if duplicated && !lost {
            stats.counters.duplicated_packets += u64::from(packet.segments);
            stats.counters.duplicated_bytes += u64::from(packet.bytes);
            ctx.copies.push(*packet);
        }
        if corrupted && let Some(segments) = cut(*packet) {
            ctx.cuts += packet.segments - 1;
            self.admit_segments(segments, stats, ctx);
        } else {
            let packet = if corrupted { &self.flip_a_bit(packet) } else { packet };
            self.admit(packet, stats, ctx);
        }
        Verdict::Queued
    }

    /// Dequeues the next packet that is due.
    #[inline]
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let now_ns = nanos(ctx.now);
        if let Some((_, packet)) = self.front.pop_front() {
            stats.leave(packet.bytes);
            return Next::Packet(packet);
        }
        while let Some(tag) = self.link.first() {
            if self.opens_at(tag.due_ns, now_ns) > now_ns {
                break;
            }
            let packet = self.link.pop();
            if let Some(slots) = &mut self.slots {
                slots.left(packet.bytes, now_ns, &mut self.rng);
            }
            stats.leave(packet.bytes);
            match &mut self.inner {
                Some(inner) => enqueue_child(inner.as_mut(), &packet, tag.is_copy, stats, ctx),
                None => return Next::Packet(packet),
            }
        }
        self.dequeue_inner(stats, ctx)
    }

    /// The time at which the next packet leaves the link, if none leaves now and no child holds packets.
    #[inline]
    pub fn next_departure(&self, now: Time) -> Option<Time> {
        if self.inner.is_some() || self.slots.is_some() || !self.front.is_empty() {
            return None;
        }
        match self.link.first() {
            Some(tag) => (tag.due_ns > nanos(now)).then(|| instant(tag.due_ns)),
            None => Some(Time::NEVER),
        }
    }

    /// Applies new settings; packets on the link keep their times. The generator continues; correlated streams restart,
    /// as in Linux.
    pub fn change(&mut self, config: &NetemConfig) {
        let rng = &mut self.rng;
        self.limit = config.limit;
        self.jitter = Jitter::new(config, rng);
        self.loss.change(config.loss, rng);
        self.duplicate = CorrelatedRng::new(config.duplicate, rng);
        self.corrupt = CorrelatedRng::new(config.corrupt, rng);
        self.reorder = reorder(config, rng);
        self.gap = gap(config);
        self.since_reordered = 0;
        self.rate = config.rate;
        if self.slots.as_ref().map(|slots| slots.config()) != config.slot {
            self.slots = slots(config);
        }
        if let Some(seed) = config.seed {
            self.numbers = Prandom::seeded(seed);
        }
    }

    /// The child qdisc.
    pub fn inner(&self) -> Option<&Q> {
        self.inner.as_deref()
    }

    /// The child qdisc.
    pub fn inner_mut(&mut self) -> Option<&mut Q> {
        self.inner.as_deref_mut()
    }

    /// Corrupts only the first segment of a super-packet; the others are enqueued one by one.
    #[cold]
    fn admit_segments(
        &mut self,
        segments: impl Iterator<Item = Packet>,
        stats: &mut QdiscStats,
        ctx: &mut CallContext,
    ) {
        for (number, segment) in segments.enumerate() {
            if number == 0 {
                let segment = self.flip_a_bit(&segment);
                self.admit(&segment, stats, ctx);
            } else {
                self.enqueue(&segment, stats, ctx);
            }
        }
    }

    /// Flips a bit of the linear part; the checksums are complete by then (`skb_checksum_help`).
    fn flip_a_bit(&mut self, packet: &Packet) -> Packet {
        let damage = Damage::of_byte(self.rng.below(packet.linear_bytes()));
        Packet { damage: packet.damage.max(damage), ..*packet }
    }

    /// Assigns a packet its departure time, or makes it skip the link.
    #[inline]
    fn admit(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) {
        stats.add_packet(packet.bytes);
        let now_ns = nanos(ctx.now);
        let mut tag = Tag { due_ns: now_ns, is_copy: ctx.is_copy };
        if self.is_served() {
            tag.due_ns = self.departure(now_ns, packet.bytes);
            self.since_reordered = self.since_reordered.wrapping_add(1);
            self.link.insert(tag, packet);
        } else {
            self.since_reordered = 0;
            self.front.push_front((tag, *packet));
        }
    }

    fn is_served(&mut self) -> bool {
        self.gap == 0 || self.since_reordered < self.gap - 1 || !self.reorder.hits_next(&mut self.numbers)
    }

    /// The departure time of an arriving packet: after its delay, and with a rate also after the previous packet plus
    /// its own transmission time. The delay overlaps with waiting for the previous packet (`netem_enqueue`).
    fn departure(&mut self, now_ns: i64, bytes: u32) -> i64 {
        let delay_ns = self.jitter.draw(&mut self.numbers);
        let Some(rate) = self.rate else { return now_ns + delay_ns };
        let sending_ns = transmission_time(&rate, bytes);
        match self.link.last_departure().max(self.front.back().map(|(tag, _)| tag.due_ns)) {
            Some(last_ns) => last_ns + (delay_ns - (last_ns - now_ns)).max(0) + sending_ns,
            None => now_ns + delay_ns + sending_ns,
        }
    }

    /// The time at which a due packet may leave: immediately, or in its slot.
    #[inline]
    fn opens_at(&mut self, due_ns: i64, now_ns: i64) -> i64 {
        match &mut self.slots {
            None => due_ns,
            Some(slots) => slots.opens_at(due_ns, now_ns, &mut self.rng),
        }
    }

    /// No packet leaves the link now: dequeues the child, or returns the time of the next try.
    fn dequeue_inner(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let slot_ns = self.slots.as_ref().map_or(i64::MIN, |slots| slots.next_ns());
        let departs_at = self.link.first().map(|tag| instant(tag.due_ns.max(slot_ns)));
        let next = match &mut self.inner {
            Some(inner) => inner.with_parent_stats(stats, |inner| inner.dequeue(ctx)),
            None => Next::Empty,
        };
        match (next, departs_at) {
            (Next::At(time), Some(departs_at)) => Next::At(time.min(departs_at)),
            (Next::Empty, Some(departs_at)) => Next::At(departs_at),
            (next, _) => next,
        }
    }
}

/// Passes a packet from the link to the child, which may drop it.
fn enqueue_child(
    inner: &mut impl Child,
    packet: &Packet,
    is_copy: bool,
    stats: &mut QdiscStats,
    ctx: &mut CallContext,
) {
    let was_copy = core::mem::replace(&mut ctx.is_copy, is_copy);
    inner.with_parent_stats(stats, |inner| inner.enqueue(packet, ctx));
    ctx.is_copy = was_copy;
}

fn drop_corrupted(packet: &Packet, verdict: Verdict, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
    stats.counters.drops += 1;
    ctx.dropped.push(*packet);
    verdict
}

/// Transmission time of the bytes with overhead, in whole cells with theirs (`packet_time_ns`).
fn transmission_time(rate: &NetemRate, bytes: u32) -> i64 {
    let bytes = u64::from(bytes).saturating_add_signed(rate.packet_overhead.into());
    let bytes = match u64::from(rate.cell_size) {
        0 => bytes,
        size => bytes.div_ceil(size) * size.saturating_add_signed(rate.cell_overhead.into()),
    };
    span_nanos(rate.rate.time_for(bytes))
}

fn slots(config: &NetemConfig) -> Option<Box<Slots>> {
    config.slot.map(|slot| Box::new(Slots::new(slot)))
}

/// A gap without a probability always reorders (`netem_change`).
fn reorder(config: &NetemConfig, rng: &mut Rng) -> CorrelatedRng {
    let mut reorder = config.reorder;
    if config.gap > 0 && reorder.chance.0 == 0 {
        reorder.chance.0 = u32::MAX;
    }
    CorrelatedRng::new(reorder, rng)
}

/// A probability without a gap applies to every packet (`tc/q_netem.c`).
fn gap(config: &NetemConfig) -> u32 {
    if config.reorder.chance.0 > 0 { config.gap.max(1) } else { config.gap }
}
