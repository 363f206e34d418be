//! netem: what a wide-area path does to packets (Linux `net/sched/sch_netem.c`, tc-netem(8)).
//!
//! A packet is lost, doubled or spoilt when it comes, then gets the time at which it leaves the emulated wire. [`loss`]
//! decides who is lost, [`luck`] draws numbers that remember the last one, [`distribution`] shapes jitter, [`prandom`] has
//! the numbers, [`wire`] keeps packets by time, [`slot`] lets them go in bursts.
//!
//! ```text
//!  packet -> doubled? -> lost? -> spoilt? -> limit? --+--> wire, until its time --+--> [inner] --> out
//!               |                                     |                           |
//!               +--> once more, at the tree's root    +--> front (reordered) -----+--> spoilt ones die
//! ```
//!
//! A spoilt packet dies where it leaves the wire. In Linux it goes on and fails its checksum at the receiver; between
//! here and there it would take other queues' room. (One whose flipped bit lies in a field that nobody checks would
//! live: the source address of its Ethernet header.)

use super::bucket::{instant, nanos, signed};
use super::discipline::{Discipline, Lot, Turn};
use super::tally::Tally;
use super::{NetemConfig, NetemRate, Next, Verdict};
use crate::dice::Dice;
use crate::packet::{Packet, cut};
use crate::time::Time;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use distribution::Jitter;
use loss::LossModel;
use luck::Luck;
use prandom::Prandom;
use slot::Slots;
use wire::{Tag, Wire};

mod distribution;
mod loss;
mod luck;
mod prandom;
mod slot;
#[cfg(test)]
mod tests;
mod wire;

/// A network emulator.
#[derive(Debug)]
pub(super) struct Netem {
    limit: u32,
    jitter: Jitter,
    loss: LossModel,
    duplicate: Luck,
    corrupt: Luck,
    reorder: Luck,
    gap: u32,
    /// Packets since the last one that was reordered.
    since_reordered: u32,
    rate: Option<NetemRate>,
    slots: Option<Box<Slots>>,
    /// What each packet meets; one seed gives one stream of numbers, here and in Linux.
    numbers: Prandom,
    /// Where numbers that remember begin: Linux takes those from elsewhere too.
    dice: Dice,
    wire: Wire,
    /// Packets that skip the wire.
    front: VecDeque<(Tag, Packet)>,
    inner: Option<Box<Discipline>>,
}

impl Netem {
    /// With an empty wire.
    pub fn new(config: &NetemConfig, lot: &Lot, handle: &str) -> Self {
        let mut dice = lot.dice(handle);
        Self {
            limit: config.limit,
            jitter: Jitter::new(config, &mut dice),
            loss: LossModel::new(config.loss, &mut dice),
            duplicate: Luck::new(config.duplicate, &mut dice),
            corrupt: Luck::new(config.corrupt, &mut dice),
            reorder: reorder(config, &mut dice),
            gap: gap(config),
            since_reordered: 0,
            rate: config.rate,
            slots: slots(config),
            numbers: Prandom::seeded(config.seed.unwrap_or_else(|| dice.long())),
            dice,
            wire: Wire::default(),
            front: VecDeque::new(),
            inner: config.inner.as_ref().map(|node| Box::new(Discipline::new(node, lot))),
        }
    }

    /// Decides what becomes of a packet; a lost one counts as sent for whoever sent it.
    pub fn enqueue(&mut self, packet: &Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        let doubled = !turn.is_copy && self.duplicate.strikes(&mut self.numbers);
        let lost = self.loss.strikes(&mut self.numbers);
        if lost && !doubled {
            return die(packet, Verdict::Queued, tally, turn);
        }
        let spoilt = self.corrupt.strikes(&mut self.numbers);
        // A copy comes right behind its original, which stands here already; in Linux it comes before.
        let standing = tally.backlog.packets - u32::from(turn.is_copy && tally.backlog.packets > 0);
        if standing >= self.limit {
            return die(packet, Verdict::Dropped, tally, turn);
        }
        if doubled && !lost {
            tally.counters.duplicated_packets += u64::from(packet.segments);
            tally.counters.duplicated_bytes += u64::from(packet.bytes);
            turn.copies.push(*packet);
        }
        if spoilt && let Some(segments) = cut(*packet) {
            self.admit_segments(segments, tally, turn);
        } else {
            self.admit(packet, spoilt, tally, turn);
        }
        Verdict::Queued
    }

