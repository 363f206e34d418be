//! fq: a queue a socket, served in turn, each packet at its departure time (Linux 6.12 `net/sched/sch_fq.c`).
//!
//! On the host of its sockets TCP has written an earliest departure time into each packet (it is the time stamp that
//! the segment carries anyway); a flow whose next packet is not due yet leaves the round and waits by time. For
//! packets that come from elsewhere there is no such time, and flows are told apart by a hash.
//!
//! ```text
//!             first packet            nothing left after a round
//!  Detached ---------------> new ----------------+
//!     ^                       | nothing left     v     not due yet
//!     +---------------------- + <--------------- old <-------------> Waiting, by time
//! ```
//!
//! Linux 6.7 and newer has three bands by the packets' priority. All packets here have the same one, so one band is
//! all there is to see. A flow that nobody has used for three seconds is not forgotten, as Linux may do.

pub mod config;
mod flow;

use self::flow::{Flow, Standing};
use super::discipline::{Lot, Turn};
use super::flow_hash::mixed;
use super::tally::Tally;
use super::{FqConfig, Next, Verdict};
use crate::packet::{Body, Direction, Ecn, Packet};
use crate::rate::Rate;
use crate::time::{Span, Time};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// Queues by socket.
#[derive(Debug)]
pub(super) struct Fq {
    config: FqConfig,
    is_home: bool,
    flows: Vec<Flow>,
    /// Where the flow of a socket, or of a hash, stands among them.
    numbers: BTreeMap<u64, usize>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// Flows that wait for their time, soonest first, those of one time as they came.
    waiting: BTreeSet<(Time, u64, usize)>,
    waits_so_far: u64,
    /// Packets that pass by all flows while none of these has anything to send.
    fast: VecDeque<Packet>,
    /// Packets in flows.
    packets: u32,
    /// Flows with packets.
    busy: usize,
    /// When the timer that was set last may ring.
    ring_at: Time,
    secret: u64,
}

impl Fq {
    /// Empty.
    pub fn new(config: &FqConfig, lot: &Lot, handle: &str) -> Self {
        Self {
            config: config.clone(),
            is_home: lot.is_home,
            flows: Vec::new(),
            numbers: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            waiting: BTreeSet::new(),
            waits_so_far: 0,
            fast: VecDeque::new(),
            packets: 0,
            busy: 0,
            ring_at: Time::ZERO,
            secret: lot.dice(handle).long(),
        }
    }

    /// Lets a packet in; it may leave when its departure time has come.
    pub fn enqueue(&mut self, mut packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        let horizon = turn.now + self.config.horizon;
        let wished = self.departure(&packet).map_or(turn.now, |time| time.max(turn.now));
        let is_beyond = wished > horizon && self.config.horizon_drop;
        if self.packets >= self.config.limit || is_beyond {
            return refuse(packet, tally, turn);
        }
        packet.queued_at = wished.min(horizon);
        if self.may_pass(packet.queued_at, tally, turn.now) {
            tally.stand(packet.bytes);
            self.fast.push_back(packet);
            return Verdict::Queued;
        }
        let number = self.number_of(&packet, turn.now);
        let flow = &mut self.flows[number];
        if flow.packets.len() as u64 >= u64::from(self.config.flow_limit) {
            return refuse(packet, tally, turn);
        }
        if let Standing::Detached { since } = flow.standing {
            let rest = self.config.refill_delay.as_nanos().div_ceil(Span::from_jiffies(1).as_nanos());
            if turn.now.jiffies() > since + rest {
                flow.credit = flow.credit.max(i64::from(self.config.quantum));
            }
            flow.standing = Standing::Listed;
            self.new.push_back(number);
        }
        self.busy += usize::from(flow.packets.is_empty());
        self.packets += 1;
        tally.stand(packet.bytes);
        flow.packets.push_back(packet);
        Verdict::Queued
    }

