//! cake: a shaper, fair shares among hosts and flows, and a control loop for each flow, in one discipline
//! (Linux 6.12 `net/sched/sch_cake.c`; T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE", 2018).
//!
//! ```text
//!   packet --> [acks] --> queue of its flow [flows] --> round [rounds] --> control loop [cobalt] --> shaper --> out
//!                             |
//!                             +-- too much memory: the longest queue loses its head
//! ```
//!
//! cake sorts packets into tins by their DSCP first. All packets here have DSCP 0, so that there is one tin, with the
//! rate and the times of the one that Linux puts them into ([`config`]).
//!
//! | room | decides |
//! | --- | --- |
//! | `flows` | which queue, whose it is, and how much it may send at a time |
//! | `rounds` | whose turn it is |
//! | `cobalt` | what is marked or dropped |
//! | `shaper`, `link` | when something may leave, and what it costs |
//! | `acks` | which acknowledgements are not needed |

pub mod config;

mod acks;
mod cobalt;
mod flows;
mod link;
mod rounds;
mod shaper;
#[cfg(test)]
mod tests;

use self::cobalt::Params;
use self::config::{AckFilter, CakeConfig};
use self::flows::{Flows, Hashes, QUEUES};
use self::rounds::Rounds;
use self::shaper::Shaper;
use super::bucket::{instant, nanos};
use super::discipline::{Lot, Turn};
use super::flow_hash::mixed;
use super::fq_codel::memory_of;
use super::tally::Tally;
use super::{Next, Verdict};
use crate::dice::Dice;
use crate::packet::{Direction, Packet, cut};
use crate::rate::Rate;
use alloc::vec;
use alloc::vec::Vec;

/// Shaper, queues and loops.
#[derive(Debug)]
pub(super) struct Cake {
    config: CakeConfig,
    params: Params,
    flow_quantum: u32,
    shaper: Shaper,
    flows: Flows,
    rounds: Rounds,
    /// Bytes a queue, apart from the queues because the longest one is searched for.
    backlogs: Vec<u64>,
    memory: u64,
    memory_limit: u64,
    /// Sender's and receiver's host of every flow.
    ends: Vec<[u32; 2]>,
    dice: Dice,
    secret: u64,
}

