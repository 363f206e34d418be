//! fq: a queue per socket, round robin, each packet sent at its departure time (Linux 6.12 `net/sched/sch_fq.c`).
//!
//! On the sending host TCP writes an earliest departure time into each packet (here, its timestamp). A flow whose next
//! packet is not due leaves the round and waits in order of time. Forwarded packets have no departure time, and their
//! flows are identified by a hash.
//!
//! ```text
//!             first packet            nothing left after a round
//!  Detached ---------------> new ----------------+
//!     ^                       | nothing left     v     not due yet
//!     +---------------------- + <--------------- old <-------------> Waiting, by time
//! ```
//!
//! Linux 6.7 and newer has three priority bands, served by deficit round robin. All packets here have the priority of
//! band 1, but Linux lists a flow that it has never seen in band 0, because it writes a flow's band after it lists the
//! flow. A new flow therefore waits until band 1 has used its credit. Linux may forget a flow after three idle seconds;
//! here flows stay.

mod bands;
mod flow;
use self::bands::{Bands, List};
use self::flow::{Flow, FlowState};
use super::call::{CallContext, QdiscContext};
use super::flow_hash::{flow_input, hash_input, mixed};
use super::stats::QdiscStats;
use super::{FqConfig, Next, Verdict};
use crate::packet::{Body, Ecn, Packet};
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
    /// Index of the flow of a socket or of a hash.
    numbers: BTreeMap<u64, usize>,
    bands: Bands,
    /// Throttled flows by time; ties in order of arrival.
    waiting: BTreeSet<(Time, u64, usize)>,
    waits_so_far: u64,
    /// Fast path: packets that bypass the flows while no flow has a packet to send.
    fast: VecDeque<Packet>,
    /// Packets in flows.
    packets: u32,
    /// Flows with packets.
    busy: usize,
    /// Earliest time of the timer set last.
    ring_at: Time,
    secret: u64,
}

impl Fq {
    /// No flows.
    pub fn new(config: &FqConfig, context: &QdiscContext, handle: &str) -> Self {
        Self {
            config: config.clone(),
            is_home: context.is_home,
            flows: Vec::new(),
            numbers: BTreeMap::new(),
            bands: Bands::new(),
            waiting: BTreeSet::new(),
            waits_so_far: 0,
            fast: VecDeque::new(),
            packets: 0,
            busy: 0,
            ring_at: Time::ZERO,
            secret: context.rng(handle).next_u64(),
        }
    }

    /// Enqueues a packet; it may leave at its departure time.
    pub fn enqueue(&mut self, mut packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        let horizon = ctx.now + self.config.horizon;
        let departs_at = self.departure(&packet).map_or(ctx.now, |time| time.max(ctx.now));
        let is_beyond = departs_at > horizon && self.config.horizon_drop;
        if self.packets >= self.config.limit || is_beyond {
            return refuse(packet, stats, ctx);
        }
        packet.queued_at = departs_at.min(horizon);
        if self.may_pass(packet.queued_at, stats, ctx.now) {
            stats.add_packet(packet.bytes);
            self.fast.push_back(packet);
            return Verdict::Queued;
        }
        let number = self.number_of(&packet, ctx.now);
        let flow = &mut self.flows[number];
        if flow.packets.len() as u64 >= u64::from(self.config.flow_limit) {
            return refuse(packet, stats, ctx);
        }
        if let FlowState::Detached { since } = flow.state {
            let rest = self.config.refill_delay.as_nanos().div_ceil(Span::from_jiffies(1).as_nanos());
            if ctx.now.jiffies() > since + rest {
                flow.credit = flow.credit.max(i64::from(self.config.quantum));
            }
            flow.state = FlowState::Listed;
            self.bands.append(List::New, flow.band, number);
        }
        flow.band = BAND;
        self.busy += usize::from(flow.packets.is_empty());
        self.packets += 1;
        stats.add_packet(packet.bytes);
        flow.packets.push_back(packet);
        Verdict::Queued
    }