    /// The next packet whose time has come.
    #[inline]
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        let now_ns = nanos(turn.now);
        while let Some((tag, packet)) = self.front.pop_front() {
            tally.leave(packet.bytes);
            if !tag.is_spoilt {
                return Next::Packet(packet);
            }
            spoil(packet, tally, turn);
        }
        while let Some(tag) = self.wire.first() {
            if self.opens_at(tag.due_ns, now_ns) > now_ns {
                break;
            }
            let packet = self.wire.pop();
            if let Some(slots) = &mut self.slots {
                slots.left(packet.bytes, now_ns, &mut self.dice);
            }
            tally.leave(packet.bytes);
            match &mut self.inner {
                _ if tag.is_spoilt => spoil(packet, tally, turn),
                Some(inner) => hand_down(inner, &packet, tag.is_copy, tally, turn),
                None => return Next::Packet(packet),
            }
        }
        self.dequeue_inner(tally, turn)
    }

    /// When the next packet leaves the wire, if none does now and nothing else holds packets.
    #[inline]
    pub fn waits(&self, now: Time) -> Option<Time> {
        if self.inner.is_some() || self.slots.is_some() || !self.front.is_empty() {
            return None;
        }
        match self.wire.first() {
            Some(tag) => (tag.due_ns > nanos(now)).then(|| instant(tag.due_ns)),
            None => Some(Time::NEVER),
        }
    }

    /// New settings; packets on the wire keep their times. Numbers go on; those that remember begin anew, as in Linux.
    pub fn change(&mut self, config: &NetemConfig) {
        let dice = &mut self.dice;
        self.limit = config.limit;
        self.jitter = Jitter::new(config, dice);
        self.loss.change(config.loss, dice);
        self.duplicate = Luck::new(config.duplicate, dice);
        self.corrupt = Luck::new(config.corrupt, dice);
        self.reorder = reorder(config, dice);
        self.gap = gap(config);
        self.since_reordered = 0;
        self.rate = config.rate;
        if self.slots.as_ref().map(|slots| slots.config()) != config.slot {
            self.slots = slots(config);
        }
        if let Some(seed) = config.seed {
            self.numbers = Prandom::seeded(seed);
        }
    }

    /// What packets pass after the wire.
    pub fn inner(&self) -> Option<&Discipline> {
        self.inner.as_deref()
    }

    /// What packets pass after the wire.
    pub fn inner_mut(&mut self) -> Option<&mut Discipline> {
        self.inner.as_deref_mut()
    }

    /// Only the first segment of a super-packet is spoilt; the others come again, one by one.
    #[cold]
    fn admit_segments(&mut self, segments: impl Iterator<Item = Packet>, tally: &mut Tally, turn: &mut Turn) {
        for (number, segment) in segments.enumerate() {
            if number == 0 {
                self.admit(&segment, true, tally, turn);
            } else {
                self.enqueue(&segment, tally, turn);
            }
        }
    }

    /// A packet gets its time, or skips the wire.
    #[inline]
    fn admit(&mut self, packet: &Packet, is_spoilt: bool, tally: &mut Tally, turn: &mut Turn) {
        tally.stand(packet.bytes);
        let now_ns = nanos(turn.now);
        let mut tag = Tag { due_ns: now_ns, is_copy: turn.is_copy, is_spoilt };
        if self.takes_its_turn() {
            tag.due_ns = self.departure(now_ns, packet.bytes);
            self.since_reordered = self.since_reordered.wrapping_add(1);
            self.wire.insert(tag, packet);
        } else {
            self.since_reordered = 0;
            self.front.push_front((tag, *packet));
        }
    }

    fn takes_its_turn(&mut self) -> bool {
        self.gap == 0 || self.since_reordered < self.gap - 1 || !self.reorder.strikes(&mut self.numbers)
    }

    /// When a packet that comes now leaves: after its delay, and with a rate after the packet before it and its own
    /// time on the wire. A delay that the wait before that packet has used up is none (`netem_enqueue`).
    fn departure(&mut self, now_ns: i64, bytes: u32) -> i64 {
        let delay_ns = self.jitter.draw(&mut self.numbers);
        let Some(rate) = self.rate else { return now_ns + delay_ns };
        let sending_ns = time_on_wire(&rate, bytes);
        match self.wire.last_due().max(self.front.back().map(|(tag, _)| tag.due_ns)) {
            Some(last_ns) => last_ns + (delay_ns - (last_ns - now_ns)).max(0) + sending_ns,
            None => now_ns + delay_ns + sending_ns,
        }
    }

    /// When a packet that is due may leave: then, or in the slot that it has to wait for.
    #[inline]
    fn opens_at(&mut self, due_ns: i64, now_ns: i64) -> i64 {
        match &mut self.slots {
            None => due_ns,
            Some(slots) => slots.opens_at(due_ns, now_ns, &mut self.dice),
        }
    }

    /// Nothing leaves the wire now: what waits behind it, or when to come back.
    fn dequeue_inner(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        let slot_ns = self.slots.as_ref().map_or(i64::MIN, |slots| slots.next_ns());
        let due = self.wire.first().map(|tag| instant(tag.due_ns.max(slot_ns)));
        let next = match &mut self.inner {
            Some(inner) => inner.under(tally, |inner| inner.dequeue(turn)),
            None => Next::Empty,
        };
        match (next, due) {
            (Next::At(time), Some(due)) => Next::At(time.min(due)),
            (Next::Empty, Some(due)) => Next::At(due),
            (next, _) => next,
        }
    }
}

