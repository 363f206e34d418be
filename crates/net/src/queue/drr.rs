//! drr: deficit round robin among classes (Shreedhar and Varghese 1995; Linux `net/sched/sch_drr.c`).
//!
//! A class sends while its deficit covers its next packet; otherwise the deficit grows by a quantum and the next class
//! follows. A packet that no filter matches is dropped. [`ClassRound`] is the round of ets, too.

use super::call::{CallContext, Peeked, QdiscContext};
use super::child::Child;
use super::classify::{Class, Classifier, drop_unmatched};
use super::fifo::Fifo;
use super::lookahead::Lookahead;
use super::stats::QdiscStats;
use super::{DrrConfig, Next, Node, Verdict};
use crate::packet::Packet;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// Deficit round robin.
#[derive(Debug)]
pub(super) struct Drr<Q> {
    round: ClassRound<Q>,
    classifier: Classifier,
}

/// Classes and their round.
#[derive(Debug)]
pub(super) struct ClassRound<Q> {
    pub classes: Vec<Share<Q>>,
    /// Active classes in order of service.
    active: VecDeque<usize>,
}

/// One class.
#[derive(Debug)]
pub(super) struct Share<Q> {
    minor: u32,
    pub quantum: u32,
    deficit: u32,
    pub queue: Lookahead<Q>,
}

impl<Q: Child> Drr<Q> {
    /// Empty classes.
    pub fn new(config: &DrrConfig, context: &QdiscContext) -> Self {
        let classes = config.classes.iter().map(|class| {
            Share::new(class.minor, quantum(class.quantum), class.leaf.as_ref(), config.class_limit, context)
        });
        Self { round: ClassRound::new(classes.collect()), classifier: Classifier::new(&config.rules) }
    }

    /// Enqueues a packet in its class.
    pub fn enqueue(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        let class = match self.classifier.class_of(packet, ctx.now) {
            Class::Minor(minor) => self.round.classes.iter().position(|class| class.minor == minor),
            Class::None | Class::Policed => None,
        };
        let Some(number) = class else {
            drop_unmatched(packet, stats, ctx);
            return Verdict::Queued;
        };
        self.round.enqueue(number, packet, stats, ctx)
    }

    /// Dequeues the next packet of the current class.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        self.round.dequeue(stats, ctx)
    }

    /// Applies new filters and quanta; queued packets stay.
    pub fn change(&mut self, config: &DrrConfig) {
        self.classifier = Classifier::new(&config.rules);
        for class in &mut self.round.classes {
            let found = config.classes.iter().find(|other| other.minor == class.minor);
            class.quantum = found.map_or(class.quantum, |found| quantum(found.quantum));
        }
    }

    /// Number of classes.
    pub const fn classes(&self) -> usize {
        self.round.classes.len()
    }

    /// The qdisc of a class.
    pub fn leaf(&self, number: usize) -> Option<&Q> {
        self.round.leaf(number)
    }

    /// The qdisc of a class.
    pub fn leaf_mut(&mut self, number: usize) -> Option<&mut Q> {
        self.round.leaf_mut(number)
    }
}

impl<Q: Child> Share<Q> {
    /// An empty class; without a qdisc it has a pfifo of `limit` packets.
    pub fn new(minor: u32, quantum: u32, leaf: Option<&Node>, limit: u32, context: &QdiscContext) -> Self {
        let queue = leaf.map_or_else(|| Q::built_in(Fifo::of_packets(limit)), |node| Q::new(node, context));
        Self { minor, quantum, deficit: 0, queue: Lookahead::new(queue) }
    }
}

impl<Q: Child> ClassRound<Q> {
    /// None of the classes is active.
    pub const fn new(classes: Vec<Share<Q>>) -> Self {
        Self { classes, active: VecDeque::new() }
    }

    /// Enqueues a packet; a class that was empty joins the round.
    pub fn enqueue(
        &mut self,
        number: usize,
        packet: &Packet,
        stats: &mut QdiscStats,
        ctx: &mut CallContext,
    ) -> Verdict {
        let class = &mut self.classes[number];
        let was_empty = class.queue.inner.is_empty();
        let verdict = class.queue.enqueue(packet, stats, ctx);
        if was_empty {
            self.join(number);
        }
        verdict
    }

    /// Makes a class active unless it is empty.
    pub fn join(&mut self, number: usize) {
        let class = &mut self.classes[number];
        if !class.queue.inner.is_empty() {
            class.deficit = class.quantum;
            self.active.push_back(number);
        }
    }

    /// Removes a class from the round.
    pub fn leave(&mut self, number: usize) {
        self.active.retain(|active| *active != number);
    }

    /// Dequeues the next packet of the current class.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        while let Some(&number) = self.active.front() {
            let class = &mut self.classes[number];
            let bytes = match class.queue.peek(stats, ctx) {
                Peeked::Packet { bytes } => bytes,
                // Linux stops here too and warns about a non-work-conserving class.
                Peeked::At(time) => return Next::At(time),
                Peeked::Empty => {
                    self.active.pop_front();
                    continue;
                }
            };
            if bytes > class.deficit {
                class.deficit += class.quantum;
                self.active.rotate_left(1);
                continue;
            }
            class.deficit -= bytes;
            let next = class.queue.take(stats, ctx);
            if class.queue.inner.is_empty() {
                self.active.pop_front();
            }
            return next;
        }
        Next::Empty
    }

    /// The qdisc of a class.
    pub fn leaf(&self, number: usize) -> Option<&Q> {
        self.classes.get(number).map(|class| &class.queue.inner)
    }

    /// The qdisc of a class.
    pub fn leaf_mut(&mut self, number: usize) -> Option<&mut Q> {
        self.classes.get_mut(number).map(|class| &mut class.queue.inner)
    }
}

/// Bounds of `drr_change_class` and `ets_quantum_parse`.
#[must_use]
pub const fn quantum(bytes: u32) -> u32 {
    if bytes < MIN_QUANTUM {
        MIN_QUANTUM
    } else if bytes > MAX_QUANTUM {
        MAX_QUANTUM
    } else {
        bytes
    }
}

const MIN_QUANTUM: u32 = 256;
const MAX_QUANTUM: u32 = 1 << 20;
