//! gred: one fifo in which each virtual queue has a red of its own (Linux `net/sched/sch_gred.c`).
//!
//! A packet's `tc_index` selects its virtual queue. Since Linux 6.3 has removed dsmark and its filter, nothing that an
//! experiment can set up changes that index, so all packets have 0: they belong to virtual queue 0 if it has settings,
//! else to the default one. The others stay empty, and so their priorities (`grio`) have no effect. Before any of the
//! two has settings, packets pass up to the limit.

use super::call::{CallContext, Peeked, QdiscContext};
use super::red::early::{Action, Early};
use super::red::slope::Slope;
use super::stats::QdiscStats;
use super::{GredConfig, GredQueue, Next, RedConfig, Verdict};
use crate::packet::{Ecn, Packet};
use crate::rng::Rng;
use crate::time::Time;
use alloc::collections::VecDeque;

#[cfg(test)]
mod tests;

/// A fifo with the red of the virtual queue that all packets belong to.
#[derive(Debug)]
pub(super) struct Gred {
    packets: VecDeque<Packet>,
    limit: u64,
    queue: Option<VirtualQueue>,
    rng: Rng,
}

#[derive(Debug)]
struct VirtualQueue {
    config: GredQueue,
    slope: Slope,
    /// Average queue in bytes, shifted left by `wlog`.
    average: u64,
    early: Early,
    idle_since: Option<Time>,
}

impl GredConfig {
    /// The virtual queue of packets without an index.
    fn of_all(&self) -> Option<&GredQueue> {
        let numbered = |number| self.queues.iter().find(|queue| queue.number == number);
        numbered(0).or_else(|| numbered(self.default))
    }
}

impl Gred {
    /// An empty queue with an average of zero.
    pub fn new(config: &GredConfig, context: &QdiscContext, handle: &str) -> Self {
        Self {
            packets: VecDeque::new(),
            limit: config.limit.into(),
            queue: config.of_all().map(VirtualQueue::new),
            rng: context.rng(handle),
        }
    }

    /// Enqueues a packet unless red selects it and it cannot be marked, or the limit is reached.
    pub fn enqueue(&mut self, mut packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        let limit = match &mut self.queue {
            None => self.limit,
            Some(queue) => {
                let action = queue.action(stats.backlog.bytes, ctx.now, &mut self.rng);
                stats.counters.overlimits += u64::from(action != Action::Pass);
                if action != Action::Pass {
                    if !queue.marks(action, &mut packet) {
                        return refuse(packet, Verdict::Congested, stats, ctx);
                    }
                    stats.counters.marks += 1;
                }
                queue.config.red.limit
            }
        };
        if stats.backlog.bytes + u64::from(packet.bytes) > limit {
            return refuse(packet, Verdict::Dropped, stats, ctx);
        }
        stats.add_packet(packet.bytes);
        self.packets.push_back(packet);
        Verdict::Queued
    }

    /// Dequeues the oldest packet. The last one starts an idle period.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let Some(packet) = self.packets.pop_front() else { return Next::Empty };
        stats.leave(packet.bytes);
        if let Some(queue) = self.queue.as_mut().filter(|_| self.packets.is_empty()) {
            queue.idle_since = Some(ctx.now);
        }
        Next::Packet(packet)
    }

    /// Peeks at the oldest packet.
    pub fn peek(&self) -> Peeked {
        self.packets.front().map_or(Peeked::Empty, |packet| Peeked::Packet { bytes: packet.bytes })
    }

    /// Applies new settings; the average of a changed virtual queue restarts.
    pub fn change(&mut self, config: &GredConfig) {
        self.limit = config.limit.into();
        let new = config.of_all();
        if self.queue.as_ref().map(|queue| &queue.config) != new {
            self.queue = new.map(VirtualQueue::new);
        }
    }
}

impl VirtualQueue {
    fn new(config: &GredQueue) -> Self {
        let slope = Slope::new(&config.red);
        Self { config: config.clone(), slope, average: 0, early: Early::default(), idle_since: None }
    }

    /// Updates the average for an arriving packet and decides about it.
    fn action(&mut self, backlog: u64, now: Time, rng: &mut Rng) -> Action {
        self.average = match self.idle_since.take() {
            Some(since) => self.slope.after_idling(self.average, now.since(since)),
            None => self.slope.moved(self.average, backlog),
        };
        self.early.action(&self.slope, self.average, rng)
    }

    /// Marks a selected packet, if that is possible.
    fn marks(&self, action: Action, packet: &mut Packet) -> bool {
        let RedConfig { ecn, harddrop, .. } = self.config.red;
        let may_mark = ecn && !(action == Action::HitHard && harddrop) && packet.ecn.is_capable();
        if may_mark {
            packet.ecn = Ecn::Ce;
        }
        may_mark
    }
}

fn refuse(packet: Packet, verdict: Verdict, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
    stats.counters.drops += 1;
    ctx.dropped.push(packet);
    verdict
}
