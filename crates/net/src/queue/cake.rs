//! cake: a shaper, fair queueing among hosts and flows, and a control loop per flow (Linux 6.12 `net/sched/sch_cake.c`;
//! T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE", 2018).
//!
//! ```text
//!   packet --> [acks] --> queue of its flow [flows] --> round [rounds] --> control loop [cobalt] --> shaper --> out
//!                             |
//!                             +-- too much memory: the longest queue loses its head
//! ```
//!
//! cake first sorts packets into tins by DSCP. All packets here have DSCP 0, so there is one tin, with the rate and
//! times of the tin to which Linux assigns DSCP 0 ([`config`]).
//!
//! | module | decides |
//! | --- | --- |
//! | `flows` | which queue a packet enters, and its quantum |
//! | `rounds` | which queue sends next |
//! | `cobalt` | which packets are marked or dropped |
//! | `shaper`, `link` | when a packet may leave, and its size on the link |
//! | `acks` | which ACKs are superseded |

mod acks;
mod cobalt;
mod flows;
mod link;
mod rounds;
mod shaper;
#[cfg(test)]
mod tests;

use self::cobalt::Params;
use self::flows::{Flows, Hashes, QUEUES};
use self::rounds::Rounds;
use self::shaper::Shaper;
use super::bucket::{instant, nanos};
use super::call::{CallContext, QdiscContext};
use super::flow_hash::{hash_input, mixed};
use super::fq_codel::memory_of;
use super::stats::QdiscStats;
use super::{AckFilter, CakeConfig, Next, Verdict};
use crate::packet::{Direction, Packet, cut};
use crate::rate::Rate;
use crate::rng::Rng;
use alloc::vec;
use alloc::vec::Vec;

/// Shaper, queues and control loops.
#[derive(Debug)]
pub(super) struct Cake {
    config: CakeConfig,
    params: Params,
    flow_quantum: u32,
    shaper: Shaper,
    flows: Flows,
    rounds: Rounds,
    /// Backlog per queue in bytes; a separate array, because it is scanned for the longest.
    backlogs: Vec<u64>,
    memory: u64,
    memory_limit: u64,
    /// Sender's and receiver's host of every flow.
    ends: Vec<[u32; 2]>,
    rng: Rng,
    secret: u64,
}

impl Cake {
    /// An empty cake.
    pub fn new(config: &CakeConfig, context: &QdiscContext, handle: &str) -> Self {
        let mut rng = context.rng(handle);
        Self {
            config: config.clone(),
            params: params(config),
            flow_quantum: flow_quantum(config.tin_rate),
            shaper: Shaper::new(config.rate),
            flows: Flows::new(config.isolation),
            rounds: Rounds::default(),
            backlogs: vec![0; QUEUES],
            memory: 0,
            memory_limit: memory_limit(config),
            ends: context.ends.to_vec(),
            secret: rng.next_u64(),
            rng,
        }
    }

    /// Enqueues a packet; over the memory limit, packets of the longest queue are dropped.
    pub fn enqueue(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        let index = self.flows.index(self.hashes_of(packet));
        if stats.backlog.packets == 0 && self.shaper.begin(nanos(ctx.now)) {
            stats.counters.overlimits += 1;
        }
        let segments = if self.config.split_gso { cut(*packet) } else { None };
        if let Some(segments) = segments {
            ctx.cuts += packet.segments - 1;
            segments.for_each(|segment| self.add_packet(index, segment, stats, ctx));
        } else {
            self.add_packet(index, *packet, stats, ctx);
            self.filter_acks(index, stats, ctx);
        }
        let quantum = self.flow_quantum;
        self.rounds.join(index, &mut self.flows, |flows| flows.quantum(index, quantum, &mut self.rng));
        let mut is_own = false;
        while self.memory > self.memory_limit && stats.backlog.packets > 0 {
            is_own |= self.drop_longest(stats, ctx) == index;
        }
        if is_own { Verdict::Congested } else { Verdict::Queued }
    }

