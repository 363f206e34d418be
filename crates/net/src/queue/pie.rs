//! pie: drops or marks arriving packets at random with a probability that follows the delay (RFC 8033; Linux
//! `net/sched/sch_pie.c`). [`control`] computes the probability; this module is the queue.

use super::call::{CallContext, QdiscContext};
use super::stats::QdiscStats;
use super::{Next, PieConfig, Verdict};
use crate::packet::Packet;
use crate::rng::Rng;
use alloc::collections::VecDeque;
use control::{Control, Decision, Params, TEN_PERCENT, Ticker};

pub(super) mod control;
#[cfg(test)]
pub(super) mod tests;

/// A queue with random drops at its tail.
#[derive(Debug)]
pub(super) struct Pie {
    packets: VecDeque<Packet>,
    limit: u32,
    params: Params,
    control: Control,
    ticker: Ticker,
    rng: Rng,
}

impl Pie {
    /// An empty queue.
    pub fn new(config: &PieConfig, context: &QdiscContext, handle: &str) -> Self {
        Self {
            packets: VecDeque::new(),
            limit: config.limit,
            params: Params::new(config),
            control: Control::default(),
            ticker: Ticker::new(config.tupdate),
            rng: context.rng(handle),
        }
    }

    /// Enqueues, marks or drops a packet.
    pub fn enqueue(&mut self, mut packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        self.catch_up(stats, ctx);
        let full = stats.backlog.packets >= self.limit;
        let backlog_bytes = stats.backlog.bytes;
        match self.control.admit(&self.params, full, backlog_bytes, &mut packet, TEN_PERCENT, &mut self.rng) {
            Decision::Pass => {}
            Decision::Mark => stats.counters.marks += 1,
            Decision::Drop => {
                stats.counters.drops += 1;
                ctx.dropped.push(packet);
                return Verdict::Dropped;
            }
        }
        packet.queued_at = ctx.now;
        stats.add_packet(packet.bytes);
        self.packets.push_back(packet);
        Verdict::Queued
    }

    /// Dequeues the oldest packet.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        self.catch_up(stats, ctx);
        let Some(packet) = self.packets.pop_front() else { return Next::Empty };
        stats.leave(packet.bytes);
        self.control.left(&self.params, &packet, stats.backlog.bytes, ctx.now);
        Next::Packet(packet)
    }

    /// Applies new settings; the probability stays. Linux drops packets beyond a smaller limit; here they stay.
    pub fn change(&mut self, config: &PieConfig) {
        self.limit = config.limit;
        self.params = Params::new(config);
        self.ticker.period_jiffies = config.tupdate;
    }

    /// Runs all timer ticks due by now; the backlog has not changed since.
    fn catch_up(&mut self, stats: &QdiscStats, ctx: &CallContext) {
        let mut rests = false;
        while self.ticker.next_tick(ctx.now) {
            if !rests {
                rests = self.control.tick(&self.params, stats.backlog.bytes);
            }
        }
    }
}
