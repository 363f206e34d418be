//! sfq: a queue a flow, as told apart by a hash, served in turn, so many bytes each (`McKenney` 1990; Linux
//! `net/sched/sch_sfq.c`).
//!
//! There are `divisor` values of the hash and `flows` queues; a value takes a queue when its first packet comes and gives
//! it back with its last. When too much stands, the longest queue loses a packet. Each queue may have a red of its own.
//! [`slot`] is one queue.

use super::discipline::{Lot, Turn};
use super::flow_hash::FlowHash;
use super::red::slope::Slope;
use super::tally::Tally;
use super::{Next, SfqConfig, Verdict};
use crate::dice::Dice;
use crate::packet::{Ecn, Packet};
use crate::time::Time;
use crate::transport::wheel;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use slot::{Action, Slot};

mod slot;
#[cfg(test)]
mod tests;

/// Queues by flow.
#[derive(Debug)]
pub(super) struct Sfq {
    slots: Vec<Slot>,
    /// Which slot a value of the hash has.
    table: Vec<Option<usize>>,
    /// Slots that nobody has; the last one given back is taken first.
    free: Vec<usize>,
    /// Slots that hold packets, in the order of their turns.
    round: VecDeque<usize>,
    limit: u32,
    depth: usize,
    quantum: i64,
    headdrop: bool,
    red: Option<Red>,
    /// Counts how often a slot changed its length: of two equally long ones the one that changed last loses.
    changes: u64,
    hash: FlowHash,
    perturb: Option<Perturb>,
    dice: Dice,
}

/// What red does in each queue.
#[derive(Debug)]
struct Red {
    slope: Slope,
    ecn: bool,
    harddrop: bool,
}

/// When the hash becomes another one.
#[derive(Clone, Copy, Debug)]
struct Perturb {
    next: Time,
    period_jiffies: u64,
}

impl Sfq {
    /// Empty.
    pub fn new(config: &SfqConfig, lot: &Lot, handle: &str) -> Self {
        let (flows, divisor) = (whole(config.flows.min(MOST_FLOWS)), whole(config.divisor.clamp(1, MOST_DIVISOR)));
        let mut dice = lot.dice(handle);
        let period_jiffies = u64::from(config.perturb) * crate::time::HZ;
        Self {
            slots: alloc::vec![Slot::default(); flows],
            table: alloc::vec![None; divisor],
            free: (0..flows).collect(),
            round: VecDeque::new(),
            limit: config.limit,
            depth: whole(config.depth.min(MOST_DEPTH)),
            quantum: config.quantum.max(SMALLEST_QUANTUM).into(),
            headdrop: config.headdrop,
            red: config.red.as_ref().map(|red| Red { slope: Slope::new(red), ecn: red.ecn, harddrop: red.harddrop }),
            changes: 0,
            hash: FlowHash::new(&mut dice),
            perturb: (config.perturb > 0)
                .then(|| Perturb { next: wheel::fires_from(0, period_jiffies), period_jiffies }),
            dice,
        }
    }

    /// Lets a packet in; when that is too much, a packet of the longest queue dies.
    pub fn enqueue(&mut self, mut packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        self.perturb(tally, turn);
        let value = self.hash.queue_of(&packet, self.table.len());
        let (number, is_new) = match self.table[value] {
            Some(number) => (number, false),
            None => match self.take_slot(value) {
                Some(number) => (number, true),
                None => return refuse(packet, tally, turn),
            },
        };
        if !is_new {
            let hit = self.is_hit(number, &mut packet, tally);
            if hit || self.slots[number].packets.len() >= self.depth {
                return self.refuse_or_replace(number, packet, tally, turn);
            }
        }
        tally.stand(packet.bytes);
        self.push(number, packet);
        if tally.backlog.packets <= self.limit {
            return Verdict::Queued;
        }
        if self.thin_out(tally, turn) == Some(number) { Verdict::Congested } else { Verdict::Queued }
    }

