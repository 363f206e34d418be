//! Queue disciplines: which packet leaves a device next, and when; which one is marked or dies.
//!
//! A [`Queue`] is a closed set of disciplines, nested as tc nests them. Its owner hands packets in, asks for the
//! next one until the answer is not a packet, and comes back when told. A packet that dies is put into `dropped`,
//! never forgotten: packets in = packets out + dropped + standing, for every queue at every time.
//!
//! ```text
//!            enqueue(packet, now) -> Verdict
//!                 |          \
//!                 v           +--> dropped (tail, AQM, netem's loss)
//!              [ queue ]
//!                 |
//!                 v
//!            dequeue(now) -> Packet | At(time) | Empty
//! ```
//!
//! The device that a queue stands on sends at once (a veth has no rate); links with a rate are shapers here. What a
//! discipline's words mean to tc is `dumbbell.spec.qdisc`'s affair: here they are numbers ([`config`]).
//!
//! | room | holds |
//! | --- | --- |
//! | `discipline`, `tally`, `lookahead` | what all share: calling down, counting, looking at the next packet |
//! | `fifo`, `tbf`, `htb`, `netem`, `red`, `codel`, `fq_codel` | one discipline each |
//! | `cake`, `choke`, `drr`, `dualpi2`, `fq`, `fq_pie`, `head_drop`, `pfifo_fast`, `pie`, `prio`, `sfq` | one discipline each |
//! | `bucket`, `control`, `flow_hash` | token buckets, `CoDel`'s control loop, flows to queues |
//! | `rounds` | whose turn it is among the queues of `fq_codel` and `fq_pie` |
//! | `classify`, `police` | filters to classes, and their policers |

pub mod config;

mod bucket;
mod cake;
mod choke;
mod classify;
mod codel;
mod control;
mod discipline;
mod drr;
mod dualpi2;
mod fifo;
mod flow_hash;
mod fq;
mod fq_codel;
mod fq_pie;
mod head_drop;
mod htb;
mod lookahead;
mod netem;
mod pfifo_fast;
mod pie;
mod police;
mod prio;
mod red;
mod rounds;
mod sense;
mod sfq;
mod tally;
mod tbf;
#[cfg(test)]
pub(crate) mod tests;

pub use config::{
    AckFilter, CakeConfig, Chance, ChokeConfig, CodelConfig, Config, Correlated, Distribution, DrrClass, DrrConfig,
    DualPi2Config, Filter, FqCodelConfig, FqConfig, FqPieConfig, Framing, HtbClass, HtbConfig, Isolation, Link, Loss,
    NetemConfig, NetemRate, Node, PieConfig, PoliceConfig, PrioConfig, RedConfig, Rule, SfqConfig, SlotConfig,
    StepThreshold, TbfConfig,
};

use crate::packet::Packet;
use crate::time::Time;
use alloc::vec::Vec;
use core::mem;
use discipline::{Discipline, Turn};

/// What became of a packet that was handed in (Linux's `NET_XMIT_*`): a sender on the same host feels it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stands in the queue (or netem lost it, which looks the same).
    Queued,
    /// It was refused.
    Dropped,
    /// It stands in the queue, but another packet died for it.
    Congested,
}

/// What a queue answers to "what leaves now?".
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// This packet leaves.
    Packet(Packet),
    /// Nothing yet; ask again at this time.
    At(Time),
    /// Nothing until a packet is handed in.
    Empty,
}

/// What stands in a queue now, as `tc -s` shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes.
    pub bytes: u64,
    /// Packets; a super-packet counts once.
    pub packets: u32,
}

/// What a queue has done so far, as `tc -s` shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that left.
    pub sent_bytes: u64,
    /// Packets that left; a super-packet counts each of its segments, as `bstats_update` does.
    pub sent_packets: u64,
    /// Packets that died here or below; a super-packet counts once.
    pub drops: u64,
    /// Packets that were marked CE here.
    pub marks: u64,
    /// Times that a shaper held a packet back (or that red chose a packet), as the kernel counts them.
    pub overlimits: u64,
    /// Packets that netem made; a super-packet counts each of its segments.
    pub duplicated_packets: u64,
    /// Bytes of the packets that netem made.
    pub duplicated_bytes: u64,
    /// Packets that netem spoilt and that would have died at their receiver: sent for tc, `dropped` for us.
    pub corrupted: u64,
}

/// A discipline at work, with everything that stands below it.
#[derive(Debug)]
pub struct Queue {
    root: Discipline,
    /// Packets that a netem made, on their way to the root.
    copies: Vec<Packet>,
    /// How many were made so far, and their bytes.
    duplicated: (u64, u64),
    /// Those that nobody has taken notice of, where somebody wants to.
    kept_copies: Option<Vec<Packet>>,
}

/// Where a discipline stands in a tree, for whoever samples it often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which child to take, from the root on.
    path: Vec<usize>,
}

/// What a sampler sees of one discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// tc's name for it.
    pub kind: &'static str,
    /// What stands in it and below it.
    pub backlog: Backlog,
    /// What it has done.
    pub counters: Counters,
    /// Does its kind mark at all? Otherwise a count of marks means nothing.
    pub marks: bool,
}

/// Where a queue stands, as far as its disciplines care.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The run's seed.
    pub seed: u64,
    /// Name of the device, after which dice are named.
    pub name: &'a str,
    /// Do the packets come from sockets of this host, with the departure times that these gave them?
    pub is_home: bool,
    /// The hosts of every flow's sender and receiver, for disciplines that tell hosts apart; may be shorter.
    pub ends: &'a [[u32; 2]],
}

