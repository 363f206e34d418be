//! drr: classes that hold packets take turns, a quantum of bytes each (Shreedhar and Varghese 1995; Linux
//! `net/sched/sch_drr.c`).
//!
//! A class sends while its deficit pays for its next packet; else the deficit grows by a quantum and the next class has
//! its turn. A packet that no filter puts into a class dies.

use super::classify::{Class, Classifier, shoot};
use super::discipline::{Discipline, Lot, Turn};
use super::fifo::Fifo;
use super::lookahead::{Ahead, Lookahead};
use super::tally::Tally;
use super::{DrrConfig, Next, Verdict};
use crate::packet::Packet;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// Deficit round robin.
#[derive(Debug)]
pub(super) struct Drr {
    classes: Vec<Share>,
    /// Classes that hold packets, in the order of their turns.
    active: VecDeque<usize>,
    classifier: Classifier,
}

/// One class.
#[derive(Debug)]
struct Share {
    minor: u32,
    quantum: u32,
    deficit: u32,
    queue: Lookahead,
}

impl Drr {
    /// Empty.
    pub fn new(config: &DrrConfig, lot: &Lot) -> Self {
        let classes = config.classes.iter().map(|class| Share {
            minor: class.minor,
            quantum: quantum(class.quantum),
            deficit: 0,
            queue: Lookahead::new(match &class.leaf {
                Some(node) => Discipline::new(node, lot),
                None => Discipline::built_in(Fifo::of_packets(config.class_limit)),
            }),
        });
        Self { classes: classes.collect(), active: VecDeque::new(), classifier: Classifier::new(&config.rules) }
    }

    /// Hands a packet to its class.
    pub fn enqueue(&mut self, packet: &Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        let class = match self.classifier.class_of(packet, turn.now) {
            Class::Minor(minor) => self.classes.iter().position(|class| class.minor == minor),
            Class::None | Class::Shot => None,
        };
        let Some(number) = class else {
            shoot(packet, tally, turn);
            return Verdict::Queued;
        };
        let class = &mut self.classes[number];
        let was_empty = class.queue.inner.is_empty();
        let verdict = class.queue.enqueue(packet, tally, turn);
        if was_empty && !class.queue.inner.is_empty() {
            class.deficit = class.quantum;
            self.active.push_back(number);
        }
        verdict
    }

    /// The next packet of the class whose turn it is.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        while let Some(&number) = self.active.front() {
            let class = &mut self.classes[number];
            let bytes = match class.queue.peek(tally, turn) {
                Ahead::Packet { bytes } => bytes,
                // Linux stops here too, and complains about a class that holds packets back.
                Ahead::At(time) => return Next::At(time),
                Ahead::Empty => {
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
            let next = class.queue.take(tally, turn);
            if class.queue.inner.is_empty() {
                self.active.pop_front();
            }
            return next;
        }
        Next::Empty
    }

    /// New filters and quanta; what stands in the classes stays.
    pub fn change(&mut self, config: &DrrConfig) {
        self.classifier = Classifier::new(&config.rules);
        for class in &mut self.classes {
            let found = config.classes.iter().find(|other| other.minor == class.minor);
            class.quantum = found.map_or(class.quantum, |found| quantum(found.quantum));
        }
    }

    /// Number of classes.
    pub const fn classes(&self) -> usize {
        self.classes.len()
    }

    /// What stands in a class.
    pub fn leaf(&self, number: usize) -> Option<&Discipline> {
        self.classes.get(number).map(|class| &class.queue.inner)
    }

    /// What stands in a class.
    pub fn leaf_mut(&mut self, number: usize) -> Option<&mut Discipline> {
        self.classes.get_mut(number).map(|class| &mut class.queue.inner)
    }
}

/// As `drr_change_class` bounds it.
const fn quantum(bytes: u32) -> u32 {
    if bytes < SMALLEST_QUANTUM {
        SMALLEST_QUANTUM
    } else if bytes > LARGEST_QUANTUM {
        LARGEST_QUANTUM
    } else {
        bytes
    }
}

const SMALLEST_QUANTUM: u32 = 256;
const LARGEST_QUANTUM: u32 = 1 << 20;
