//! `fq_pie`: a queue a flow, each with a probability of its own, served in turn (Linux `net/sched/sch_fq_pie.c`).
//!
//! A flow that has been quiet is new: it is served before the old ones, for one quantum. Flows are told apart by a hash,
//! so two may share a queue. Linux counts what exceeds `memory_limit` and drops nothing for it, so it is not here.

use super::discipline::{Lot, Turn};
use super::flow_hash::FlowHash;
use super::pie::control::{Control, Fate, Params, Ticker, percent};
use super::rounds::Rounds;
use super::tally::Tally;
use super::{FqPieConfig, Next, Verdict};
use crate::dice::Dice;
use crate::packet::Packet;
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
    /// Up to this probability packets are marked.
    marks_up_to: u64,
    params: Params,
    ticker: Ticker,
    /// Where the timer goes on, when there are more flows than it looks at in one go.
    cursor: usize,
    hash: FlowHash,
    dice: Dice,
}

/// One queue.
#[derive(Clone, Debug, Default)]
struct Flow {
    packets: VecDeque<Packet>,
    bytes: u64,
    control: Control,
    /// Will the timer change nothing?
    rests: bool,
}

impl FqPie {
    /// Empty.
    pub fn new(config: &FqPieConfig, lot: &Lot, handle: &str) -> Self {
        let flows = usize::try_from(config.flows.clamp(1, MOST_FLOWS)).expect("65536 flows are a usize");
        let mut dice = lot.dice(handle);
        let hash = FlowHash::new(&mut dice);
        let mut this = Self {
            flows: alloc::vec![Flow::default(); flows],
            rounds: Rounds::new(flows),
            limit: 0,
            marks_up_to: 0,
            params: Params::new(&config.pie),
            ticker: Ticker::new(config.pie.tupdate),
            cursor: 0,
            hash,
            dice,
        };
        this.change(config);
        this
    }

    /// Lets a packet in, marks it or drops it.
    pub fn enqueue(&mut self, mut packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        self.catch_up(turn);
        let number = self.hash.queue_of(&packet, self.flows.len());
        let flow = &mut self.flows[number];
        flow.rests = false;
        let full = tally.backlog.packets >= self.limit;
        match flow.control.admit(&self.params, full, flow.bytes, &mut packet, self.marks_up_to, &mut self.dice) {
            Fate::Enters => {}
            Fate::EntersMarked => tally.counters.marks += 1,
            Fate::Dies => {
                tally.counters.drops += 1;
                turn.dropped.push(packet);
                return Verdict::Congested;
            }
        }
        packet.queued_at = turn.now;
        tally.stand(packet.bytes);
        flow.bytes += u64::from(packet.bytes);
        flow.packets.push_back(packet);
        self.rounds.join(number);
        Verdict::Queued
    }

    /// The next packet of the flow whose turn it is.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        self.catch_up(turn);
        while let Some(number) = self.rounds.next() {
            let flow = &mut self.flows[number];
            let Some(packet) = flow.packets.pop_front() else {
                self.rounds.retire(number);
                continue;
            };
            tally.leave(packet.bytes);
            flow.rests = false;
            flow.bytes -= u64::from(packet.bytes);
            flow.control.left(&self.params, &packet, flow.bytes, turn.now);
            self.rounds.sent(number, packet.bytes);
            return Next::Packet(packet);
        }
        Next::Empty
    }

    /// New settings; the number of flows stays. Linux drops what stands beyond a smaller limit: here it stays.
    pub fn change(&mut self, config: &FqPieConfig) {
        self.limit = config.limit;
        self.rounds.set_quantum(config.quantum);
        self.marks_up_to = percent(config.ecn_prob);
        self.params = Params::new(&config.pie);
        self.ticker.period_jiffies = config.pie.tupdate;
        self.flows.iter_mut().for_each(|flow| flow.rests = false);
    }

    /// Makes up for the ticks that the kernel's timer would have had; backlogs have not changed since.
    fn catch_up(&mut self, turn: &Turn) {
        while self.ticker.is_due(turn.now) {
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
const MOST_FLOWS: u32 = 65_536;
/// Flows that the timer looks at before it waits for the next jiffy.
const FLOWS_PER_TICK: usize = 2_048;
