//! ets: strict bands first, then deficit round robin among the others, as in IEEE 802.1Qaz (Linux
//! `net/sched/sch_ets.c`).
//!
//! Filters select bands; unmatched packets go to the band of their priority, which is 0 for all packets here.

use super::call::{CallContext, QdiscContext};
use super::child::Child;
use super::classify::{Class, Classifier, drop_unmatched};
use super::drr::{ClassRound, Share};
use super::stats::QdiscStats;
use super::{EtsConfig, Next, Verdict};
use crate::packet::Packet;

#[cfg(test)]
mod tests;

/// Enhanced transmission selection.
#[derive(Debug)]
pub(super) struct Ets<Q> {
    /// All bands; the strict ones are never active in the round.
    round: ClassRound<Q>,
    strict: usize,
    default: usize,
    classifier: Classifier,
}

impl<Q: Child> Ets<Q> {
    /// Empty bands.
    pub fn new(config: &EtsConfig, context: &QdiscContext) -> Self {
        let bands = (1..)
            .zip(&config.quanta)
            .zip(&config.bands)
            .map(|((minor, quantum), node)| Share::new(minor, *quantum, node.as_ref(), config.band_limit, context));
        let round = ClassRound::new(bands.collect());
        assert!(!round.classes.is_empty(), "an ets needs at least one band");
        let (strict, default) = numbers(config);
        Self { round, strict, default, classifier: Classifier::new(&config.rules) }
    }

    /// Enqueues a packet in its band.
    pub fn enqueue(&mut self, packet: &Packet, stats: &mut QdiscStats, ctx: &mut CallContext) -> Verdict {
        let band = match self.classifier.class_of(packet, ctx.now) {
            Class::Minor(minor) => self.band_of(minor),
            Class::None => self.default,
            Class::Policed => {
                drop_unmatched(packet, stats, ctx);
                return Verdict::Queued;
            }
        };
        if band < self.strict {
            return self.round.classes[band].queue.enqueue(packet, stats, ctx);
        }
        self.round.enqueue(band, packet, stats, ctx)
    }

    /// Dequeues from the first strict band that has a packet, else from the round.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let mut soonest = None;
        for band in &mut self.round.classes[..self.strict] {
            match band.queue.take(stats, ctx) {
                Next::Packet(packet) => return Next::Packet(packet),
                Next::At(time) => soonest = Some(soonest.map_or(time, |other| time.min(other))),
                Next::Empty => {}
            }
        }
        match (self.round.dequeue(stats, ctx), soonest) {
            (Next::At(time), Some(other)) => Next::At(time.min(other)),
            (Next::Empty, Some(time)) => Next::At(time),
            (next, _) => next,
        }
    }

    /// Applies new filters, quanta, strict bands and default band; queued packets stay.
    pub fn change(&mut self, config: &EtsConfig) {
        for (band, quantum) in self.round.classes.iter_mut().zip(&config.quanta) {
            band.quantum = *quantum;
        }
        let old = self.strict;
        (self.strict, self.default) = numbers(config);
        (self.strict..old).for_each(|band| self.round.join(band));
        (old..self.strict).for_each(|band| self.round.leave(band));
        self.classifier = Classifier::new(&config.rules);
    }

    /// Number of bands.
    pub const fn bands(&self) -> usize {
        self.round.classes.len()
    }

    /// The qdisc of a band.
    pub fn band(&self, number: usize) -> Option<&Q> {
        self.round.leaf(number)
    }

    /// The qdisc of a band.
    pub fn band_mut(&mut self, number: usize) -> Option<&mut Q> {
        self.round.leaf_mut(number)
    }

    /// A class that does not exist selects the default band.
    fn band_of(&self, minor: u32) -> usize {
        let band = usize::try_from(minor).unwrap_or(usize::MAX).wrapping_sub(1);
        if band < self.round.classes.len() { band } else { self.default }
    }
}

/// Strict bands and the default band, within the bands.
fn numbers(config: &EtsConfig) -> (usize, usize) {
    let bands = config.bands.len();
    let bounded = |number: u32, most: usize| usize::try_from(number).unwrap_or(usize::MAX).min(most);
    (bounded(config.strict, bands), bounded(config.default, bands - 1))
}
