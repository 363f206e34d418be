//! red: drops or marks at random, more often the longer the average queue.
//!
//! The average is a fixed-point number of bytes, shifted left by `wlog`, updated by every arriving packet (Linux
//! `include/net/red.h`, `net/sched/sch_red.c`; Floyd and Jacobson 1993). After each hit one random number selects the
//! next, which evens out the gaps. Packets wait in the child qdisc. `adaptive` changes nothing: the kernel starts its
//! timer for a flag of `tc_red_qopt`, where tc since 5.7 writes zeros (`__red_change`; it writes `TCA_RED_FLAGS`).
//!
//! ```text
//!    average  0 ......... min ................ max ...........
//!               pass          probability           hit all
//! ```

use super::call::{CallContext, Peeked, QdiscContext};
use super::child::Child;
use super::lookahead::Lookahead;
use super::stats::QdiscStats;
use super::{Next, RedConfig, Verdict};
use crate::packet::{Ecn, Packet};
use crate::rng::Rng;
use crate::time::Time;
use early::{Action, Early};
use slope::Slope;

pub(super) mod early;
pub(super) mod slope;
#[cfg(test)]
mod tests;

/// Random early detection.
#[derive(Debug)]
pub(super) struct Red<Q> {
    slope: Slope,
    marking: Marking,
    /// Average queue in bytes, shifted left by `wlog` (`qavg`).
    average: u64,
    early: Early,
    idle_since: Option<Time>,
    rng: Rng,
    queue: Lookahead<Q>,
}

/// What happens to a selected packet.
#[derive(Clone, Copy, Debug)]
struct Marking {
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
}

impl<Q: Child> Red<Q> {
    /// Idle, with an average of zero.
    pub fn new(config: &RedConfig, context: &QdiscContext, handle: &str) -> Self {
        let queue = match &config.inner {
            Some(node) => Lookahead::new(Q::new(node, context)),
            None => Lookahead::bfifo(config.limit),
        };
        Self {
            slope: Slope::new(config),
            marking: Marking::new(config),
            average: 0,
            early: Early::default(),
            idle_since: Some(Time::ZERO),
            rng: context.rng(handle),
            queue,
        }
    }

    /// Enqueues a packet in the child unless it is selected and cannot be marked.
    pub fn enqueue(&mut self, mut packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        self.average = match self.idle_since.take() {
            Some(since) => self.slope.after_idling(self.average, ctx.now.since(since)),
            None => self.slope.moved(self.average, self.queue.inner.stats().backlog.bytes),
        };
        let action = self.early.action(&self.slope, self.average, &mut self.rng);
        if action != Action::Pass {
            stats.counters.overlimits += 1;
            if self.marking.may_mark(action) && packet.ecn.is_capable() {
                packet.ecn = Ecn::Ce;
                stats.counters.marks += 1;
            } else if !self.marking.passes_unmarked(action) {
                stats.counters.drops += 1;
                ctx.dropped.push(packet);
                return Verdict::Congested;
            }
        }
        self.queue.enqueue(&packet, stats, ctx)
    }

    /// Dequeues the next packet. A dequeue from an empty queue starts an idle period.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let next = self.queue.take(stats, ctx);
        if !matches!(next, Next::Packet(_)) && self.idle_since.is_none() {
            self.idle_since = Some(ctx.now);
        }
        next
    }

    /// Peeks at the next packet.
    pub fn peek(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Peeked {
        self.queue.peek(stats, ctx)
    }

    /// Applies new settings; the average restarts (`red_set_vars`). Linux drops queued packets; here they stay.
    pub fn change(&mut self, config: &RedConfig) {
        self.slope = Slope::new(config);
        self.marking = Marking::new(config);
        self.average = 0;
        self.early.forget();
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
}

impl Marking {
    const fn new(config: &RedConfig) -> Self {
        Self { ecn: config.ecn, harddrop: config.harddrop, nodrop: config.nodrop }
    }

    fn may_mark(self, action: Action) -> bool {
        self.ecn && !(action == Action::HitHard && self.harddrop)
    }

    fn passes_unmarked(self, action: Action) -> bool {
        self.may_mark(action) && self.nodrop
    }
}