impl Cake {
    /// Empty.
    pub fn new(config: &CakeConfig, lot: &Lot, handle: &str) -> Self {
        let mut dice = lot.dice(handle);
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
            ends: lot.ends.to_vec(),
            secret: dice.long(),
            dice,
        }
    }

    /// Lets a packet in; when that is too much, packets of the longest queue die.
    pub fn enqueue(&mut self, packet: &Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        let place = self.flows.place(self.hashes_of(packet));
        if tally.backlog.packets == 0 && self.shaper.begin(nanos(turn.now)) {
            tally.counters.overlimits += 1;
        }
        let segments = if self.config.split_gso { cut(*packet) } else { None };
        if let Some(segments) = segments {
            segments.for_each(|segment| self.stand(place, segment, tally, turn));
        } else {
            self.stand(place, *packet, tally, turn);
            self.filter_acks(place, tally, turn);
        }
        let quantum = self.flow_quantum;
        self.rounds.join(place, &mut self.flows, |flows| flows.quantum(place, quantum, &mut self.dice));
        let mut is_own = false;
        while self.memory > self.memory_limit && tally.backlog.packets > 0 {
            is_own |= self.drop_longest(tally, turn) == place;
        }
        if is_own { Verdict::Congested } else { Verdict::Queued }
    }

    /// The next packet of the queue whose turn it is, if the shaper lets it.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        let now_ns = nanos(turn.now);
        let mut is_first = true;
        while tally.backlog.packets > 0 {
            if let Some(opens_ns) = self.shaper.closed_until(now_ns) {
                tally.counters.overlimits += 1;
                return Next::At(instant(opens_ns));
            }
            if let Some(packet) = self.serve_round(&mut is_first, tally, turn) {
                return Next::Packet(packet);
            }
        }
        Next::Empty
    }

    /// New settings; what stands stays, and so do the clocks.
    pub fn change(&mut self, config: &CakeConfig) {
        self.params = params(config);
        self.flow_quantum = flow_quantum(config.tin_rate);
        self.shaper.reshape(config.rate);
        self.flows.reshape(config.isolation);
        self.memory_limit = memory_limit(config);
        self.config = config.clone();
    }

    /// One queue after the other, until a packet leaves or a queue is found empty.
    fn serve_round(&mut self, is_first: &mut bool, tally: &mut Tally, turn: &mut Turn) -> Option<Packet> {
        loop {
            let (quantum, dice) = (self.flow_quantum, &mut self.dice);
            let share = |flows: &Flows, place| flows.quantum(place, quantum, dice);
            let place = self.rounds.next(&mut self.flows, is_first, share)?;
            match self.serve(place, tally, turn) {
                Served::Packet(packet) => return Some(packet),
                Served::Dropped => {}
                Served::Empty => {
                    let cobalt = &mut self.flows.all[place].cobalt;
                    cobalt.runs_empty(&self.params, nanos(turn.now));
                    let is_calm = cobalt.is_calm(nanos(turn.now));
                    self.rounds.leave(place, &mut self.flows, is_calm);
                    return None;
                }
            }
        }
    }

    fn stand(&mut self, place: usize, mut packet: Packet, tally: &mut Tally, turn: &Turn) {
        packet.queued_at = turn.now;
        self.memory += memory_of(&packet);
        self.backlogs[place] += u64::from(packet.bytes);
        tally.stand(packet.bytes);
        self.flows.all[place].packets.push_back(packet);
    }

    /// The oldest packet of a queue leaves it.
    fn pop(&mut self, place: usize, tally: &mut Tally) -> Option<Packet> {
        let packet = self.flows.all[place].packets.pop_front()?;
        self.forget(place, &packet, tally);
        Some(packet)
    }

    fn forget(&mut self, place: usize, packet: &Packet, tally: &mut Tally) {
        self.memory -= memory_of(packet);
        self.backlogs[place] -= u64::from(packet.bytes);
        tally.leave(packet.bytes);
    }

    fn filter_acks(&mut self, place: usize, tally: &mut Tally, turn: &mut Turn) {
        let packets = &mut self.flows.all[place].packets;
        let useless = match self.config.ack_filter {
            AckFilter::None => None,
            AckFilter::Filter => acks::filter(packets, false),
            AckFilter::Aggressive => acks::filter(packets, true),
        };
        let Some(packet) = useless else { return };
        self.forget(place, &packet, tally);
        self.bury(packet, tally, turn);
    }

    /// A queue gives a packet that its loop lets through. Where dropped packets count, the round goes on after each.
    fn serve(&mut self, place: usize, tally: &mut Tally, turn: &mut Turn) -> Served {
        let bulk_flows = if self.config.ingress { self.rounds.bulk() } else { 0 };
        while let Some(mut packet) = self.pop(place, tally) {
            let flow = &mut self.flows.all[place];
            let cobalt = &mut flow.cobalt;
            let condemned = cobalt.judges(&self.params, nanos(turn.now), &mut packet, bulk_flows, &mut self.dice);
            let is_marked = cobalt.marked;
            if !condemned || flow.packets.is_empty() {
                let bytes = self.config.link.bytes(&packet);
                flow.deficit -= i64::from(bytes);
                self.shaper.advance(bytes, false);
                tally.counters.marks += u64::from(is_marked);
                return Served::Packet(packet);
            }
            if self.config.ingress {
                flow.deficit -= i64::from(self.config.link.bytes(&packet));
            }
            self.bury(packet, tally, turn);
            if self.config.ingress {
                return Served::Dropped;
            }
        }
        Served::Empty
    }

    /// The longest queue loses its head; says which one it was.
    #[cold]
    fn drop_longest(&mut self, tally: &mut Tally, turn: &mut Turn) -> usize {
        let longest = self.flows.longest(&self.backlogs);
        if let Some(packet) = self.pop(longest, tally) {
            self.flows.all[longest].cobalt.overflows(&self.params, nanos(turn.now));
            self.bury(packet, tally, turn);
        }
        longest
    }

    /// A packet dies. Where what is dropped has come over the link already, it has used it.
    fn bury(&mut self, packet: Packet, tally: &mut Tally, turn: &mut Turn) {
        if self.config.ingress {
            self.shaper.advance(self.config.link.bytes(&packet), true);
        }
        tally.counters.drops += 1;
        turn.dropped.push(packet);
    }

    /// Hashes of a packet's flow (either direction is one of its own), its sender's and its receiver's host.
    fn hashes_of(&self, packet: &Packet) -> Hashes {
        let is_backward = packet.direction == Direction::Backward;
        let flow = (u64::from(packet.flow.0) << 1) | u64::from(is_backward);
        let place = usize::try_from(packet.flow.0).expect("32 bits are a usize");
        let [sender, receiver] = self.ends.get(place).copied().unwrap_or([0, 1]);
        let [source, target] = if is_backward { [receiver, sender] } else { [sender, receiver] };
        let host = |host: u32| self.hash(u64::from(host) | HOSTS);
        Hashes { flow: self.hash(flow), source: host(source), target: host(target) }
    }

    fn hash(&self, number: u64) -> u32 {
        u32::try_from(mixed(number ^ self.secret) >> 32).expect("the upper half has 32 bits")
    }
}

/// What came of a queue's turn.
enum Served {
    /// This packet leaves.
    Packet(Packet),
    /// A packet died, and the round goes on.
    Dropped,
    /// Nothing stands there.
    Empty,
}

fn params(config: &CakeConfig) -> Params {
    Params::new(config.tin_rate, config.mtu, config.target, config.interval)
}

/// What a flow may send at a time: a quarter of a millisecond's bytes, between 300 and a packet.
fn flow_quantum(rate: Option<Rate>) -> u32 {
    let bytes = rate.map_or(MOST_QUANTUM, |rate| (rate.as_bytes() >> 12).clamp(LEAST_QUANTUM, MOST_QUANTUM));
    u32::try_from(bytes).expect("a quantum is below 1515")
}

/// Bytes of memory that may stand (`cake_reconfigure`).
fn memory_limit(config: &CakeConfig) -> u64 {
    let asked = config.memory_limit.unwrap_or(0);
    let of_rate = |rate: Rate| (rate.bytes_in(config.interval) * 4).max(LEAST_MEMORY);
    let wanted = if asked > 0 { asked } else { config.rate.map_or(u64::from(u32::MAX), of_rate) };
    wanted.min(asked.max(MOST_PACKETS * u64::from(config.mtu)))
}

const LEAST_QUANTUM: u64 = 300;
const MOST_QUANTUM: u64 = 1_514;
const LEAST_MEMORY: u64 = 4 << 20;
/// The discipline's `limit`, which tc can't change.
const MOST_PACKETS: u64 = 10_240;
/// Keeps hosts' numbers apart from flows'.
const HOSTS: u64 = 1 << 40;
