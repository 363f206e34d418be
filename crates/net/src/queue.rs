//! Queue disciplines (qdiscs): which packet leaves a device next and when, and which packets are marked or dropped.
//!
//! A [`Queue`] is a tree of qdiscs, nested as tc nests them. The owner enqueues packets, dequeues until the answer is
//! not a packet, and calls again at the time given. Every dropped packet is appended to `dropped`: packets in = packets
//! out + dropped + queued, for every queue at every time.
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
//! The device under a queue sends immediately (a veth has no rate); links with a rate are modelled as shapers here.
//! [`crate::tc`] reads tc's options; the queues take numbers ([`config`]).
//!
//! | module | content |
//! | --- | --- |
//! | `call`, `child`, `stats`, `lookahead` | shared by all: context of a call, children, statistics, peek |
//! | `qdisc` | any kind of qdisc, and dispatch to it |
//! | `fifo`, `tbf`, `htb`, `netem`, `red`, `codel`, `fq_codel` | one qdisc each |
//! | `cake`, `choke`, `drr`, `dualpi2`, `ets`, `fq`, `fq_pie`, `head_drop`, `gred`, `hhf`, `pfifo_fast`, `pie`, `prio`, `sfb`, `sfq` | one qdisc each |
//! | `bucket`, `control`, `flow_hash` | token buckets, `CoDel`'s control loop, flow hashing |
//! | `rounds` | deficit round robin of `fq_codel`, `fq_pie` and `hhf` |
//! | `classify`, `police` | filters and their policers |

pub mod config;

mod bucket;
mod cake;
mod call;
mod child;
mod choke;
mod classify;
mod codel;
mod control;
pub mod drr;
mod dualpi2;
mod ets;
mod fifo;
mod flow_hash;
mod fq;
mod fq_codel;
mod fq_pie;
mod gred;
mod head_drop;
mod hhf;
pub mod htb;
mod lookahead;
pub mod netem;
mod pfifo_fast;
mod pie;
mod police;
mod prio;
mod qdisc;
mod red;
pub mod rounds;
mod sfb;
pub mod sfq;
mod stats;
mod tbf;
#[cfg(test)]
pub(crate) mod tests;
mod validate;

pub use config::{
    AckFilter, CakeConfig, ChokeConfig, CodelConfig, Config, Correlated, Distribution, DrrClass, DrrConfig,
    DualPi2Config, EtsConfig, Filter, FqCodelConfig, FqConfig, FqPieConfig, Framing, GredConfig, GredQueue, HhfConfig,
    HtbClass, HtbConfig, Isolation, Link, Loss, NetemConfig, NetemRate, Node, PieConfig, PoliceConfig, PrioConfig,
    Probability, RedConfig, Rule, SfbConfig, SfqConfig, SlotConfig, StepThreshold, TbfConfig,
};

pub use call::{ChangeError, DeviceContext, Next, Verdict};
pub use stats::{Backlog, Counters};

use crate::packet::Packet;
use crate::time::Time;
use alloc::vec::Vec;
use call::CallContext;
use child::Child;
use core::mem;
use qdisc::Qdisc;

/// A qdisc tree in operation.
#[derive(Debug)]
pub struct Queue {
    root: Qdisc,
    /// Copies made by netem, to be enqueued at the root.
    copies: Vec<Packet>,
    /// Packets and bytes duplicated so far.
    duplicated: (u64, u64),
    /// Packets that the last enqueued one became beyond the first.
    cuts: u16,
    /// Copies that the caller has not collected yet; None unless [`Queue::keep_copies`] was called.
    kept_copies: Option<Vec<Packet>>,
}

/// Path to a qdisc in a tree. Samplers keep it to avoid a search by handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QdiscPath {
    /// Index of the child at each level, from the root.
    path: Vec<usize>,
}

/// Snapshot of one qdisc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QdiscSnapshot {
    /// Its name in tc.
    pub kind: &'static str,
    /// Backlog of the qdisc and its children.
    pub backlog: Backlog,
    /// Counters.
    pub counters: Counters,
    /// Whether this kind of qdisc can mark. If not, `counters.marks` means nothing.
    pub marks: bool,
}

impl QdiscPath {
    /// Number of qdiscs above it.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.path.len()
    }
}

impl Queue {
    /// Builds a tree of qdiscs. Each qdisc that needs random numbers has its own stream, named after `name` and its
    /// handle.
    ///
    /// # Panics
    ///
    /// If tc would reject the numbers: a rate of zero, a class listed before its parent, an idle damping table whose
    /// length is not 256.
    #[must_use]
    pub fn new(node: &Node, seed: u64, name: &str) -> Self {
        Self::with_device(node, &DeviceContext { seed, name, is_home: false, ends: &[] })
    }

    /// Builds a tree on a device whose context is known.
    ///
    /// # Panics
    ///
    /// As [`Queue::new`] does.
    #[must_use]
    pub fn with_device(node: &Node, device: &DeviceContext) -> Self {
        Self { root: Qdisc::new(node, device), copies: Vec::new(), duplicated: (0, 0), cuts: 0, kept_copies: None }
    }

