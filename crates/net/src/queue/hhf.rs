//! hhf: the heavy-hitter filter, which separates flows that send much from the others (Linux `net/sched/sch_hhf.c`;
//! Estan and Varghese 2002).
//!
//! Each packet adds its bytes to one counter in each of four arrays; only the smallest of them grows. A flow whose
//! smallest counter exceeds `admit_bytes` before the next reset is a heavy hitter, and all its packets go to the second
//! of two fifos, until it has been silent for `evict_timeout`. The two are served by deficit round robin as in
//! `fq_codel`, and the first has `non_hh_weight` times the quantum. Over the limit, drop from the head of the second.

use super::call::{CallContext, QdiscContext};
use super::flow_hash::FlowHash;
use super::rounds::Rounds;
use super::stats::QdiscStats;
use super::{HhfConfig, Next, Verdict};
use crate::packet::Packet;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// Two fifos and the filter.
#[derive(Debug)]
pub(super) struct Hhf {
    config: HhfConfig,
    fifos: [VecDeque<Packet>; 2],
    rounds: Rounds,
    filter: Filter,
}

/// Decides which flows are heavy hitters.
#[derive(Debug)]
struct Filter {
    hash: FlowHash,
    counters: Box<[[u32; COUNTERS]; ARRAYS]>,
    reset_at: u64,
    /// Heavy hitters by the last bits of their hash.
    heavy: Vec<Vec<Heavy>>,
    count: u32,
}

/// A heavy hitter.
#[derive(Clone, Copy, Debug)]
struct Heavy {
    hash: u32,
    /// Jiffy of its last packet.
    seen: u64,
}

impl Hhf {
    /// Empty queues; no flow is a heavy hitter.
    pub fn new(config: &HhfConfig, context: &QdiscContext, handle: &str) -> Self {
        let filter = Filter {
            hash: FlowHash::new(&mut context.rng(handle)),
            counters: Box::new([[0; COUNTERS]; ARRAYS]),
            reset_at: 0,
            heavy: vec![Vec::new(); COUNTERS],
            count: 0,
        };
        let (fifos, rounds) = ([VecDeque::new(), VecDeque::new()], Rounds::new(2));
        let mut this = Self { config: *config, fifos, rounds, filter };
        this.change(config);
        this
    }

    /// Enqueues a packet; over the limit the oldest packet of the heavy hitters is dropped.
    pub fn enqueue(&mut self, packet: Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        let number = if self.filter.is_heavy(&packet, &self.config, ctx.age_jiffies()) { HEAVY } else { OTHERS };
        stats.add_packet(packet.bytes);
        self.fifos[number].push_back(packet);
        match number {
            HEAVY => self.rounds.join_old(HEAVY),
            _ => self.rounds.join(OTHERS),
        }
        if stats.backlog.packets <= self.config.limit {
            return Verdict::Queued;
        }
        let from = if self.fifos[HEAVY].is_empty() { OTHERS } else { HEAVY };
        if let Some(oldest) = self.fifos[from].pop_front() {
            stats.leave(oldest.bytes);
            stats.counters.drops += 1;
            ctx.dropped.push(oldest);
        }
        if from == number { Verdict::Congested } else { Verdict::Queued }
    }

    /// Dequeues the next packet in round-robin order.
    pub fn dequeue(&mut self, stats: &mut QdiscStats) -> Next {
        while let Some(number) = self.rounds.next() {
            if let Some(packet) = self.fifos[number].pop_front() {
                stats.leave(packet.bytes);
                self.rounds.sent(number, packet.bytes);
                return Next::Packet(packet);
            }
            self.rounds.retire(number);
        }
        Next::Empty
    }

    /// Applies new settings. Linux drops packets beyond a smaller limit; here they stay.
    pub fn change(&mut self, config: &HhfConfig) {
        self.config = *config;
        self.rounds.set_quantum_of(HEAVY, config.quantum);
        self.rounds.set_quantum_of(OTHERS, config.quantum.saturating_mul(config.non_hh_weight));
    }
}

impl Filter {
    /// Counts a packet; whether its flow is a heavy hitter (`hhf_classify`).
    fn is_heavy(&mut self, packet: &Packet, config: &HhfConfig, now: u64) -> bool {
        if self.reset_at + config.reset_timeout < now {
            self.counters.iter_mut().for_each(|array| array.fill(0));
            self.reset_at = now;
        }
        let hash = self.hash.hash_of(packet);
        let is_expired = |flow: &Heavy| flow.seen + config.evict_timeout < now;
        if let Some(flow) = self.known(hash, is_expired) {
            flow.seen = now;
            return true;
        }
        let slots = slots(hash);
        let values = self.counters.iter().zip(slots).map(|(array, slot)| array[slot].wrapping_add(packet.bytes));
        let least = values.min().unwrap_or(0);
        if least > config.admit_bytes {
            return self.admit(Heavy { hash, seen: now }, config.hh_limit, is_expired);
        }
        for (array, slot) in self.counters.iter_mut().zip(slots) {
            array[slot] = array[slot].max(least);
        }
        false
    }

    /// The heavy hitter with this hash. Expired ones before it are removed, but not the last of a list (`seek_list`).
    fn known(&mut self, hash: u32, is_expired: impl Fn(&Heavy) -> bool) -> Option<&mut Heavy> {
        let list = &mut self.heavy[slot(hash)];
        let mut index = 0;
        while index < list.len() {
            if !is_expired(&list[index]) {
                if list[index].hash == hash {
                    return list.get_mut(index);
                }
                index += 1;
            } else if index + 1 == list.len() {
                return None;
            } else {
                list.remove(index);
                self.count -= 1;
            }
        }
        None
    }

    /// Adds a heavy hitter in place of an expired one, or if there are fewer than `limit`; whether it was added.
    fn admit(&mut self, flow: Heavy, limit: u32, is_expired: impl Fn(&Heavy) -> bool) -> bool {
        let list = &mut self.heavy[slot(flow.hash)];
        if let Some(expired) = list.iter_mut().find(|flow| is_expired(flow)) {
            *expired = flow;
            return true;
        }
        if self.count >= limit {
            return false;
        }
        self.count += 1;
        list.push(flow);
        true
    }
}

/// The counter in each array: three parts of the hash, and their exclusive or.
fn slots(hash: u32) -> [usize; ARRAYS] {
    let parts = [slot(hash), slot(hash >> COUNTER_BITS), slot(hash >> (2 * COUNTER_BITS))];
    let rest = hash >> (3 * COUNTER_BITS);
    [parts[0], parts[1], parts[2], parts[0] ^ parts[1] ^ parts[2] ^ slot(rest)]
}

/// The last bits of a hash.
fn slot(hash: u32) -> usize {
    usize::try_from(hash).unwrap_or(usize::MAX) & (COUNTERS - 1)
}

/// The fifo of heavy hitters, and that of the other flows.
const HEAVY: usize = 0;
const OTHERS: usize = 1;
/// Arrays, their counters, and the bits that select one (`HHF_ARRAYS_CNT`, `HHF_ARRAYS_LEN`, `HHF_BIT_MASK_LEN`).
const ARRAYS: usize = 4;
const COUNTER_BITS: u32 = 10;
const COUNTERS: usize = 1 << COUNTER_BITS;
