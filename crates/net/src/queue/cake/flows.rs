//! cake's flow queues: mapping packets to queues, and host fairness.
//!
//! A queue belongs to a flow while it holds packets. The hash is 8-way set-associative: if another flow owns the queue,
//! the seven others of the set are tried, so collisions are rare (`cake_hash`). With host isolation each queue stores
//! its hosts, and a host's number of busy queues divides the quantum of each.

use super::cobalt::Cobalt;
use crate::packet::Packet;
use crate::queue::config::Isolation;
use crate::rng::Rng;
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
    /// The list that holds it.
    pub list: List,
    /// Indices of its sending and receiving host.
    hosts: [usize; 2],
    /// Hash of the flow that owns it.
    tag: u32,
}

/// State of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Set {
    /// Unowned.
    #[default]
    None,
    /// Has sent less than its quantum since it was empty.
    Sparse,
    /// Ran empty while sparse, and is in the old list.
    SparseWait,
    /// Has more to send than its quantum.
    Bulk,
    /// Empty; its control loop has not yet returned to its initial state.
    Decaying,
}

/// Lists of the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum List {
    /// In no list.
    #[default]
    None,
    /// Newly active flows.
    New,
    /// Other active flows.
    Old,
    /// Empty flows whose control loops decay.
    Decaying,
}

/// Hashes that identify a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashes {
    pub flow: u32,
    pub source: u32,
    pub target: u32,
}

/// A host, by its address hash, as sender and as receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tags: [u32; 2],
    /// Busy queues.
    busy: [u32; 2],
}

/// All queues and hosts.
#[derive(Debug)]
pub(super) struct Flows {
    pub all: Vec<Flow>,
    hosts: Vec<Host>,
    isolation: Isolation,
}

impl Isolation {
    /// Whether sending (0) or receiving (1) hosts get fair shares.
    const fn counts(self, side: usize) -> bool {
        match self {
            Self::TripleIsolate => true,
            Self::DualSrchost => side == 0,
            Self::DualDsthost => side == 1,
            _ => false,
        }
    }

    /// The hash that selects the queue.
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
    /// All queues empty.
    pub fn new(isolation: Isolation) -> Self {
        Self { all: vec![Flow::default(); QUEUES], hosts: vec![Host::default(); QUEUES], isolation }
    }

    /// Sets the isolation mode for packets that arrive from now on.
    pub const fn reshape(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    /// The queue of a packet; its flow owns the queue from now on.
    pub fn index(&mut self, hashes: Hashes) -> usize {
        if self.isolation == Isolation::Flowblind {
            return 0;
        }
        let hash = self.isolation.pick(hashes);
        let reduced = hash_index(hash);
        let is_mine = |flow: &Flow| flow.tag == hash;
        if is_mine(&self.all[reduced]) && self.all[reduced].set != Set::None {
            return reduced;
        }
        let found = ways(reduced).find(|index| is_mine(&self.all[*index]));
        let free = || ways(reduced).find(|index| self.all[*index].set == Set::None);
        let index = found.or_else(free).unwrap_or(reduced);
        let is_taken = found.is_none() && self.all[index].set != Set::None;
        if is_taken && self.all[index].set == Set::Bulk {
            self.leaves_bulk(index);
        }
        self.all[index].tag = hash;
        if is_taken || self.all[index].set == Set::None {
            self.name_hosts(index, [hashes.source, hashes.target]);
        }
        index
    }

    /// Adds a busy queue to its hosts.
    pub fn joins_bulk(&mut self, index: usize) {
        for side in 0..2 {
            self.count(index, side, |busy| (busy + 1).min(MAX_BUSY));
        }
    }

    /// Removes a busy queue from its hosts.
    pub fn leaves_bulk(&mut self, index: usize) {
        for side in 0..2 {
            self.count(index, side, |busy| busy.saturating_sub(1));
        }
    }

    /// The quantum of a queue: `quantum` divided by the busy queues of its busier host, rounded at random.
    pub fn quantum(&self, index: usize, quantum: u32, rng: &mut Rng) -> i64 {
        let busy = |side: usize| {
            if self.isolation.counts(side) { self.hosts[self.all[index].hosts[side]].busy[side] } else { 0 }
        };
        let load = busy(0).max(busy(1)).max(1);
        i64::from((quantum * (0xffff / load) + (rng.next_u32() & 0xffff)) >> 16)
    }

    /// The queue with the longest backlog.
    pub fn longest(&self, backlogs: &[u64]) -> usize {
        let mut longest = 0;
        for index in 1..self.all.len() {
            if backlogs[index] > backlogs[longest] {
                longest = index;
            }
        }
        longest
    }

    fn count(&mut self, index: usize, side: usize, change: impl Fn(u32) -> u32) {
        if self.isolation.counts(side) {
            let busy = &mut self.hosts[self.all[index].hosts[side]].busy[side];
            *busy = change(*busy);
        }
    }

    /// Assigns hosts to a queue with a new owner. A host keeps its entry while it has busy queues.
    fn name_hosts(&mut self, index: usize, tags: [u32; 2]) {
        for (side, tag) in tags.into_iter().enumerate() {
            if !self.isolation.counts(side) {
                continue;
            }
            let reduced = hash_index(tag);
            let known = ways(reduced).find(|host| self.hosts[*host].tags[side] == tag);
            let free = || ways(reduced).find(|host| self.hosts[*host].busy[side] == 0);
            let host = known.or_else(free).unwrap_or(reduced);
            self.hosts[host].tags[side] = tag;
            self.all[index].hosts[side] = host;
            if self.all[index].set == Set::Bulk {
                self.hosts[host].busy[side] = (self.hosts[host].busy[side] + 1).min(MAX_BUSY);
            }
        }
    }
}

fn hash_index(hash: u32) -> usize {
    usize::try_from(hash).expect("32 bits are a usize") % QUEUES
}

/// Indices of a set, starting at the direct hash.
fn ways(reduced: usize) -> impl Iterator<Item = usize> {
    let (outer, inner) = (reduced - reduced % WAYS, reduced % WAYS);
    (0..WAYS).map(move |way| outer + (inner + way) % WAYS)
}

/// `CAKE_QUEUES`.
pub(super) const QUEUES: usize = 1024;
/// `CAKE_SET_WAYS`.
const WAYS: usize = 8;
/// Upper bound of a host's busy queues.
const MAX_BUSY: u32 = 1024;