/// A packet passes from the wire to the discipline below, which may drop it.
fn hand_down(inner: &mut Discipline, packet: &Packet, is_copy: bool, tally: &mut Tally, turn: &mut Turn) {
    let was_copy = core::mem::replace(&mut turn.is_copy, is_copy);
    inner.under(tally, |inner| inner.enqueue(packet, turn));
    turn.is_copy = was_copy;
}

/// A spoilt packet comes to its end, which tc does not see.
fn spoil(packet: Packet, tally: &mut Tally, turn: &mut Turn) {
    tally.sent(&packet);
    tally.counters.corrupted += 1;
    turn.dropped.push(packet);
}

fn die(packet: &Packet, verdict: Verdict, tally: &mut Tally, turn: &mut Turn) -> Verdict {
    tally.counters.drops += 1;
    turn.dropped.push(*packet);
    verdict
}

/// Bytes with their overhead, in whole cells with theirs, at the rate (`packet_time_ns`).
fn time_on_wire(rate: &NetemRate, bytes: u32) -> i64 {
    let bytes = u64::from(bytes).saturating_add_signed(rate.packet_overhead.into());
    let bytes = match u64::from(rate.cell_size) {
        0 => bytes,
        size => bytes.div_ceil(size) * size.saturating_add_signed(rate.cell_overhead.into()),
    };
    signed(rate.rate.time_for(bytes))
}

fn slots(config: &NetemConfig) -> Option<Box<Slots>> {
    config.slot.map(|slot| Box::new(Slots::new(slot)))
}

/// A gap without a share reorders always (`netem_change`).
fn reorder(config: &NetemConfig, dice: &mut Dice) -> Luck {
    let mut reorder = config.reorder;
    if config.gap > 0 && reorder.chance.0 == 0 {
        reorder.chance.0 = u32::MAX;
    }
    Luck::new(reorder, dice)
}

/// A share without a gap means every packet (`tc/q_netem.c`).
fn gap(config: &NetemConfig) -> u32 {
    if config.reorder.chance.0 > 0 { config.gap.max(1) } else { config.gap }
}