    /// Dequeues the next packet if the shaper permits.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let now_ns = nanos(ctx.now);
        let mut is_first = true;
        while stats.backlog.packets > 0 {
            if let Some(opens_ns) = self.shaper.closed_until(now_ns) {
                stats.counters.overlimits += 1;
                return Next::At(instant(opens_ns));
            }
            if let Some(packet) = self.serve_round(&mut is_first, stats, ctx) {
                return Next::Packet(packet);
            }
        }
        Next::Empty
    }

    /// Applies new settings; queued packets and clocks stay.
    pub fn change(&mut self, config: &CakeConfig) {
        self.params = params(config);
        self.flow_quantum = flow_quantum(config.tin_rate);
        self.shaper.reshape(config.rate);
        self.flows.reshape(config.isolation);
        self.memory_limit = memory_limit(config);
        self.config = config.clone();
    }

    /// Serves queues in turn until a packet leaves or a queue is empty.
    fn serve_round(&mut self, is_first: &mut bool, stats: &mut QdiscStats, ctx: &mut CallContext) -> Option<Packet> {
        loop {
            let (quantum, rng) = (self.flow_quantum, &mut self.rng);
            let share = |flows: &Flows, index| flows.quantum(index, quantum, rng);
            let index = self.rounds.next(&mut self.flows, is_first, share)?;
            match self.serve(index, stats, ctx) {
                Served::Packet(packet) => return Some(packet),
                Served::Dropped => {}
                Served::Empty => {
                    let cobalt = &mut self.flows.all[index].cobalt;
                    cobalt.runs_empty(&self.params, nanos(ctx.now));
                    let is_settled = cobalt.is_settled(nanos(ctx.now));
                    self.rounds.leave(index, &mut self.flows, is_settled);
                    return None;
                }
            }
        }
    }

    fn add_packet(&mut self, index: usize, mut packet: Packet, stats: &mut QdiscStats, ctx: &CallContext) {
        packet.queued_at = ctx.now;
        self.memory += memory_of(&packet);
        self.backlogs[index] += u64::from(packet.bytes);
        stats.add_packet(packet.bytes);
        self.flows.all[index].packets.push_back(packet);
    }

    /// Removes the oldest packet of a queue.
    fn pop(&mut self, index: usize, stats: &mut QdiscStats) -> Option<Packet> {
        let packet = self.flows.all[index].packets.pop_front()?;
        self.forget(index, &packet, stats);
        Some(packet)
    }

    fn forget(&mut self, index: usize, packet: &Packet, stats: &mut QdiscStats) {
        self.memory -= memory_of(packet);
        self.backlogs[index] -= u64::from(packet.bytes);
        stats.leave(packet.bytes);
    }

    fn filter_acks(&mut self, index: usize, stats: &mut QdiscStats, ctx: &mut CallContext) {
        let packets = &mut self.flows.all[index].packets;
        let useless = match self.config.ack_filter {
            AckFilter::None => None,
            AckFilter::Filter => acks::filter(packets, false),
            AckFilter::Aggressive => acks::filter(packets, true),
        };
        let Some(packet) = useless else { return };
        self.forget(index, &packet, stats);
        self.drop_packet(packet, stats, ctx);
    }

    /// Dequeues a packet that the control loop passes. With `ingress`, the scheduler runs again after each drop.
    fn serve(&mut self, index: usize, stats: &mut QdiscStats, ctx: &mut CallContext) -> Served {
        let bulk_flows = if self.config.ingress { self.rounds.bulk() } else { 0 };
        while let Some(mut packet) = self.pop(index, stats) {
            let flow = &mut self.flows.all[index];
            let cobalt = &mut flow.cobalt;
            let condemned = cobalt.judges(&self.params, nanos(ctx.now), &mut packet, bulk_flows, &mut self.rng);
            let is_marked = cobalt.marked;
            if !condemned || flow.packets.is_empty() {
                let bytes = self.config.link.bytes(&packet);
                flow.deficit -= i64::from(bytes);
                self.shaper.advance(bytes, false);
                stats.counters.marks += u64::from(is_marked);
                return Served::Packet(packet);
            }
            if self.config.ingress {
                flow.deficit -= i64::from(self.config.link.bytes(&packet));
            }
            self.drop_packet(packet, stats, ctx);
            if self.config.ingress {
                return Served::Dropped;
            }
        }
        Served::Empty
    }

    /// Drops the head of the longest queue; returns its index.
    #[cold]
    fn drop_longest(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> usize {
        let longest = self.flows.longest(&self.backlogs);
        if let Some(packet) = self.pop(longest, stats) {
            self.flows.all[longest].cobalt.overflows(&self.params, nanos(ctx.now));
            self.drop_packet(packet, stats, ctx);
        }
        longest
    }

    /// Drops a packet. With `ingress`, the packet has already used the link.
    fn drop_packet(&mut self, packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) {
        if self.config.ingress {
            self.shaper.advance(self.config.link.bytes(&packet), true);
        }
        stats.counters.drops += 1;
        ctx.dropped.push(packet);
    }

    /// Hashes of a packet's flow (per direction) and of its sending and receiving host.
    fn hashes_of(&self, packet: &Packet) -> Hashes {
        let is_backward = packet.direction == Direction::Backward;
        let index = usize::try_from(packet.flow.0).expect("32 bits are a usize");
        let [sender, receiver] = self.ends.get(index).copied().unwrap_or([0, 1]);
        let [source, target] = if is_backward { [receiver, sender] } else { [sender, receiver] };
        let host = |host: u32| self.hash(u64::from(host) | HOSTS);
        Hashes { flow: self.hash(hash_input(packet)), source: host(source), target: host(target) }
    }

    fn hash(&self, number: u64) -> u32 {
        u32::try_from(mixed(number ^ self.secret) >> 32).expect("the upper half has 32 bits")
    }
}

/// Result of serving a queue.
enum Served {
    /// This packet leaves.
    Packet(Packet),
    /// A packet was dropped; serve again.
    Dropped,
    /// The queue is empty.
    Empty,
}

fn params(config: &CakeConfig) -> Params {
    Params::new(config.tin_rate, config.mtu, config.target, config.interval)
}

/// The quantum: a quarter of a millisecond at the rate, between 300 bytes and one packet.
fn flow_quantum(rate: Option<Rate>) -> u32 {
    let bytes = rate.map_or(MAX_QUANTUM, |rate| (rate.as_bytes() >> 12).clamp(MIN_QUANTUM, MAX_QUANTUM));
    u32::try_from(bytes).expect("a quantum is below 1515")
}

/// Memory limit in bytes (`cake_reconfigure`).
fn memory_limit(config: &CakeConfig) -> u64 {
    let configured = config.memory_limit.unwrap_or(0);
    let of_rate = |rate: Rate| (rate.bytes_in(config.interval) * 4).max(MIN_MEMORY);
    let limit = if configured > 0 { configured } else { config.rate.map_or(u64::from(u32::MAX), of_rate) };
    limit.min(configured.max(MAX_PACKETS * u64::from(config.mtu)))
}

const MIN_QUANTUM: u64 = 300;
const MAX_QUANTUM: u64 = 1_514;
const MIN_MEMORY: u64 = 4 << 20;
/// The discipline's `limit`, which tc cannot change.
const MAX_PACKETS: u64 = 10_240;
/// Separates hash inputs of hosts from those of flows.
const HOSTS: u64 = 1 << 40;
