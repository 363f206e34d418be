//! `fq_codel`: flow queues with a `CoDel` loop each, served by deficit round robin (RFC 8290; Linux
//! `net/sched/sch_fq_codel.c`).
//!
//! A newly active flow is served before the old ones, for one quantum. Over the limit, drop from the head of the
//! largest flow, up to half of its backlog. Flows are identified by a hash, so two may share a queue.

use super::call::{CallContext, QdiscContext};
use super::control::{Control, PacketSource, Params};
use super::flow_hash::FlowHash;
use super::rounds::Rounds;
use super::stats::QdiscStats;
use super::{FqCodelConfig, Next, Verdict};
use crate::packet::{Body, Packet};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// Queues by flow.
#[derive(Debug)]
pub(super) struct FqCodel {
    flows: Vec<Flow>,
    /// Backlog per flow in bytes; a separate array, because it is scanned for the largest.
    backlogs: Vec<u64>,
    rounds: Rounds,
    limit: u32,
    memory: u64,
    memory_limit: u64,
    drop_batch: u32,
    params: Params,
    hash: FlowHash,
}

/// One queue.
#[derive(Clone, Debug, Default)]
struct Flow {
    packets: VecDeque<Packet>,
    control: Control,
}

impl FqCodel {
    /// Empty queues.
    pub fn new(config: &FqCodelConfig, context: &QdiscContext, handle: &str) -> Self {
        let flows = usize::try_from(config.flows.clamp(1, MAX_FLOWS)).expect("65536 flows are a usize");
        let mut this = Self {
            flows: alloc::vec![Flow::default(); flows],
            backlogs: alloc::vec![0; flows],
            rounds: Rounds::new(flows),
            limit: 0,
            memory: 0,
            memory_limit: 0,
            drop_batch: 0,
            params: Params::new(&config.codel),
            hash: FlowHash::new(&mut context.rng(handle)),
        };
        this.change(config);
        this
    }

    /// Enqueues a packet; over a limit, packets of the largest flow are dropped.
    pub fn enqueue(&mut self, mut packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        let number = self.hash.queue_of(&packet, self.flows.len());
        packet.queued_at = ctx.now;
        self.memory += memory_of(&packet);
        self.backlogs[number] += u64::from(packet.bytes);
        stats.add_packet(packet.bytes);
        self.flows[number].packets.push_back(packet);
        self.rounds.join(number);
        if stats.backlog.packets <= self.limit && self.memory <= self.memory_limit {
            return Verdict::Queued;
        }
        if self.drop_some(stats, ctx) == number { Verdict::Congested } else { Verdict::Queued }
    }

    /// Dequeues the next packet in round-robin order.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        while let Some(number) = self.rounds.next() {
            if let Some(packet) = self.next_of(number, stats, ctx) {
                self.rounds.sent(number, packet.bytes);
                return Next::Packet(packet);
            }
            self.rounds.retire(number);
        }
        Next::Empty
    }

    /// Applies new settings; the number of queues stays. Linux drops packets beyond a smaller limit; here they stay.
    pub fn change(&mut self, config: &FqCodelConfig) {
        self.limit = config.limit;
        self.rounds.set_quantum(config.quantum);
        self.memory_limit = config.memory_limit.min(MAX_MEMORY);
        self.drop_batch = config.drop_batch.max(1);
        self.params = Params::new(&config.codel);
    }

    fn next_of(&mut self, number: usize, stats: &mut QdiscStats, ctx: &mut CallContext) -> Option<Packet> {
        let Flow { packets, control, .. } = &mut self.flows[number];
        let (backlog, memory) = (&mut self.backlogs[number], &mut self.memory);
        let mut source = Head { packets, backlog, memory, stats, dropped: ctx.dropped };
        control.next(&self.params, ctx.now, &mut source)
    }

    /// Drops half of the largest flow's backlog, at most `drop_batch` packets; returns the flow's index.
    #[cold]
    fn drop_some(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> usize {
        let mut largest = 0;
        for number in 1..self.backlogs.len() {
            if self.backlogs[number] > self.backlogs[largest] {
                largest = number;
            }
        }
        let Flow { packets, control, .. } = &mut self.flows[largest];
        let (backlog, memory) = (&mut self.backlogs[largest], &mut self.memory);
        let enough = *backlog / 2;
        let (mut bytes, mut count) = (0, 0);
        let mut source = Head { packets, backlog, memory, stats, dropped: ctx.dropped };
        while let Some(packet) = source.pop() {
            bytes += u64::from(packet.bytes);
            count += 1;
            source.drop_packet(packet);
            if count >= self.drop_batch || bytes >= enough {
                break;
            }
        }
        control.add_drops(count);
        largest
    }
}

/// A control loop's access to its queue.
struct Head<'a> {
    packets: &'a mut VecDeque<Packet>,
    backlog: &'a mut u64,
    memory: &'a mut u64,
    stats: &'a mut QdiscStats,
    dropped: &'a mut Vec<Packet>,
}

impl PacketSource for Head<'_> {
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        *self.backlog -= u64::from(packet.bytes);
        *self.memory -= memory_of(&packet);
        self.stats.leave(packet.bytes);
        Some(packet)
    }

    fn backlog_bytes(&self) -> u64 {
        self.stats.backlog.bytes
    }

    fn drop_packet(&mut self, packet: Packet) {
        self.stats.counters.drops += 1;
        self.dropped.push(packet);
    }

    fn marked(&mut self) {
        self.stats.counters.marks += 1;
    }
}

/// Kernel memory of a packet (`skb->truesize`), computed: payload in pages plus head, `sk_buff` and shared info. A pure
/// ACK counts 2 (`skb_set_tcp_pure_ack`).
pub(super) fn memory_of(packet: &Packet) -> u64 {
    match packet.body {
        Body::Tcp(segment) if segment.len == 0 && !segment.flags.syn && !segment.flags.fin => PURE_ACK_MEMORY,
        Body::Tcp(segment) => SKB_MEMORY + u64::from(segment.len),
        Body::Udp { .. } | Body::Probe { .. } => SKB_MEMORY + u64::from(packet.bytes),
    }
}

/// Head of 384, `struct sk_buff` of 256 and `skb_shared_info` of 320 bytes on 64-bit hosts.
const SKB_MEMORY: u64 = 960;
/// Linux `include/net/tcp.h`, `skb_set_tcp_pure_ack`.
const PURE_ACK_MEMORY: u64 = 2;
/// Limits of `fq_codel_change`.
const MAX_FLOWS: u32 = 65_536;
const MAX_MEMORY: u64 = 1 << 31;