    /// Enqueues a packet. Dropped packets, possibly including this one, are appended to `dropped`.
    #[inline]
    pub fn enqueue(&mut self, packet: &Packet, now: Time, dropped: &mut Vec<Packet>) -> Verdict {
        let mut ctx = CallContext { now, dropped, cuts: 0, copies: &mut self.copies, is_copy: false };
        let verdict = self.root.enqueue(packet, &mut ctx);
        self.cuts = ctx.cuts;
        if !self.copies.is_empty() {
            self.enqueue_copies(now, dropped);
        }
        verdict
    }

    /// Dequeues the next packet. Packets dropped on the way out are appended to `dropped`.
    #[inline]
    pub fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Next {
        loop {
            let mut ctx = CallContext { now, dropped, cuts: 0, copies: &mut self.copies, is_copy: false };
            let next = self.root.dequeue(&mut ctx);
            if self.copies.is_empty() {
                return next;
            }
            self.enqueue_copies(now, dropped);
            if matches!(next, Next::Packet(_)) {
                return next;
            }
        }
    }

    /// The earliest time at which [`Queue::dequeue`] can return a packet, if that is known without a call that changes
    /// state ([`Time::NEVER`] when the queue is empty). None: call `dequeue`.
    #[must_use]
    #[inline]
    pub fn next_departure(&self, now: Time) -> Option<Time> {
        self.root.next_departure(now)
    }

    /// Backlog of the whole tree.
    #[must_use]
    pub const fn backlog(&self) -> Backlog {
        self.root.stats.backlog
    }

    /// Packets and bytes that netems in this tree duplicated; a super-packet counts each of its segments. Bytes in +
    /// duplicated = out + dropped + queued; the same holds for packets when each segment counts.
    #[must_use]
    pub const fn duplicated(&self) -> (u64, u64) {
        self.duplicated
    }

    /// Into how many packets a qdisc split the last one enqueued, if it was a super-packet; 1 if none did.
    #[must_use]
    pub const fn last_pieces(&self) -> u16 {
        1 + self.cuts
    }

    /// Starts keeping netem's copies for [`Queue::take_copies`].
    pub fn keep_copies(&mut self) {
        self.kept_copies.get_or_insert_default();
    }

    /// Copies that netems in this tree made since the last call.
    pub fn take_copies(&mut self) -> Vec<Packet> {
        self.kept_copies.as_mut().map(mem::take).unwrap_or_default()
    }

    /// Path to the qdisc with this handle (such as `10:`), or None.
    #[must_use]
    pub fn find_path(&self, handle: &str) -> Option<QdiscPath> {
        self.root.path_to(handle).map(|path| QdiscPath { path })
    }

    /// Snapshot of the qdisc at `path`.
    ///
    /// # Panics
    ///
    /// If the path belongs to another queue.
    #[must_use]
    pub fn snapshot(&self, path: &QdiscPath) -> QdiscSnapshot {
        let found = self.root.at(&path.path).expect("a path is used with the queue that returned it");
        let stats = &found.stats;
        QdiscSnapshot { kind: found.kind(), backlog: stats.backlog, counters: stats.counters, marks: found.marks() }
    }

    /// `tc qdisc change`: new settings for the qdisc with this handle. Queued packets stay; children keep their
    /// settings.
    ///
    /// # Errors
    ///
    /// If no qdisc has this handle and kind.
    pub fn change(&mut self, node: &Node) -> Result<(), ChangeError> {
        self.find(&node.handle)?.change(&node.config)
    }

    /// `tc class change` on the htb with this handle.
    ///
    /// # Errors
    ///
    /// If there is no such htb or class.
    pub fn change_class(&mut self, htb: &str, class: &HtbClass) -> Result<(), ChangeError> {
        self.find(htb)?.change_class(class)
    }

    fn find(&mut self, handle: &str) -> Result<&mut Qdisc, ChangeError> {
        let path = self.root.path_to(handle).ok_or(ChangeError::Unknown)?;
        self.root.at_mut(&path).ok_or(ChangeError::Unknown)
    }

    /// Enqueues netem's copies at the root, as `netem_enqueue` does. Their verdicts are ignored.
    #[cold]
    fn enqueue_copies(&mut self, now: Time, dropped: &mut Vec<Packet>) {
        let mut copies = mem::take(&mut self.copies);
        for packet in copies.drain(..) {
            self.duplicated.0 += u64::from(packet.segments);
            self.duplicated.1 += u64::from(packet.bytes);
            if let Some(kept) = &mut self.kept_copies {
                kept.push(packet);
            }
            let mut ctx = CallContext { now, dropped, cuts: 0, copies: &mut self.copies, is_copy: true };
            self.root.enqueue(&packet, &mut ctx);
        }
        assert!(self.copies.is_empty(), "netem does not duplicate a copy");
        self.copies = copies;
    }
}
