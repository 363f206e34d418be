//! dualpi2: a low-latency queue for scalable flows and a classic queue, with coupled marking so that both kinds of
//! flows get equal rates (RFC 9332; Linux 6.17 `net/sched/sch_dualpi2.c`).
//!
//! ```text
//!   ECT(1), CE --> L queue --- marked above the step, or with probability k p'  ---\
//!                                                                                    WRR, 90 : 10 --> out
//!   the rest  ---> C queue --- dropped (or marked) with probability p' squared ----/
//!                                    p' follows the longer delay: `control`
//! ```
//!
//! Overload (k p' above 1): both queues drop with p' squared, and every other L packet is marked.

use super::call::{CallContext, QdiscContext};
use super::fq_codel::memory_of;
use super::stats::QdiscStats;
use super::{DualPi2Config, Next, StepThreshold, Verdict};
use crate::packet::{Ecn, Packet, cut};
use crate::rng::Rng;
use crate::time::Time;
use alloc::collections::VecDeque;
use control::{Control, Delays};
use credit::Credit;

mod control;
mod credit;
#[cfg(test)]
mod tests;

/// Both queues.
#[derive(Debug)]
pub(super) struct DualPi2 {
    config: DualPi2Config,
    classic: VecDeque<Packet>,
    low_latency: VecDeque<QueuedPacket>,
    control: Control,
    credit: Credit,
    memory: u64,
    rng: Rng,
}

/// A packet of the low-latency queue.
#[derive(Clone, Copy, Debug)]
struct QueuedPacket {
    packet: Packet,
    /// Whether the step threshold applies to it.
    steps: bool,
}

/// Decision for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Pass,
    Mark,
    Drop,
}

impl DualPi2 {
    /// Empty queues.
    pub fn new(config: &DualPi2Config, context: &QdiscContext, handle: &str) -> Self {
        Self {
            config: *config,
            classic: VecDeque::new(),
            low_latency: VecDeque::new(),
            control: Control::new(config),
            credit: Credit::new(config),
            memory: 0,
            rng: context.rng(handle),
        }
    }

    /// Enqueues a packet; a super-packet as separate segments, each with its own decision.
    pub fn enqueue(&mut self, packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        self.catch_up(ctx.now);
        let parts = if self.config.split_gso { cut(packet) } else { None };
        let Some(parts) = parts else { return self.admit_one(packet, stats, ctx) };
        ctx.cuts += packet.segments - 1;
        let mut any = Verdict::Dropped;
        for part in parts {
            if self.admit_one(part, stats, ctx) == Verdict::Queued {
                any = Verdict::Queued;
            }
        }
        any
    }

