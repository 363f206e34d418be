//! htb: classes with rates of their own, which may borrow what their parents don't use (Linux `net/sched/sch_htb.c`).
//!
//! A class sends while both its buckets can pay; it borrows while the one at `ceil` can. Classes that send stand in the
//! rows of their level, those that borrow in the feed of their parent; the lowest level is served first, in it the
//! lowest priority number, and among equals in turn, a quantum each. [`class`] holds a class's buckets, [`tree`] who may send
//! and when that changes.
//!
//! ```text
//!   filters -> direct queue ---------------------------> before all classes, unshaped
//!        \---> leaf class [queue] -> row of level 0 ----> when it has tokens itself
//!                    \--> feed of its parent -> row ----> when an ancestor has
//! ```
//!
//! With one class whose buckets hold a packet this is a link: packets leave one by one, a packet's time apart. That case
//! has a way of its own, [`lone`].

use super::discipline::{Discipline, Lot, Turn};
use super::tally::Tally;
use super::{ChangeError, Filter, HtbClass, HtbConfig, Next, Verdict};
use crate::packet::Packet;
use crate::time::Time;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use class::{Class, Id};
use lone::Lone;
use tree::Tree;

mod class;
mod feed;
mod lone;
#[cfg(test)]
mod tests;
mod tree;

/// Hierarchical token bucket.
#[derive(Debug)]
pub(super) struct Htb {
    classes: Classes,
    filters: Vec<(Filter, Target)>,
    default: Target,
    direct: VecDeque<Packet>,
    direct_limit: u32,
}

/// All classes.
#[derive(Debug)]
enum Classes {
    /// One, and so nobody to borrow from or to take turns with.
    Lone(Lone),
    /// Several.
    Tree(Tree),
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Leaf(Id),
    Direct,
}

impl Htb {
    /// With full buckets.
    pub fn new(config: &HtbConfig, lot: &Lot) -> Self {
        let mut this = Self {
            classes: Classes::new(&config.classes, lot),
            filters: Vec::new(),
            default: Target::Direct,
            direct: VecDeque::new(),
            direct_limit: config.direct_limit,
        };
        this.set_targets(config);
        this
    }

    /// Hands a packet to its class, or lets it pass by all of them.
    #[inline]
    pub fn enqueue(&mut self, packet: &Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        match self.target(packet) {
            Target::Leaf(id) => match &mut self.classes {
                Classes::Lone(lone) => lone.enqueue(packet, tally, turn),
                Classes::Tree(tree) => tree.enqueue(id, packet, tally, turn),
            },
            Target::Direct => self.enqueue_direct(packet, tally, turn),
        }
    }

    /// The next packet of the class whose turn it is.
    #[inline]
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        if let Some(packet) = self.direct.pop_front() {
            tally.leave(packet.bytes);
            return Next::Packet(packet);
        }
        if tally.backlog.packets == 0 {
            return Next::Empty;
        }
        let next = match &mut self.classes {
            Classes::Lone(lone) => lone.dequeue(tally, turn),
            Classes::Tree(tree) => tree.dequeue(tally, turn),
        };
        if tally.backlog.packets == 0 && matches!(next, Next::At(_)) { Next::Empty } else { next }
    }

    /// When the one class sends next, if it can't now and nothing passes by it; packets stand there.
    #[inline]
    pub fn waits(&self, now: Time) -> Option<Time> {
        match &self.classes {
            Classes::Lone(lone) if self.direct.is_empty() => lone.waits(now),
            _ => None,
        }
    }

    /// New settings for the whole: Linux can't, so this is what a change of each class would do.
    pub fn change(&mut self, config: &HtbConfig) -> Result<(), ChangeError> {
        self.direct_limit = config.direct_limit;
        self.set_targets(config);
        config.classes.iter().try_for_each(|class| self.change_class(class))
    }

    /// New rates, bursts, quantum and priority; what is in the buckets stays (`htb_change_class`).
    pub fn change_class(&mut self, class: &HtbClass) -> Result<(), ChangeError> {
        self.classes.change(class).ok_or(ChangeError::Unknown)
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes.count()
    }

    /// What stands in a class, when it is a leaf.
    pub fn leaf(&self, number: usize) -> Option<&Discipline> {
        self.classes.leaf(number)
    }

    /// What stands in a class, when it is a leaf.
    pub fn leaf_mut(&mut self, number: usize) -> Option<&mut Discipline> {
        self.classes.leaf_mut(number)
    }

    /// The first filter decides; one that names no leaf leaves the packet to the default class (`htb_classify`).
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
            // Minor 0 is the htb itself: the packet goes direct.
            let target = if minor == 0 { Some(Target::Direct) } else { leaf(minor) };
            (*filter, target.unwrap_or(default))
        });
        self.filters = filters.collect();
        self.default = default;
    }

    fn enqueue_direct(&mut self, packet: &Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        if self.direct.len() >= usize::try_from(self.direct_limit).unwrap_or(usize::MAX) {
            tally.counters.drops += 1;
            turn.dropped.push(*packet);
            return Verdict::Dropped;
        }
        tally.stand(packet.bytes);
        self.direct.push_back(*packet);
        Verdict::Queued
    }
}

impl Classes {
    fn new(configs: &[HtbClass], lot: &Lot) -> Self {
        match configs {
            [config] if config.parent == 0 => {
                let below = class::Below::Leaf(Box::new(tree::leaf(config, lot)));
                Self::Lone(Lone::new(Class::new(config, None, 0, below)))
            }
            _ => Self::Tree(Tree::new(configs, lot)),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Lone(_) => 1,
            Self::Tree(tree) => tree.classes(),
        }
    }

    fn leaf(&self, number: usize) -> Option<&Discipline> {
        match self {
            Self::Lone(lone) => (number == 0).then(|| lone.leaf()),
            Self::Tree(tree) => tree.leaf(number),
        }
    }

    fn leaf_mut(&mut self, number: usize) -> Option<&mut Discipline> {
        match self {
            Self::Lone(lone) => (number == 0).then(|| lone.leaf_mut()),
            Self::Tree(tree) => tree.leaf_mut(number),
        }
    }

    fn leaf_of(&self, minor: u32) -> Option<Id> {
        match self {
            Self::Lone(lone) => (lone.minor() == minor).then_some(0),
            Self::Tree(tree) => tree.leaf_of(minor),
        }
    }

    fn change(&mut self, class: &HtbClass) -> Option<()> {
        match self {
            Self::Lone(lone) => lone.change(class),
            Self::Tree(tree) => tree.change(class),
        }
    }
}
