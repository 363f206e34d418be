//! sfq: flow queues by hash, round robin with a quantum each (`McKenney` 1990; Linux `net/sched/sch_sfq.c`).
//!
//! There are `divisor` hash buckets and `flows` queues; a bucket takes a queue with its first packet and returns it
//! after its last. Over the limit, the longest queue drops a packet. Each queue may have its own red. [`slot`] is one
//! queue.

use super::call::{CallContext, QdiscContext};
use super::flow_hash::FlowHash;
use super::red::early::Action;
use super::red::slope::Slope;
use super::stats::QdiscStats;
use super::{Next, SfqConfig, Verdict};
use crate::packet::{Ecn, Packet};
use crate::rng::Rng;
use crate::time::Time;
use crate::wheel;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use slot::Slot;

mod slot;
#[cfg(test)]
mod tests;

/// Queues by flow.
#[derive(Debug)]
pub(super) struct Sfq {
    slots: Vec<Slot>,
    /// Slot of each hash bucket.
    table: Vec<Option<usize>>,
    /// Free slots; the last one returned is taken first.
    free: Vec<usize>,
    /// Active slots in order of service.
    round: VecDeque<usize>,
    limit: u32,
    depth: usize,
    quantum: i64,
    headdrop: bool,
    red: Option<Red>,
    /// Counts changes of length: of two equally long slots, the one that changed last drops.
    changes: u64,
    hash: FlowHash,
    perturb: Option<Perturb>,
    rng: Rng,
}

/// What red does in each queue.
#[derive(Debug)]
struct Red {
    slope: Slope,
    ecn: bool,
    harddrop: bool,
}

/// When the hash changes.
#[derive(Clone, Copy, Debug)]
struct Perturb {
    next: Time,
    period_jiffies: u64,
}

impl Sfq {
    /// Empty queues.
    pub fn new(config: &SfqConfig, context: &QdiscContext, handle: &str) -> Self {
        let (flows, divisor) = (to_usize(config.flows.min(MAX_FLOWS)), to_usize(config.divisor.clamp(1, MAX_DIVISOR)));
        let mut rng = context.rng(handle);
        let period_jiffies = u64::from(config.perturb) * crate::time::HZ;
        Self {
            slots: alloc::vec![Slot::default(); flows],
            table: alloc::vec![None; divisor],
            free: (0..flows).collect(),
            round: VecDeque::new(),
            limit: config.limit,
            depth: to_usize(config.depth.min(MAX_DEPTH)),
            quantum: config.quantum.max(MIN_QUANTUM).into(),
            headdrop: config.headdrop,
            red: config.red.as_ref().map(|red| Red { slope: Slope::new(red), ecn: red.ecn, harddrop: red.harddrop }),
            changes: 0,
            hash: FlowHash::new(&mut rng),
            perturb: (config.perturb > 0)
                .then(|| Perturb { next: wheel::fires_from(0, period_jiffies), period_jiffies }),
            rng,
        }
    }

    /// Enqueues a packet; over the limit, the longest queue drops a packet.
    pub fn enqueue(&mut self, mut packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        self.perturb(stats, ctx);
        let value = self.hash.queue_of_addresses(&packet, self.table.len());
        let (number, is_new) = match self.table[value] {
            Some(number) => (number, false),
            None => match self.take_slot(value) {
                Some(number) => (number, true),
                None => return refuse(packet, stats, ctx),
            },
        };
        if !is_new {
            let hit = self.is_hit(number, &mut packet, stats);
            if hit || self.slots[number].packets.len() >= self.depth {
                return self.refuse_or_replace(number, packet, stats, ctx);
            }
        }
        stats.add_packet(packet.bytes);
        self.push(number, packet);
        if stats.backlog.packets <= self.limit {
            return Verdict::Queued;
        }
        if self.drop_some(stats, ctx) == Some(number) { Verdict::Congested } else { Verdict::Queued }
    }