    /// Dequeues the next packet of the queue selected by the credit.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        self.catch_up(ctx.now);
        loop {
            let both = !self.classic.is_empty();
            if !self.low_latency.is_empty() && (!both || self.credit.is_low_latencys_turn()) {
                if let Some(packet) = self.dequeue_low_latency(both, stats, ctx) {
                    return Next::Packet(packet);
                }
            } else if both {
                if let Some(packet) = self.dequeue_classic(stats, ctx) {
                    return Next::Packet(packet);
                }
            } else {
                self.credit.reset();
                return Next::Empty;
            }
        }
    }

    /// Applies new settings; queued packets stay. Linux drops packets beyond a smaller limit; here they stay.
    pub fn change(&mut self, config: &DualPi2Config) {
        if config.classic_protection != self.config.classic_protection {
            self.credit = Credit::new(config);
        }
        self.control.change(config);
        self.config = *config;
    }

    fn admit_one(&mut self, mut packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        let memory = memory_of(&packet);
        if stats.backlog.packets >= self.config.limit || self.memory + memory > self.config.memory_limit {
            stats.counters.overlimits += 1;
            drop_packet(packet, stats, ctx);
            return Verdict::Dropped;
        }
        let is_scalable = self.is_scalable(packet.ecn);
        if self.config.drop_enqueue && self.is_signalled(&mut packet, is_scalable, stats) {
            // `NET_XMIT_SUCCESS | __NET_XMIT_BYPASS`: the sender is not notified.
            drop_packet(packet, stats, ctx);
            return Verdict::Queued;
        }
        packet.queued_at = ctx.now;
        self.memory += memory;
        stats.add_packet(packet.bytes);
        if is_scalable {
            let steps = self.low_latency.len() >= self.config.min_qlen_step as usize;
            self.low_latency.push_back(QueuedPacket { packet, steps });
        } else {
            self.classic.push_back(packet);
        }
        Verdict::Queued
    }

    /// Takes the oldest packet of the low-latency queue; None if it is dropped.
    fn dequeue_low_latency(&mut self, both: bool, stats: &mut QdiscStats, ctx: &mut CallContext) -> Option<Packet> {
        let QueuedPacket { mut packet, steps } = self.low_latency.pop_front()?;
        self.left(&packet, stats);
        if !self.config.drop_enqueue && self.is_signalled(&mut packet, true, stats) {
            drop_packet(packet, stats, ctx);
            return None;
        }
        if steps && self.is_above_step(&packet, ctx.now) {
            mark(&mut packet, stats);
        }
        if both {
            self.credit.spend_low_latency(packet.bytes);
        }
        Some(packet)
    }

    /// The same for the classic queue.
    fn dequeue_classic(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Option<Packet> {
        let mut packet = self.classic.pop_front()?;
        self.left(&packet, stats);
        if !self.config.drop_enqueue && self.is_signalled(&mut packet, false, stats) {
            drop_packet(packet, stats, ctx);
            return None;
        }
        if !self.low_latency.is_empty() {
            self.credit.spend_classic(packet.bytes);
        }
        Some(packet)
    }

    fn left(&mut self, packet: &Packet, stats: &mut QdiscStats) {
        self.memory -= memory_of(packet);
        stats.leave(packet.bytes);
    }

    /// Draws a random number and marks the packet if it hits. Returns whether to drop the packet.
    fn is_signalled(&mut self, packet: &mut Packet, is_scalable: bool, stats: &mut QdiscStats) -> bool {
        if stats.backlog.bytes < 2 * u64::from(self.config.mtu) {
            return false;
        }
        let decision = if is_scalable { self.decide_scalable() } else { self.decide_classic(packet.ecn) };
        if decision == Decision::Mark {
            mark(packet, stats);
        }
        decision == Decision::Drop
    }

    /// p' squared: two draws must hit (`dualpi2_classic_marking`).
    fn decide_classic(&mut self, ecn: Ecn) -> Decision {
        match self.hits_twice() {
            false => Decision::Pass,
            true if self.control.is_overloaded() || !ecn.is_capable() => Decision::Drop,
            true => Decision::Mark,
        }
    }

    /// k times p'; on overload, every packet not dropped like a classic one is marked (`dualpi2_scalable_marking`).
    fn decide_scalable(&mut self) -> Decision {
        if self.control.is_overloaded() {
            let drops = self.config.drop_on_overload && self.hits_twice();
            return if drops { Decision::Drop } else { Decision::Mark };
        }
        if u64::from(self.rng.next_u32()) <= self.control.coupled() { Decision::Mark } else { Decision::Pass }
    }

    fn hits_twice(&mut self) -> bool {
        let probability = self.control.probability();
        self.rng.next_u32() <= probability && self.rng.next_u32() <= probability
    }

    /// `do_step_aqm`.
    fn is_above_step(&self, packet: &Packet, now: Time) -> bool {
        match self.config.step {
            StepThreshold::Time(span) => now.since(packet.queued_at) > span,
            StepThreshold::Packets(packets) => self.low_latency.len() > packets as usize,
        }
    }

    fn is_scalable(&self, ecn: Ecn) -> bool {
        matches!(ecn, Ecn::Ect1 | Ecn::Ce) || (self.config.any_ect && ecn == Ecn::Ect0)
    }

    fn catch_up(&mut self, now: Time) {
        if self.control.is_update_pending(now) {
            let classic = self.classic.front().map(|packet| packet.queued_at);
            let low_latency = self.low_latency.front().map(|waiting| waiting.packet.queued_at);
            self.control.catch_up(now, Delays { classic, low_latency });
        }
    }
}

fn drop_packet(packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) {
    stats.counters.drops += 1;
    ctx.dropped.push(packet);
}

fn mark(packet: &mut Packet, stats: &mut QdiscStats) {
    packet.ecn = Ecn::Ce;
    stats.counters.marks += 1;
}
