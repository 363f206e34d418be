//! `fq_codel`: a queue a flow, each with a control loop, served in turn (RFC 8290; Linux `net/sched/sch_fq_codel.c`).
//!
//! A flow that has been quiet is new: it is served before the old ones, for one quantum. When too much stands, the
//! fattest flow loses half of its backlog at its head. Flows are told apart by a hash, so two may share a queue.

use super::control::{Bin, Control, Params};
use super::discipline::{Lot, Turn};
use super::flow_hash::FlowHash;
use super::rounds::Rounds;
use super::tally::Tally;
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
    /// Bytes a flow, apart from the flows because the fattest one is searched for.
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
    /// Empty.
    pub fn new(config: &FqCodelConfig, lot: &Lot, handle: &str) -> Self {
        let flows = usize::try_from(config.flows.clamp(1, MOST_FLOWS)).expect("65536 flows are a usize");
        let mut this = Self {
            flows: alloc::vec![Flow::default(); flows],
            backlogs: alloc::vec![0; flows],
            rounds: Rounds::new(flows),
            limit: 0,
            memory: 0,
            memory_limit: 0,
            drop_batch: 0,
            params: Params::new(&config.codel),
            hash: FlowHash::new(&mut lot.dice(handle)),
        };
        this.change(config);
        this
    }

    /// Lets a packet in; when that is too much, packets of the fattest flow die.
    pub fn enqueue(&mut self, mut packet: Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        let number = self.hash.queue_of(&packet, self.flows.len());
        packet.queued_at = turn.now;
        self.memory += memory_of(&packet);
        self.backlogs[number] += u64::from(packet.bytes);
        tally.stand(packet.bytes);
        self.flows[number].packets.push_back(packet);
        self.rounds.join(number);
        if tally.backlog.packets <= self.limit && self.memory <= self.memory_limit {
            return Verdict::Queued;
        }
        if self.thin_out(tally, turn) == number { Verdict::Congested } else { Verdict::Queued }
    }

    /// The next packet of the flow whose turn it is.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        while let Some(number) = self.rounds.next() {
            if let Some(packet) = self.next_of(number, tally, turn) {
                self.rounds.sent(number, packet.bytes);
                return Next::Packet(packet);
            }
            self.rounds.retire(number);
        }
        Next::Empty
    }

    /// New settings; the number of flows stays. Linux drops what stands beyond a smaller limit: here it stays.
    pub fn change(&mut self, config: &FqCodelConfig) {
        self.limit = config.limit;
        self.rounds.set_quantum(config.quantum);
        self.memory_limit = config.memory_limit.min(MOST_MEMORY);
        self.drop_batch = config.drop_batch.max(1);
        self.params = Params::new(&config.codel);
    }

    fn next_of(&mut self, number: usize, tally: &mut Tally, turn: &mut Turn) -> Option<Packet> {
        let Flow { packets, control, .. } = &mut self.flows[number];
        let (backlog, memory) = (&mut self.backlogs[number], &mut self.memory);
        let mut bin = Head { packets, backlog, memory, tally, dropped: turn.dropped };
        control.next(&self.params, turn.now, &mut bin)
    }

    /// The fattest flow loses half of its bytes, but no more packets than `drop_batch`; says which one it was.
    #[cold]
    fn thin_out(&mut self, tally: &mut Tally, turn: &mut Turn) -> usize {
        let mut fattest = 0;
        for number in 1..self.backlogs.len() {
            if self.backlogs[number] > self.backlogs[fattest] {
                fattest = number;
            }
        }
        let Flow { packets, control, .. } = &mut self.flows[fattest];
        let (backlog, memory) = (&mut self.backlogs[fattest], &mut self.memory);
        let enough = *backlog / 2;
        let (mut bytes, mut count) = (0, 0);
        let mut bin = Head { packets, backlog, memory, tally, dropped: turn.dropped };
        while let Some(packet) = bin.pop() {
            bytes += u64::from(packet.bytes);
            count += 1;
            bin.kill(packet);
            if count >= self.drop_batch || bytes >= enough {
                break;
            }
        }
        control.add_drops(count);
        fattest
    }
}

/// One queue as its control loop sees it.
struct Head<'a> {
    packets: &'a mut VecDeque<Packet>,
    backlog: &'a mut u64,
    memory: &'a mut u64,
    tally: &'a mut Tally,
    dropped: &'a mut Vec<Packet>,
}

impl Bin for Head<'_> {
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        *self.backlog -= u64::from(packet.bytes);
        *self.memory -= memory_of(&packet);
        self.tally.leave(packet.bytes);
        Some(packet)
    }

    fn backlog_bytes(&self) -> u64 {
        self.tally.backlog.bytes
    }

    fn kill(&mut self, packet: Packet) {
        self.tally.counters.drops += 1;
        self.dropped.push(packet);
    }

    fn marked(&mut self) {
        self.tally.counters.marks += 1;
    }
}

/// What a packet costs in kernel memory (`skb->truesize`), reckoned: its payload lies in pages, and around it are a
/// head, its `sk_buff` and its shared information. A pure acknowledgement counts 2 (`skb_set_tcp_pure_ack`).
pub(super) fn memory_of(packet: &Packet) -> u64 {
    match packet.body {
        Body::Tcp(segment) if segment.len == 0 && !segment.flags.syn && !segment.flags.fin => PURE_ACK_MEMORY,
        Body::Tcp(segment) => SKB_MEMORY + u64::from(segment.len),
        Body::Udp { .. } | Body::Probe { .. } => SKB_MEMORY + u64::from(packet.bytes),
    }
}

/// Head of 384, `struct sk_buff` of 256, `skb_shared_info` of 320 bytes on a 64-bit machine.
const SKB_MEMORY: u64 = 960;
/// Linux `include/net/tcp.h`, `skb_set_tcp_pure_ack`.
const PURE_ACK_MEMORY: u64 = 2;
/// Limits of `fq_codel_change`.
const MOST_FLOWS: u32 = 65_536;
const MOST_MEMORY: u64 = 1 << 31;