    /// The next packet that is due, of the flow whose turn it is.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        if let Some(packet) = self.fast.pop_front() {
            tally.leave(packet.bytes);
            return Next::Packet(packet);
        }
        self.wake(turn.now);
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let Some(&number) = list.front() else { return self.rest(turn.now) };
            let flow = &mut self.flows[number];
            if flow.credit <= 0 {
                flow.credit += i64::from(self.config.quantum);
                list.pop_front();
                self.old.push_back(number);
            } else if let Some(due) = flow.due() {
                if due > turn.now {
                    list.pop_front();
                    self.suspend(number, due);
                    continue;
                }
                return Next::Packet(self.take(number, due, tally, turn.now));
            } else {
                list.pop_front();
                if from_new {
                    self.old.push_back(number); // It passes through the old ones, so that it can't starve them.
                } else {
                    flow.standing = Standing::Detached { since: turn.now.jiffies() | 1 };
                }
            }
        }
    }

    /// New settings. Linux drops what stands beyond a smaller limit: here it stays.
    pub fn change(&mut self, config: &FqConfig) {
        self.config = config.clone();
    }

    /// When its socket lets a packet go; None for packets that carry no such time: those of others, and all but TCP's.
    fn departure(&self, packet: &Packet) -> Option<Time> {
        match &packet.body {
            Body::Tcp(segment) if self.is_home => Some(segment.sent_at),
            _ => None,
        }
    }

    /// May a packet pass by the flows (`fq_fastpath_check`)? It must be due, and no flow may have something to send.
    fn may_pass(&self, due: Time, tally: &Tally, now: Time) -> bool {
        if due > now || self.config.max_rate.is_some() {
            return false;
        }
        let is_quiet = || self.busy == self.waiting.len() && self.waiting.first().is_none_or(|(at, ..)| *at > now);
        tally.backlog.packets == 0 || (self.fast.len() < MOST_FAST && is_quiet())
    }

    /// The packet at the head of a flow leaves.
    fn take(&mut self, number: usize, due: Time, tally: &mut Tally, now: Time) -> Packet {
        let flow = &mut self.flows[number];
        let mut packet = flow.packets.pop_front().expect("a flow that is due has a packet");
        self.busy -= usize::from(flow.packets.is_empty());
        self.packets -= 1;
        tally.leave(packet.bytes);
        if self.config.ce_threshold.is_some_and(|threshold| now.since(due) > threshold) {
            tally.counters.marks += 1; // It counts those that can't be marked too (`fq_dequeue`).
            if packet.ecn.is_capable() {
                packet.ecn = Ecn::Ce;
            }
        }
        flow.credit -= i64::from(packet.bytes);
        if self.config.pacing {
            self.space(number, &packet, now);
        }
        packet
    }

    /// Sets when a flow's next packet may leave, where fq itself limits the rate.
    fn space(&mut self, number: usize, packet: &Packet, now: Time) {
        let has_time = self.departure(packet).is_some();
        let flow = &mut self.flows[number];
        let rate = self.config.max_rate.unwrap_or(Rate::UNLIMITED);
        let mut bytes = packet.bytes;
        if !has_time {
            if rate <= self.config.low_rate_threshold {
                flow.credit = 0;
            } else {
                bytes = bytes.max(self.config.quantum);
                if flow.credit > 0 {
                    return;
                }
            }
        }
        if !rate.is_limited() {
            return;
        }
        let gap = if rate == Rate::ZERO { LONGEST_GAP } else { rate.time_for(u64::from(bytes)).min(LONGEST_GAP) };
        let late = if flow.next_at == Time::ZERO { Span::ZERO } else { now.since(flow.next_at) };
        flow.next_at = now + gap.saturating_sub(late.min(gap / 2));
    }

    /// A flow leaves the round until its next packet is due.
    fn suspend(&mut self, number: usize, due: Time) {
        let flow = &mut self.flows[number];
        flow.next_at = due;
        self.waits_so_far += 1;
        self.waiting.insert((due, self.waits_so_far, number));
    }

    /// Flows whose time has come join the round again (`fq_check_throttled`).
    fn wake(&mut self, now: Time) {
        while let Some(&(at, _, number)) = self.waiting.first() {
            if at > now {
                break;
            }
            self.waiting.pop_first();
            self.old.push_back(number);
        }
    }

    /// Nothing is due. The timer rings a little late, and one that is set for a little later than needed stays so
    /// (`qdisc_watchdog_schedule_range_ns`).
    fn rest(&mut self, now: Time) -> Next {
        let Some(&(soonest, ..)) = self.waiting.first() else { return Next::Empty };
        let slack = self.config.timer_slack;
        let stands = self.ring_at + slack > now && self.ring_at >= soonest && self.ring_at.since(soonest) <= slack;
        if !stands {
            self.ring_at = soonest;
        }
        Next::At(self.ring_at + slack)
    }

    /// The flow of a packet, made now if there is none.
    fn number_of(&mut self, packet: &Packet, now: Time) -> usize {
        let direction = u64::from(packet.direction == Direction::Backward);
        let whose = (u64::from(packet.flow.0) << 1) | direction;
        let has_socket = self.is_home && !matches!(packet.body, Body::Probe { .. });
        let key = if has_socket {
            whose << 32
        } else {
            (mixed(whose ^ self.secret) & u64::from(self.config.orphan_mask)) | 1 << 31
        };
        let flows = &mut self.flows;
        let credit = i64::from(self.config.initial_quantum);
        *self.numbers.entry(key).or_insert_with(|| {
            flows.push(Flow::new(credit, now.jiffies() | 1));
            flows.len() - 1
        })
    }
}

fn refuse(packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
    tally.counters.drops += 1;
    turn.dropped.push(packet);
    Verdict::Dropped
}

/// Packets on the fast path beside flows that wait.
const MOST_FAST: usize = 8;
/// A flow is never held back for longer.
const LONGEST_GAP: Span = Span::from_secs(1);
