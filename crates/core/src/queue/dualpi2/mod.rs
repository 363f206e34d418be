//! dualpi2: a queue of low latency for scalable senders and one for all others, marked together so that a flow of either
//! kind gets as much (RFC 9332; Linux 6.17 `net/sched/sch_dualpi2.c`).
//!
//! ```text
//!   ECT(1), CE --> L queue --- marked above the step, or with probability k p'  ---\
//!                                                                                    WRR, 90 : 10 --> out
//!   the rest  ---> C queue --- dropped (or marked) with probability p' squared ----/
//!                                    p' follows the longer delay: `control`
//! ```
//!
//! Overload (k p' above 1): both are dropped from with p' squared, and all of L that is left is marked.

use super::discipline::{Lot, Turn};
use super::fq_codel::memory_of;
use super::tally::Tally;
use super::{DualPi2Config, Next, StepThreshold, Verdict};
use crate::dice::Dice;
use crate::packet::{Ecn, Packet, cut};
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
    low_latency: VecDeque<Waiting>,
    control: Control,
    credit: Credit,
    memory: u64,
    dice: Dice,
}

/// A packet of the low-latency queue.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: Packet,
    /// Does the step apply to it?
    steps: bool,
}

/// What the probability says about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Pass,
    Mark,
    Drop,
}

impl DualPi2 {
    /// Empty.
    pub fn new(config: &DualPi2Config, lot: &Lot, handle: &str) -> Self {
        Self {
            config: *config,
            classic: VecDeque::new(),
            low_latency: VecDeque::new(),
            control: Control::new(config),
            credit: Credit::new(config),
            memory: 0,
            dice: lot.dice(handle),
        }
    }

    /// Lets a packet in; a super-packet in its parts, each with its own fate.
    pub fn enqueue(&mut self, packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        self.catch_up(turn.now);
        let parts = if self.config.split_gso { cut(packet) } else { None };
        let Some(parts) = parts else { return self.let_in(packet, tally, turn) };
        let mut any = Verdict::Dropped;
        for part in parts {
            if self.let_in(part, tally, turn) == Verdict::Queued {
                any = Verdict::Queued;
            }
        }
        any
    }

    /// The next packet of the queue whose turn it is.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        self.catch_up(turn.now);
        loop {
            let both = !self.classic.is_empty();
            if !self.low_latency.is_empty() && (!both || self.credit.is_low_latencys_turn()) {
                if let Some(packet) = self.leave_low_latency(both, tally, turn) {
                    return Next::Packet(packet);
                }
            } else if both {
                if let Some(packet) = self.leave_classic(tally, turn) {
                    return Next::Packet(packet);
                }
            } else {
                self.credit.reset();
                return Next::Empty;
            }
        }
    }

    /// New settings; what stands stays. Linux drops what stands beyond a smaller limit: here it stays.
    pub fn change(&mut self, config: &DualPi2Config) {
        if config.classic_protection != self.config.classic_protection {
            self.credit = Credit::new(config);
        }
        self.control.change(config);
        self.config = *config;
    }

    fn let_in(&mut self, mut packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        let memory = memory_of(&packet);
        if tally.backlog.packets >= self.config.limit || self.memory + memory > self.config.memory_limit {
            tally.counters.overlimits += 1;
            kill(packet, tally, turn);
            return Verdict::Dropped;
        }
        let is_scalable = self.is_scalable(packet.ecn);
        if self.config.drop_enqueue && self.meets_its_fate(&mut packet, is_scalable, tally) {
            // `NET_XMIT_SUCCESS | __NET_XMIT_BYPASS`: its sender is not told.
            kill(packet, tally, turn);
            return Verdict::Queued;
        }
        packet.queued_at = turn.now;
        self.memory += memory;
        tally.stand(packet.bytes);
        if is_scalable {
            let steps = self.low_latency.len() >= self.config.min_qlen_step as usize;
            self.low_latency.push_back(Waiting { packet, steps });
        } else {
            self.classic.push_back(packet);
        }
        Verdict::Queued
    }

    /// Takes the oldest packet of the low-latency queue; None when it dies.
    fn leave_low_latency(&mut self, both: bool, tally: &mut Tally, turn: &mut Turn) -> Option<Packet> {
        let Waiting { mut packet, steps } = self.low_latency.pop_front()?;
        self.left(&packet, tally);
        if !self.config.drop_enqueue && self.meets_its_fate(&mut packet, true, tally) {
            kill(packet, tally, turn);
            return None;
        }
        if steps && self.is_above_step(&packet, turn.now) {
            mark(&mut packet, tally);
        }
        if both {
            self.credit.spend_low_latency(packet.bytes);
        }
        Some(packet)
    }

    /// The same for the classic queue.
    fn leave_classic(&mut self, tally: &mut Tally, turn: &mut Turn) -> Option<Packet> {
        let mut packet = self.classic.pop_front()?;
        self.left(&packet, tally);
        if !self.config.drop_enqueue && self.meets_its_fate(&mut packet, false, tally) {
            kill(packet, tally, turn);
            return None;
        }
        if !self.low_latency.is_empty() {
            self.credit.spend_classic(packet.bytes);
        }
        Some(packet)
    }

    fn left(&mut self, packet: &Packet, tally: &mut Tally) {
        self.memory -= memory_of(packet);
        tally.leave(packet.bytes);
    }

    /// Throws the dice, and marks the packet if they say so. True: it dies.
    fn meets_its_fate(&mut self, packet: &mut Packet, is_scalable: bool, tally: &mut Tally) -> bool {
        if tally.backlog.bytes < 2 * u64::from(self.config.mtu) {
            return false;
        }
        let fate = if is_scalable { self.scalable_fate() } else { self.classic_fate(packet.ecn) };
        if fate == Fate::Mark {
            mark(packet, tally);
        }
        fate == Fate::Drop
    }

    /// The square: two throws have to hit (`dualpi2_classic_marking`).
    fn classic_fate(&mut self, ecn: Ecn) -> Fate {
        match self.hits_twice() {
            false => Fate::Pass,
            true if self.control.is_overloaded() || !ecn.is_capable() => Fate::Drop,
            true => Fate::Mark,
        }
    }

    /// k times the probability; when that is above 1, all are marked that classic drops leave (`dualpi2_scalable_marking`).
    fn scalable_fate(&mut self) -> Fate {
        if self.control.is_overloaded() {
            let drops = self.config.drop_on_overload && self.hits_twice();
            return if drops { Fate::Drop } else { Fate::Mark };
        }
        if u64::from(self.dice.word()) <= self.control.coupled() { Fate::Mark } else { Fate::Pass }
    }

    fn hits_twice(&mut self) -> bool {
        let probability = self.control.probability();
        self.dice.word() <= probability && self.dice.word() <= probability
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
        if self.control.is_due(now) {
            let classic = self.classic.front().map(|packet| packet.queued_at);
            let low_latency = self.low_latency.front().map(|waiting| waiting.packet.queued_at);
            self.control.catch_up(now, Delays { classic, low_latency });
        }
    }
}

fn kill(packet: Packet, tally: &mut Tally, turn: &mut Turn) {
    tally.counters.drops += 1;
    turn.dropped.push(packet);
}

fn mark(packet: &mut Packet, tally: &mut Tally) {
    packet.ecn = Ecn::Ce;
    tally.counters.marks += 1;
}