    /// Dequeues the next packet in round-robin order.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        self.perturb(stats, ctx);
        loop {
            let Some(&number) = self.round.front() else { return Next::Empty };
            if self.slots[number].allot <= 0 {
                self.slots[number].allot += self.quantum;
                self.round.rotate_left(1);
                continue;
            }
            let packet = self.pop(number, true).expect("an active queue has a packet");
            stats.leave(packet.bytes);
            if self.slots[number].packets.is_empty() {
                self.give_back(number);
            } else {
                self.slots[number].allot -= i64::from(packet.bytes);
            }
            return Next::Packet(packet);
        }
    }

    /// Applies red to a packet that arrives at a non-empty queue; marks it, or the oldest one, if allowed.
    fn is_hit(&mut self, number: usize, packet: &mut Packet, stats: &mut QdiscStats) -> bool {
        let Some(red) = &self.red else { return false };
        let slot = &mut self.slots[number];
        let action = slot.action(&red.slope, &mut self.rng);
        if action == Action::Pass {
            return false;
        }
        stats.counters.overlimits += 1;
        if !red.ecn || (action == Action::HitHard && red.harddrop) {
            return true;
        }
        let oldest = slot.packets.front_mut().filter(|oldest| self.headdrop && oldest.ecn.is_capable());
        let marked = oldest.or_else(|| packet.ecn.is_capable().then_some(packet));
        if let Some(marked) = marked {
            marked.ecn = Ecn::Ce;
            stats.counters.marks += 1;
            return false;
        }
        true
    }

    /// The queue is full: drops the arriving packet, or with `headdrop` the oldest.
    fn refuse_or_replace(
        &mut self,
        number: usize,
        packet: Packet,
        stats: &mut QdiscStats,
        ctx: &mut CallContext,
    ) -> Verdict {
        let slot = &mut self.slots[number];
        if !self.headdrop {
            return refuse(packet, stats, ctx);
        }
        let Some(oldest) = slot.pop(true) else { return refuse(packet, stats, ctx) };
        stats.leave(oldest.bytes);
        stats.counters.drops += 1;
        ctx.dropped.push(oldest);
        stats.add_packet(packet.bytes);
        slot.push(packet);
        Verdict::Congested
    }

    /// Drops a packet of the longest queue or, if every queue holds one packet, of the current queue; returns its
    /// index.
    #[cold]
    fn drop_some(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Option<usize> {
        let length = |number: &usize| (self.slots[*number].packets.len(), self.slots[*number].changed);
        let longest = self.round.iter().copied().max_by_key(length)?;
        let victim = if self.slots[longest].packets.len() == 1 { *self.round.front()? } else { longest };
        let packet = self.pop(victim, self.headdrop)?;
        if self.slots[victim].packets.is_empty() {
            self.give_back(victim);
        }
        stats.leave(packet.bytes);
        stats.counters.drops += 1;
        ctx.dropped.push(packet);
        Some(victim)
    }

    /// Changes the hash when due; queued packets move to their new queues in flow order (`sfq_rehash`).
    fn perturb(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) {
        let Some(perturb) = &mut self.perturb else { return };
        if perturb.next > ctx.now {
            return;
        }
        while perturb.next <= ctx.now {
            perturb.next = wheel::fires_from(perturb.next.jiffies(), perturb.period_jiffies);
            self.hash = FlowHash::new(&mut self.rng);
        }
        let mut standing = Vec::new();
        for number in 0..self.slots.len() {
            while let Some(packet) = self.pop(number, true) {
                standing.push(packet);
            }
        }
        self.round.clear();
        self.table.fill(None);
        self.free = (0..self.slots.len()).collect();
        for packet in standing {
            self.move_in(packet, stats, ctx);
        }
    }

    /// Moves a queued packet to its flow's new queue; if it does not fit it is dropped, and Linux does not count the
    /// drop.
    fn move_in(&mut self, packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) {
        let value = self.hash.queue_of_addresses(&packet, self.table.len());
        let found = self.table[value].or_else(|| self.take_slot(value));
        let Some(number) = found.filter(|number| self.slots[*number].packets.len() < self.depth) else {
            stats.leave(packet.bytes);
            ctx.dropped.push(packet);
            return;
        };
        if let Some(red) = &self.red {
            self.slots[number].watch(&red.slope);
        }
        self.push(number, packet);
    }

    fn take_slot(&mut self, value: usize) -> Option<usize> {
        let number = self.free.pop()?;
        self.table[value] = Some(number);
        self.slots[number] = Slot::of(value);
        Some(number)
    }

    fn give_back(&mut self, number: usize) {
        self.round.retain(|other| *other != number);
        self.table[self.slots[number].value] = None;
        self.free.push(number);
    }

    /// Adds a queue with its first packet to the end of the round.
    fn push(&mut self, number: usize, packet: Packet) {
        self.changes += 1;
        let slot = &mut self.slots[number];
        slot.changed = self.changes;
        slot.push(packet);
        if slot.packets.len() == 1 {
            slot.allot = self.quantum;
            self.round.push_back(number);
        }
    }

    fn pop(&mut self, number: usize, oldest: bool) -> Option<Packet> {
        self.changes += 1;
        self.slots[number].changed = self.changes;
        self.slots[number].pop(oldest)
    }
}

fn refuse(packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
    stats.counters.drops += 1;
    ctx.dropped.push(packet);
    Verdict::Dropped
}

fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Limits of `sfq_change`.
pub const MAX_FLOWS: u32 = 0x1_0000 - MAX_DEPTH - 1;
/// Maximum packets per queue (`SFQ_MAX_DEPTH`).
pub const MAX_DEPTH: u32 = 127;
/// Maximum hash buckets (`SFQ_MAX_DIVISOR`).
pub const MAX_DIVISOR: u32 = 65_536;
/// Minimum quantum in bytes.
pub const MIN_QUANTUM: u32 = 256;
