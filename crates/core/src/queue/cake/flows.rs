//! cake's queues: which of them a packet goes to, and in whose name a queue is served.
//!
//! A queue belongs to a flow for as long as packets stand in it. The hash has eight ways: a flow that finds its queue
//! taken by another looks at the seven beside it, so that hardly any two share one (`cake_hash`). With host isolation
//! each queue knows its hosts, and how many of a host's queues are busy divides what each of them may send at a time.

use super::cobalt::Cobalt;
use super::config::Isolation;
use crate::dice::Dice;
use crate::packet::Packet;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// One queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    pub packets: VecDeque<Packet>,
    pub deficit: i64,
    pub cobalt: Cobalt,
    pub set: Set,
    /// The list in which it stands.
    pub list: List,
    /// Places of its sending and receiving host.
    hosts: [usize; 2],
    /// Hash of the flow that it belongs to.
    tag: u32,
}

/// How a queue is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Set {
    /// It is nobody's.
    #[default]
    None,
    /// It has sent less than its share since it was empty.
    Sparse,
    /// It was sparse when it ran empty, and stands among the others.
    SparseWait,
    /// It has more to send than its share.
    Bulk,
    /// It is empty, and its control loop has not calmed down yet.
    Decaying,
}

/// The lists of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum List {
    /// In none.
    #[default]
    None,
    /// Flows that were quiet.
    New,
    /// The others.
    Old,
    /// Empty ones whose loops calm down.
    Decaying,
}

/// What a packet is told apart by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashes {
    pub flow: u32,
    pub source: u32,
    pub target: u32,
}

/// A host, by the hash of its address, as a sender and as a receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tags: [u32; 2],
    /// Busy queues.
    busy: [u32; 2],
}

/// All queues, and their hosts.
#[derive(Debug)]
pub(super) struct Flows {
    pub all: Vec<Flow>,
    hosts: Vec<Host>,
    isolation: Isolation,
}

impl Isolation {
    /// Do sending (0) or receiving (1) hosts get fair shares?
    const fn counts(self, side: usize) -> bool {
        match self {
            Self::TripleIsolate => true,
            Self::DualSrchost => side == 0,
            Self::DualDsthost => side == 1,
            _ => false,
        }
    }

    /// The hash that decides.
    const fn pick(self, hashes: Hashes) -> u32 {
        match self {
            Self::Flowblind => 0,
            Self::Srchost => hashes.source,
            Self::Dsthost => hashes.target,
            Self::Hosts => hashes.source ^ hashes.target,
            Self::Flows | Self::DualSrchost | Self::DualDsthost | Self::TripleIsolate => hashes.flow,
        }
    }
}

impl Flows {
    /// All empty.
    pub fn new(isolation: Isolation) -> Self {
        Self { all: vec![Flow::default(); QUEUES], hosts: vec![Host::default(); QUEUES], isolation }
    }

    /// Another way of telling packets apart, for those that come from now on.
    pub const fn reshape(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    /// The queue of a packet, which is its flow's from now on.
    pub fn place(&mut self, hashes: Hashes) -> usize {
        if self.isolation == Isolation::Flowblind {
            return 0;
        }
        let hash = self.isolation.pick(hashes);
        let reduced = index(hash);
        let is_mine = |flow: &Flow| flow.tag == hash;
        if is_mine(&self.all[reduced]) && self.all[reduced].set != Set::None {
            return reduced;
        }
        let found = ways(reduced).find(|place| is_mine(&self.all[*place]));
        let free = || ways(reduced).find(|place| self.all[*place].set == Set::None);
        let place = found.or_else(free).unwrap_or(reduced);
        let is_taken = found.is_none() && self.all[place].set != Set::None;
        if is_taken && self.all[place].set == Set::Bulk {
            self.leaves_bulk(place);
        }
        self.all[place].tag = hash;
        if is_taken || self.all[place].set == Set::None {
            self.name_hosts(place, [hashes.source, hashes.target]);
        }
        place
    }

    /// One more busy queue for its hosts.
    pub fn joins_bulk(&mut self, place: usize) {
        for side in 0..2 {
            self.count(place, side, |busy| (busy + 1).min(MOST_BUSY));
        }
    }

    /// One busy queue less for its hosts.
    pub fn leaves_bulk(&mut self, place: usize) {
        for side in 0..2 {
            self.count(place, side, |busy| busy.saturating_sub(1));
        }
    }

    /// What a queue may send at a time: `quantum`, divided by the busy queues of its busier host, rounded by chance.
    pub fn quantum(&self, place: usize, quantum: u32, dice: &mut Dice) -> i64 {
        let busy = |side: usize| {
            if self.isolation.counts(side) { self.hosts[self.all[place].hosts[side]].busy[side] } else { 0 }
        };
        let load = busy(0).max(busy(1)).max(1);
        i64::from((quantum * (0xffff / load) + (dice.word() & 0xffff)) >> 16)
    }

    /// Whose backlog is longest.
    pub fn longest(&self, backlogs: &[u64]) -> usize {
        let mut longest = 0;
        for place in 1..self.all.len() {
            if backlogs[place] > backlogs[longest] {
                longest = place;
            }
        }
        longest
    }

    fn count(&mut self, place: usize, side: usize, change: impl Fn(u32) -> u32) {
        if self.isolation.counts(side) {
            let busy = &mut self.hosts[self.all[place].hosts[side]].busy[side];
            *busy = change(*busy);
        }
    }

    /// Enters the hosts of a queue that has a new owner. A host keeps its place while its queues are busy.
    fn name_hosts(&mut self, place: usize, tags: [u32; 2]) {
        for (side, tag) in tags.into_iter().enumerate() {
            if !self.isolation.counts(side) {
                continue;
            }
            let reduced = index(tag);
            let known = ways(reduced).find(|host| self.hosts[*host].tags[side] == tag);
            let free = || ways(reduced).find(|host| self.hosts[*host].busy[side] == 0);
            let host = known.or_else(free).unwrap_or(reduced);
            self.hosts[host].tags[side] = tag;
            self.all[place].hosts[side] = host;
            if self.all[place].set == Set::Bulk {
                self.hosts[host].busy[side] = (self.hosts[host].busy[side] + 1).min(MOST_BUSY);
            }
        }
    }
}

fn index(hash: u32) -> usize {
    usize::try_from(hash).expect("32 bits are a usize") % QUEUES
}

/// The places of a set, its own first.
fn ways(reduced: usize) -> impl Iterator<Item = usize> {
    let (outer, inner) = (reduced - reduced % WAYS, reduced % WAYS);
    (0..WAYS).map(move |way| outer + (inner + way) % WAYS)
}

/// `CAKE_QUEUES`.
pub(super) const QUEUES: usize = 1024;
/// `CAKE_SET_WAYS`.
const WAYS: usize = 8;
/// Busy queues of one host are not counted beyond.
const MOST_BUSY: u32 = 1024;