/// Why a change could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// No discipline or class of this handle.
    Unknown,
    /// It is of another kind.
    OtherKind,
}

impl Place {
    /// How many disciplines stand above it.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.path.len()
    }
}

impl Queue {
    /// A tree of disciplines. Each that throws dice has a stream of its own, named after `name` and its handle.
    ///
    /// # Panics
    ///
    /// When the numbers are none that tc would let pass: a rate of zero, a class whose parent does not stand before it,
    /// an idle damping table of another length than 256.
    #[must_use]
    pub fn new(node: &Node, seed: u64, name: &str) -> Self {
        Self::standing(node, &Site { seed, name, is_home: false, ends: &[] })
    }

    /// The same on a device of which it has to be known where it stands.
    ///
    /// # Panics
    ///
    /// As [`Queue::new`] does.
    #[must_use]
    pub fn standing(node: &Node, site: &Site) -> Self {
        Self { root: Discipline::new(node, site), copies: Vec::new(), duplicated: (0, 0), kept_copies: None }
    }

    /// Hands a packet in. Whatever dies for it, itself included, is appended to `dropped`.
    #[inline]
    pub fn enqueue(&mut self, packet: &Packet, now: Time, dropped: &mut Vec<Packet>) -> Verdict {
        let mut turn = Turn { now, dropped, copies: &mut self.copies, is_copy: false };
        let verdict = self.root.enqueue(packet, &mut turn);
        if !self.copies.is_empty() {
            self.hand_in_copies(now, dropped);
        }
        verdict
    }

    /// Asks for the next packet. Whatever dies on the way out is appended to `dropped`.
    #[inline]
    pub fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Next {
        loop {
            let mut turn = Turn { now, dropped, copies: &mut self.copies, is_copy: false };
            let next = self.root.dequeue(&mut turn);
            if self.copies.is_empty() {
                return next;
            }
            self.hand_in_copies(now, dropped);
            if matches!(next, Next::Packet(_)) {
                return next;
            }
        }
    }

    /// What [`Queue::dequeue`] would answer, where that is known without asking: no packet before this time
    /// ([`Time::NEVER`] when it is empty), and nothing changes. None: ask.
    #[must_use]
    #[inline]
    pub fn waits(&self, now: Time) -> Option<Time> {
        self.root.waits(now)
    }

    /// Packets that stand anywhere in the tree.
    #[must_use]
    pub const fn backlog(&self) -> Backlog {
        self.root.tally.backlog
    }

    /// Packets that netems in this tree made, and their bytes; a super-packet counts each of its segments. Bytes in +
    /// duplicated = out + dropped + standing, and packets too when each segment of a super-packet is counted.
    #[must_use]
    pub const fn duplicated(&self) -> (u64, u64) {
        self.duplicated
    }

    /// From now on [`Queue::take_copies`] has what netems in this tree made.
    pub fn keep_copies(&mut self) {
        self.kept_copies.get_or_insert_default();
    }

    /// The copies that netems in this tree made since this was asked last.
    pub fn take_copies(&mut self) -> Vec<Packet> {
        self.kept_copies.as_mut().map(mem::take).unwrap_or_default()
    }

    /// Where the discipline of this handle stands (`10:`), or None.
    #[must_use]
    pub fn locate(&self, handle: &str) -> Option<Place> {
        self.root.path_to(handle).map(|path| Place { path })
    }

    /// What a sampler sees there.
    ///
    /// # Panics
    ///
    /// When the place is another queue's.
    #[must_use]
    pub fn look(&self, place: &Place) -> Look {
        let found = self.root.at(&place.path).expect("a place belongs to the queue that named it");
        let tally = &found.tally;
        Look { kind: found.kind(), backlog: tally.backlog, counters: tally.counters, marks: found.marks() }
    }

    /// `tc qdisc change`: new settings for the discipline of this handle; what stands in it stays, and so does what
    /// stands below it with its own settings.
    ///
    /// # Errors
    ///
    /// When there is none of this handle and kind.
    pub fn change(&mut self, node: &Node) -> Result<(), ChangeError> {
        self.find(&node.handle)?.change(&node.config)
    }

    /// `tc class change` on the htb of this handle.
    ///
    /// # Errors
    ///
    /// When there is no such htb or class.
    pub fn change_class(&mut self, htb: &str, class: &HtbClass) -> Result<(), ChangeError> {
        self.find(htb)?.change_class(class)
    }

    fn find(&mut self, handle: &str) -> Result<&mut Discipline, ChangeError> {
        let path = self.root.path_to(handle).ok_or(ChangeError::Unknown)?;
        self.root.at_mut(&path).ok_or(ChangeError::Unknown)
    }

    /// A packet that netem made enters at the root, as `netem_enqueue` has it; what becomes of it is nobody's verdict.
    #[cold]
    fn hand_in_copies(&mut self, now: Time, dropped: &mut Vec<Packet>) {
        let mut copies = mem::take(&mut self.copies);
        for packet in copies.drain(..) {
            self.duplicated.0 += u64::from(packet.segments);
            self.duplicated.1 += u64::from(packet.bytes);
            if let Some(kept) = &mut self.kept_copies {
                kept.push(packet);
            }
            let mut turn = Turn { now, dropped, copies: &mut self.copies, is_copy: true };
            self.root.enqueue(&packet, &mut turn);
        }
        assert!(self.copies.is_empty(), "a copy is not copied");
        self.copies = copies;
    }
}