    /// The next packet of the queue whose turn it is.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        self.perturb(tally, turn);
        loop {
            let Some(&number) = self.round.front() else { return Next::Empty };
            if self.slots[number].allot <= 0 {
                self.slots[number].allot += self.quantum;
                self.round.rotate_left(1);
                continue;
            }
            let packet = self.pop(number, true).expect("who has a turn has a packet");
            tally.leave(packet.bytes);
            if self.slots[number].packets.is_empty() {
                self.give_back(number);
            } else {
                self.slots[number].allot -= i64::from(packet.bytes);
            }
            return Next::Packet(packet);
        }
    }

    /// red's word on a packet that comes to a queue of others; marks it, or the oldest one, when it may.
    fn is_hit(&mut self, number: usize, packet: &mut Packet, tally: &mut Tally) -> bool {
        let Some(red) = &self.red else { return false };
        let slot = &mut self.slots[number];
        let action = slot.action(&red.slope, &mut self.dice);
        if action == Action::Pass {
            return false;
        }
        tally.counters.overlimits += 1;
        if !red.ecn || (action == Action::HitHard && red.harddrop) {
            return true;
        }
        let oldest = slot.packets.front_mut().filter(|oldest| self.headdrop && oldest.ecn.is_capable());
        let marked = oldest.or_else(|| packet.ecn.is_capable().then_some(packet));
        if let Some(marked) = marked {
            marked.ecn = Ecn::Ce;
            tally.counters.marks += 1;
            return false;
        }
        true
    }

    /// A packet for which its queue has no room dies, or with `headdrop` the queue's oldest one in its stead.
    fn refuse_or_replace(&mut self, number: usize, packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        let slot = &mut self.slots[number];
        if !self.headdrop {
            return refuse(packet, tally, turn);
        }
        let Some(oldest) = slot.pop(true) else { return refuse(packet, tally, turn) };
        tally.leave(oldest.bytes);
        tally.counters.drops += 1;
        turn.dropped.push(oldest);
        tally.stand(packet.bytes);
        slot.push(packet);
        Verdict::Congested
    }

    /// The longest queue loses a packet, or, when all hold one, the queue whose turn it is; says which one it was.
    #[cold]
    fn thin_out(&mut self, tally: &mut Tally, turn: &mut Turn) -> Option<usize> {
        let length = |number: &usize| (self.slots[*number].packets.len(), self.slots[*number].changed);
        let longest = self.round.iter().copied().max_by_key(length)?;
        let victim = if self.slots[longest].packets.len() == 1 { *self.round.front()? } else { longest };
        let packet = self.pop(victim, self.headdrop)?;
        if self.slots[victim].packets.is_empty() {
            self.give_back(victim);
        }
        tally.leave(packet.bytes);
        tally.counters.drops += 1;
        turn.dropped.push(packet);
        Some(victim)
    }

    /// Changes the hash when its time has come; what stands moves, each flow in its order (`sfq_rehash`).
    fn perturb(&mut self, tally: &mut Tally, turn: &mut Turn) {
        let Some(perturb) = &mut self.perturb else { return };
        if perturb.next > turn.now {
            return;
        }
        while perturb.next <= turn.now {
            perturb.next = wheel::fires_from(perturb.next.jiffies(), perturb.period_jiffies);
            self.hash = FlowHash::new(&mut self.dice);
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
            self.move_in(packet, tally, turn);
        }
    }

    /// A packet that stood goes to where its flow belongs now; without room it dies, and Linux counts no drop.
    fn move_in(&mut self, packet: Packet, tally: &mut Tally, turn: &mut Turn) {
        let value = self.hash.queue_of(&packet, self.table.len());
        let found = self.table[value].or_else(|| self.take_slot(value));
        let Some(number) = found.filter(|number| self.slots[*number].packets.len() < self.depth) else {
            tally.leave(packet.bytes);
            turn.dropped.push(packet);
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

    /// A queue's first packet puts it at the end of the round.
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

fn refuse(packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
    tally.counters.drops += 1;
    turn.dropped.push(packet);
    Verdict::Dropped
}

fn whole(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Limits of `sfq_change`.
const MOST_FLOWS: u32 = 0x1_0000 - MOST_DEPTH - 1;
const MOST_DEPTH: u32 = 127;
const MOST_DIVISOR: u32 = 65_536;
const SMALLEST_QUANTUM: u32 = 256;