    /// Dequeues the next packet that is due.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        if let Some(packet) = self.fast.pop_front() {
            stats.leave(packet.bytes);
            return Next::Packet(packet);
        }
        self.wake(ctx.now);
        loop {
            let Some((list, number)) = self.bands.first() else { return self.rest(ctx.now) };
            let flow = &mut self.flows[number];
            if flow.credit <= 0 {
                flow.credit += i64::from(self.config.quantum);
                self.bands.remove(list);
                self.bands.append(List::Old, flow.band, number);
            } else if let Some(departs_at) = flow.departs_at() {
                if departs_at > ctx.now {
                    self.bands.remove(list);
                    self.throttle(number, departs_at);
                    continue;
                }
                return Next::Packet(self.take(number, departs_at, stats, ctx.now));
            } else {
                self.bands.remove(list);
                match list {
                    // It passes through the old list, so that it cannot starve old flows.
                    List::New => self.bands.append(List::Old, flow.band, number),
                    List::Old => flow.state = FlowState::Detached { since: ctx.now.jiffies() | 1 },
                }
            }
        }
    }

    /// Applies new settings. Linux drops packets beyond a smaller limit; here they stay.
    pub fn change(&mut self, config: &FqConfig) {
        self.config = config.clone();
    }

    /// Departure time set by the socket; None for forwarded packets and for protocols other than TCP.
    fn departure(&self, packet: &Packet) -> Option<Time> {
        match &packet.body {
            Body::Tcp(segment) if self.is_home => Some(segment.sent_at),
            _ => None,
        }
    }

    /// Whether a packet may take the fast path (`fq_fastpath_check`): it must be due, and no flow may have a packet to
    /// send.
    fn may_pass(&self, departs_at: Time, stats: &QdiscStats, now: Time) -> bool {
        if departs_at > now || self.config.max_rate.is_some() {
            return false;
        }
        let is_quiet = || self.busy == self.waiting.len() && self.waiting.first().is_none_or(|(at, ..)| *at > now);
        stats.backlog.packets == 0 || (self.fast.len() < MAX_FAST && is_quiet())
    }

    /// Removes the head of a flow.
    fn take(&mut self, number: usize, departs_at: Time, stats: &mut QdiscStats, now: Time) -> Packet {
        let flow = &mut self.flows[number];
        let mut packet = flow.packets.pop_front().expect("a flow that is due has a packet");
        self.busy -= usize::from(flow.packets.is_empty());
        self.packets -= 1;
        stats.leave(packet.bytes);
        if self.config.ce_threshold.is_some_and(|threshold| now.since(departs_at) > threshold) {
            stats.counters.marks += 1; // Also counts packets that cannot be marked (`fq_dequeue`).
            if packet.ecn.is_capable() {
                packet.ecn = Ecn::Ce;
            }
        }
        flow.credit -= i64::from(packet.bytes);
        self.bands.charge(packet.bytes);
        if self.config.pacing {
            self.space(number, &packet, now);
        }
        packet
    }

    /// Sets the earliest time of a flow's next packet where fq itself limits the rate.
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
        let gap = if rate == Rate::ZERO { MAX_GAP } else { rate.time_for(u64::from(bytes)).min(MAX_GAP) };
        let late = if flow.next_at == Time::ZERO { Span::ZERO } else { now.since(flow.next_at) };
        flow.next_at = now + gap.saturating_sub(late.min(gap / 2));
    }

    /// Throttles a flow until its next packet is due.
    fn throttle(&mut self, number: usize, departs_at: Time) {
        let flow = &mut self.flows[number];
        flow.next_at = departs_at;
        self.waits_so_far += 1;
        self.waiting.insert((departs_at, self.waits_so_far, number));
    }

    /// Returns throttled flows that are due to the round (`fq_check_throttled`).
    fn wake(&mut self, now: Time) {
        while let Some(&(at, _, number)) = self.waiting.first() {
            if at > now {
                break;
            }
            self.waiting.pop_first();
            self.bands.append(List::Old, self.flows[number].band, number);
        }
    }

    /// No packet is due. The timer fires slightly late, and a timer set slightly later than needed is kept
    /// (`qdisc_watchdog_schedule_range_ns`).
    fn rest(&mut self, now: Time) -> Next {
        let Some(&(soonest, ..)) = self.waiting.first() else { return Next::Empty };
        let slack = self.config.timer_slack;
        let is_timer_kept =
            self.ring_at + slack > now && self.ring_at >= soonest && self.ring_at.since(soonest) <= slack;
        if !is_timer_kept {
            self.ring_at = soonest;
        }
        Next::At(self.ring_at + slack)
    }

    /// The flow of a packet, created if absent.
    fn number_of(&mut self, packet: &Packet, now: Time) -> usize {
        let has_socket = self.is_home && !matches!(packet.body, Body::Probe { .. });
        let key = if has_socket {
            flow_input(packet) << 32
        } else {
            (mixed(hash_input(packet) ^ self.secret) & u64::from(self.config.orphan_mask)) | 1 << 31
        };
        let flows = &mut self.flows;
        let credit = i64::from(self.config.initial_quantum);
        *self.numbers.entry(key).or_insert_with(|| {
            flows.push(Flow::new(credit, now.jiffies() | 1));
            flows.len() - 1
        })
    }
}

fn refuse(packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
    stats.counters.drops += 1;
    ctx.dropped.push(packet);
    Verdict::Dropped
}

/// The band of a packet without a priority (`sch_default_prio2band`).
const BAND: usize = 1;
/// Maximum packets on the fast path while flows are throttled.
const MAX_FAST: usize = 8;
/// Maximum time for which a flow is throttled.
const MAX_GAP: Span = Span::from_secs(1);
