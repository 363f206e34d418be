//! htb: classes with guaranteed rates that may borrow their parents' unused rate (Linux `net/sched/sch_htb.c`).
//!
//! A class sends while both its buckets have tokens, and borrows while only the one at `ceil` has. Sending classes are
//! in the lists of their level, borrowing classes in the list of their parent. The lowest level is served first, then
//! the lowest priority number, then round robin by quantum. [`class`] holds a class's buckets; [`tree`] decides which
//! class sends.
//!
//! ```text
//!   filters -> direct queue ---------------------------> before all classes, unshaped
//!        \---> leaf class [queue] -> row of level 0 ----> when it has tokens itself
//!                    \--> feed of its parent -> row ----> when an ancestor has
//! ```
//!
//! With one class whose buckets hold one packet, this is a link: packets leave one transmission time apart. [`single`]
//! is a fast path for that case.

use super::call::{CallContext, QdiscContext};
use super::child::Child;
use super::stats::QdiscStats;
use super::{ChangeError, Filter, HtbClass, HtbConfig, Next, Verdict};
use crate::packet::Packet;
use crate::time::Time;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use class::Class;
use list::Id;
use single::SingleClass;
use tree::Tree;

pub mod class;
mod list;
mod single;
#[cfg(test)]
mod tests;
mod tree;

/// Hierarchical token bucket.
#[derive(Debug)]
pub(super) struct Htb<Q> {
    classes: Classes<Q>,
    filters: Vec<(Filter, Target)>,
    default: Target,
    direct: VecDeque<Packet>,
    direct_limit: u32,
}

/// All classes.
#[derive(Debug)]
enum Classes<Q> {
    /// One class: no borrowing, no round robin.
    SingleClass(SingleClass<Q>),
    /// Several classes.
    Tree(Tree<Q>),
}

/// Destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Leaf(Id),
    Direct,
}

impl<Q: Child> Htb<Q> {
    /// An htb with full buckets.
    pub fn new(config: &HtbConfig, context: &QdiscContext) -> Self {
        let mut this = Self {
            classes: Classes::new(&config.classes, context),
            filters: Vec::new(),
            default: Target::Direct,
            direct: VecDeque::new(),
            direct_limit: config.direct_limit,
        };
        this.set_targets(config);
        this
    }

    /// Enqueues a packet in its class or in the direct queue.
    #[inline]
    pub fn enqueue(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        match self.target(packet) {
            Target::Leaf(id) => match &mut self.classes {
                Classes::SingleClass(single) => single.enqueue(packet, stats, ctx),
                Classes::Tree(tree) => tree.enqueue(id, packet, stats, ctx),
            },
            Target::Direct => self.enqueue_direct(packet, stats, ctx),
        }
    }

    /// Dequeues the next packet.
    #[inline]
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        if let Some(packet) = self.direct.pop_front() {
            stats.leave(packet.bytes);
            return Next::Packet(packet);
        }
        if stats.backlog.packets == 0 {
            return Next::Empty;
        }
        let next = match &mut self.classes {
            Classes::SingleClass(single) => single.dequeue(stats, ctx),
            Classes::Tree(tree) => tree.dequeue(stats, ctx),
        };
        if stats.backlog.packets == 0 && matches!(next, Next::At(_)) { Next::Empty } else { next }
    }

    /// The time at which the only class sends next, if not now and the direct queue is empty; None otherwise. Packets
    /// must be queued.
    #[inline]
    pub fn next_departure(&self, now: Time) -> Option<Time> {
        match &self.classes {
            Classes::SingleClass(single) if self.direct.is_empty() => single.next_departure(now),
            _ => None,
        }
    }

    /// Applies new settings to all classes. Linux has no such call; this is equivalent to changing each class.
    pub fn change(&mut self, config: &HtbConfig) -> Result<(), ChangeError> {
        self.direct_limit = config.direct_limit;
        self.set_targets(config);
        config.classes.iter().try_for_each(|class| self.change_class(class))
    }

    /// Sets rates, bursts, quantum and priority of a class; the tokens stay (`htb_change_class`).
    pub fn change_class(&mut self, class: &HtbClass) -> Result<(), ChangeError> {
        self.classes.change(class).ok_or(ChangeError::Unknown)
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes.count()
    }

    /// The qdisc of a class, if it is a leaf.
    pub fn leaf(&self, number: usize) -> Option<&Q> {
        self.classes.leaf(number)
    }

    /// The qdisc of a class, if it is a leaf.
    pub fn leaf_mut(&mut self, number: usize) -> Option<&mut Q> {
        self.classes.leaf_mut(number)
    }

    /// The first matching filter decides; if it names no leaf, the packet goes to the default class (`htb_classify`).
    fn target(&self, packet: &Packet) -> Target {
        for (filter, target) in &self.filters {
            if filter.catches(packet) {
                return *target;
            }
        }
        self.default
    }

    fn set_targets(&mut self, config: &HtbConfig) {
        let leaf = |minor| self.classes.leaf_of(minor).map(Target::Leaf);
        let default = leaf(config.default).unwrap_or(Target::Direct);
        let filters = config.filters.iter().map(|filter| {
            let minor = filter.minor();
            // Minor 0 is the htb itself: the packet goes to the direct queue.
            let target = if minor == 0 { Some(Target::Direct) } else { leaf(minor) };
            (*filter, target.unwrap_or(default))
        });
        self.filters = filters.collect();
        self.default = default;
    }

    fn enqueue_direct(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        if self.direct.len() >= usize::try_from(self.direct_limit).unwrap_or(usize::MAX) {
            stats.counters.drops += 1;
            ctx.dropped.push(*packet);
            return Verdict::Dropped;
        }
        stats.add_packet(packet.bytes);
        self.direct.push_back(*packet);
        Verdict::Queued
    }
}

impl<Q: Child> Classes<Q> {
    fn new(configs: &[HtbClass], context: &QdiscContext) -> Self {
        match configs {
            [config] if config.parent == 0 => {
                let below = class::Below::Leaf(Box::new(tree::leaf(config, context)));
                Self::SingleClass(SingleClass::new(Class::new(config, None, 0, below)))
            }
            _ => Self::Tree(Tree::new(configs, context)),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::SingleClass(_) => 1,
            Self::Tree(tree) => tree.classes(),
        }
    }

    fn leaf(&self, number: usize) -> Option<&Q> {
        match self {
            Self::SingleClass(single) => (number == 0).then(|| single.leaf()),
            Self::Tree(tree) => tree.leaf(number),
        }
    }

    fn leaf_mut(&mut self, number: usize) -> Option<&mut Q> {
        match self {
            Self::SingleClass(single) => (number == 0).then(|| single.leaf_mut()),
            Self::Tree(tree) => tree.leaf_mut(number),
        }
    }

    fn leaf_of(&self, minor: u32) -> Option<Id> {
        match self {
            Self::SingleClass(single) => (single.minor() == minor).then_some(0),
            Self::Tree(tree) => tree.leaf_of(minor),
        }
    }

    fn change(&mut self, class: &HtbClass) -> Option<()> {
        match self {
            Self::SingleClass(single) => single.change(class),
            Self::Tree(tree) => tree.change(class),
        }
    }
}
