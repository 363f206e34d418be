//! pie: drops, or marks, what comes, at random, with a probability that follows the delay (RFC 8033; Linux
//! `net/sched/sch_pie.c`). [`control`] reckons the probability; here is the queue.

use super::discipline::{Lot, Turn};
use super::tally::Tally;
use super::{Next, PieConfig, Verdict};
use crate::dice::Dice;
use crate::packet::Packet;
use alloc::collections::VecDeque;
use control::{Control, Fate, Params, TEN_PERCENT, Ticker};

pub(super) mod control;
#[cfg(test)]
pub(super) mod tests;

/// A queue with a probability at its tail.
#[derive(Debug)]
pub(super) struct Pie {
    packets: VecDeque<Packet>,
    limit: u32,
    params: Params,
    control: Control,
    ticker: Ticker,
    dice: Dice,
}

impl Pie {
    /// Empty.
    pub fn new(config: &PieConfig, lot: &Lot, handle: &str) -> Self {
        Self {
            packets: VecDeque::new(),
            limit: config.limit,
            params: Params::new(config),
            control: Control::default(),
            ticker: Ticker::new(config.tupdate),
            dice: lot.dice(handle),
        }
    }

    /// Lets a packet in, marks it or drops it.
    pub fn enqueue(&mut self, mut packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        self.catch_up(tally, turn);
        let full = tally.backlog.packets >= self.limit;
        let backlog_bytes = tally.backlog.bytes;
        match self.control.admit(&self.params, full, backlog_bytes, &mut packet, TEN_PERCENT, &mut self.dice) {
            Fate::Enters => {}
            Fate::EntersMarked => tally.counters.marks += 1,
            Fate::Dies => {
                tally.counters.drops += 1;
                turn.dropped.push(packet);
                return Verdict::Dropped;
            }
        }
        packet.queued_at = turn.now;
        tally.stand(packet.bytes);
        self.packets.push_back(packet);
        Verdict::Queued
    }

    /// The oldest packet.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        self.catch_up(tally, turn);
        let Some(packet) = self.packets.pop_front() else { return Next::Empty };
        tally.leave(packet.bytes);
        self.control.left(&self.params, &packet, tally.backlog.bytes, turn.now);
        Next::Packet(packet)
    }

    /// New settings; the probability stays. Linux drops what stands beyond a smaller limit: here it stays.
    pub fn change(&mut self, config: &PieConfig) {
        self.limit = config.limit;
        self.params = Params::new(config);
        self.ticker.period_jiffies = config.tupdate;
    }

    /// Makes up for the ticks that the kernel's timer would have had; the backlog has not changed since.
    fn catch_up(&mut self, tally: &Tally, turn: &Turn) {
        let mut rests = false;
        while self.ticker.is_due(turn.now) {
            if !rests {
                rests = self.control.tick(&self.params, tally.backlog.bytes);
            }
        }
    }
}
