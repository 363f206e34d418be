//! choke: red that also compares each arriving packet with a random queued one and drops both if they belong to one
//! flow; the flow with the largest backlog is hit most often (Pan, Prabhakar and Psounis 2000; Linux
//! `net/sched/sch_choke.c`).
//!
//! The average counts packets, not bytes. A packet dropped from the middle leaves a hole until the head has passed it;
//! a draw that meets a hole is repeated twice, then the head is taken.

use super::call::{CallContext, Peeked, QdiscContext};
use super::red::early::Early;
use super::red::slope::Slope;
use super::stats::QdiscStats;
use super::{ChokeConfig, Next, Verdict};
use crate::packet::{Ecn, Packet};
use crate::rng::Rng;
use crate::time::Time;
use alloc::collections::VecDeque;

#[cfg(test)]
mod tests;

/// "Choose and keep for responsive flows, choose and kill for unresponsive flows".
#[derive(Debug)]
pub(super) struct Choke {
    /// The first entry, if any, is not a hole.
    packets: VecDeque<Option<Packet>>,
    limit: u32,
    slope: Slope,
    ecn: bool,
    harddrop: bool,
    /// Average queue length in packets, shifted left by `wlog`.
    average: u64,
    early: Early,
    idle_since: Option<Time>,
    rng: Rng,
}

/// Decision for an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Pass,
    Hit {
        markable: bool,
    },
    /// The packet at this index belongs to the same flow: drop both.
    Matched(usize),
}

impl Choke {
    /// An empty queue with an average of zero.
    pub fn new(config: &ChokeConfig, context: &QdiscContext, handle: &str) -> Self {
        Self {
            packets: VecDeque::new(),
            limit: config.limit,
            slope: Slope::new(&config.red),
            ecn: config.red.ecn,
            harddrop: config.red.harddrop,
            average: 0,
            early: Early::default(),
            idle_since: None,
            rng: context.rng(handle),
        }
    }

    /// Enqueues a packet unless it, or it and its match, must be dropped.
    pub fn enqueue(&mut self, mut packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        self.average = match self.idle_since.take() {
            Some(since) => self.slope.after_idling(self.average, ctx.now.since(since)),
            None => self.slope.moved(self.average, stats.backlog.packets.into()),
        };
        match self.action(&packet) {
            Action::Pass => {}
            Action::Matched(index) => {
                self.drop_packet(index, stats, ctx);
                return refuse(packet, Verdict::Congested, stats, ctx);
            }
            Action::Hit { markable } => {
                stats.counters.overlimits += 1;
                if !(markable && packet.ecn.is_capable()) {
                    return refuse(packet, Verdict::Congested, stats, ctx);
                }
                packet.ecn = Ecn::Ce;
                stats.counters.marks += 1;
            }
        }
        if stats.backlog.packets >= self.limit {
            return refuse(packet, Verdict::Dropped, stats, ctx);
        }
        stats.add_packet(packet.bytes);
        self.packets.push_back(Some(packet));
        Verdict::Queued
    }

    /// Dequeues the oldest packet. A dequeue from an empty queue starts an idle period.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let Some(packet) = self.packets.pop_front().flatten() else {
            self.idle_since.get_or_insert(ctx.now);
            return Next::Empty;
        };
        self.skip_holes();
        stats.leave(packet.bytes);
        Next::Packet(packet)
    }

    /// Peeks at the oldest packet.
    pub fn peek(&self) -> Peeked {
        let head = self.packets.front().and_then(Option::as_ref);
        head.map_or(Peeked::Empty, |packet| Peeked::Packet { bytes: packet.bytes })
    }

    /// Applies new settings; the average restarts. Linux drops packets beyond a smaller limit; here they stay.
    pub fn change(&mut self, config: &ChokeConfig) {
        self.limit = config.limit;
        self.slope = Slope::new(&config.red);
        (self.ecn, self.harddrop) = (config.red.ecn, config.red.harddrop);
        self.average = 0;
        self.early.forget();
        if self.packets.is_empty() {
            self.idle_since = None;
        }
    }

    fn action(&mut self, packet: &Packet) -> Action {
        if self.slope.is_up_to_min(self.average) {
            self.early.forget();
            return Action::Pass;
        }
        if let Some(index) = self.index_of_same_flow(packet) {
            return Action::Matched(index);
        }
        if self.slope.is_beyond_max(self.average) {
            self.early.forget();
            return Action::Hit { markable: self.ecn && !self.harddrop };
        }
        let hit = self.early.hits(&self.slope, self.average, &mut self.rng);
        if hit { Action::Hit { markable: self.ecn } } else { Action::Pass }
    }

    /// Index of a random packet if it belongs to the same flow (`choke_match_random`).
    fn index_of_same_flow(&mut self, packet: &Packet) -> Option<usize> {
        let length = u32::try_from(self.packets.len()).unwrap_or(u32::MAX);
        if length == 0 {
            return None;
        }
        let mut draw = || usize::try_from(self.rng.below(length)).unwrap_or(0);
        let drawn = (0..DRAWS).map(|_| draw()).find(|index| self.packets[*index].is_some());
        let index = drawn.unwrap_or(0);
        let standing = self.packets[index].as_ref()?;
        (standing.flow == packet.flow && standing.direction == packet.direction).then_some(index)
    }

    fn drop_packet(&mut self, index: usize, stats: &mut QdiscStats, ctx: &mut CallContext) {
        let Some(packet) = self.packets[index].take() else { return };
        self.skip_holes();
        stats.leave(packet.bytes);
        stats.counters.drops += 1;
        ctx.dropped.push(packet);
    }

    fn skip_holes(&mut self) {
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
        }
    }
}

fn refuse(packet: Packet, verdict: Verdict, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
    stats.counters.drops += 1;
    ctx.dropped.push(packet);
    verdict
}

/// Draws before the head is taken (`choke_peek_random`).
const DRAWS: usize = 3;
