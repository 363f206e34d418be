//! `fq_pie`: flow queues with a drop probability each, served by deficit round robin (Linux `net/sched/sch_fq_pie.c`).
//!
//! A newly active flow is served before the old ones, for one quantum. Flows are identified by a hash, so two may share
//! a queue. Linux counts packets over `memory_limit` but does not drop them, so that limit is absent here.

use super::call::{CallContext, QdiscContext};
use super::flow_hash::FlowHash;
use super::pie::control::{Control, Decision, Params, Ticker, percent};
use super::rounds::Rounds;
use super::stats::QdiscStats;
use super::{FqPieConfig, Next, Verdict};
use crate::packet::Packet;
use crate::rng::Rng;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// Queues by flow.
#[derive(Debug)]
pub(super) struct FqPie {
    flows: Vec<Flow>,
    rounds: Rounds,
    limit: u32,
    /// Packets are marked up to this probability.
    marks_up_to: u64,
    params: Params,
    ticker: Ticker,
    /// Flow at which the timer continues if it cannot visit all at once.
    cursor: usize,
    hash: FlowHash,
    rng: Rng,
}

/// One queue.
#[derive(Clone, Debug, Default)]
struct Flow {
    packets: VecDeque<Packet>,
    bytes: u64,
    control: Control,
    /// Whether the timer would not change anything.
    rests: bool,
}

impl FqPie {
    /// Empty queues.
    pub fn new(config: &FqPieConfig, context: &QdiscContext, handle: &str) -> Self {
        let flows = usize::try_from(config.flows.clamp(1, MAX_FLOWS)).expect("65536 flows are a usize");
        let mut rng = context.rng(handle);
        let hash = FlowHash::new(&mut rng);
        let mut this = Self {
            flows: alloc::vec![Flow::default(); flows],
            rounds: Rounds::new(flows),
            limit: 0,
            marks_up_to: 0,
            params: Params::new(&config.pie),
            ticker: Ticker::new(config.pie.tupdate),
            cursor: 0,
            hash,
            rng,
        };
        this.change(config);
        this
    }

    /// Enqueues, marks or drops a packet.
    pub fn enqueue(&mut self, mut packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        self.catch_up(ctx);
        let number = self.hash.queue_of(&packet, self.flows.len());
        let flow = &mut self.flows[number];
        flow.rests = false;
        let full = stats.backlog.packets >= self.limit;
        match flow.control.admit(&self.params, full, flow.bytes, &mut packet, self.marks_up_to, &mut self.rng) {
            Decision::Pass => {}
            Decision::Mark => stats.counters.marks += 1,
            Decision::Drop => {
                stats.counters.drops += 1;
                ctx.dropped.push(packet);
                return Verdict::Congested;
            }
        }
        packet.queued_at = ctx.now;
        stats.add_packet(packet.bytes);
        flow.bytes += u64::from(packet.bytes);
        flow.packets.push_back(packet);
        self.rounds.join(number);
        Verdict::Queued
    }

    /// Dequeues the next packet in round-robin order.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        self.catch_up(ctx);
        while let Some(number) = self.rounds.next() {
            let flow = &mut self.flows[number];
            let Some(packet) = flow.packets.pop_front() else {
                self.rounds.retire(number);
                continue;
            };
            stats.leave(packet.bytes);
            flow.rests = false;
            flow.bytes -= u64::from(packet.bytes);
            flow.control.left(&self.params, &packet, flow.bytes, ctx.now);
            self.rounds.sent(number, packet.bytes);
            return Next::Packet(packet);
        }
        Next::Empty
    }

    /// Applies new settings; the number of queues stays. Linux drops packets beyond a smaller limit; here they stay.
    pub fn change(&mut self, config: &FqPieConfig) {
        self.limit = config.limit;
        self.rounds.set_quantum(config.quantum);
        self.marks_up_to = percent(config.ecn_prob);
        self.params = Params::new(&config.pie);
        self.ticker.period_jiffies = config.pie.tupdate;
        self.flows.iter_mut().for_each(|flow| flow.rests = false);
    }

    /// Runs all timer ticks due by now; backlogs have not changed since.
    fn catch_up(&mut self, ctx: &CallContext) {
        while self.ticker.next_tick(ctx.now) {
            let end = self.flows.len().min(self.cursor + FLOWS_PER_TICK);
            for flow in self.flows[self.cursor..end].iter_mut().filter(|flow| !flow.rests) {
                flow.rests = flow.control.tick(&self.params, flow.bytes);
            }
            self.cursor = if end == self.flows.len() { 0 } else { end };
            if self.cursor > 0 {
                self.ticker.hurry();
            }
        }
    }
}

/// Limits of `fq_pie_change`.
const MAX_FLOWS: u32 = 65_536;
/// Flows that the timer visits per jiffy.
const FLOWS_PER_TICK: usize = 2_048;
