//! prio: strict priority bands; a band sends only while all earlier bands are empty (Linux `net/sched/sch_prio.c`).
//!
//! Filters select bands; unmatched packets go to the band of their priority, which is 0 for all packets here. The
//! `police` option of an experiment is a prio whose filter has a policer.

use super::call::{CallContext, QdiscContext};
use super::child::Child;
use super::classify::{Class, Classifier, drop_unmatched};
use super::fifo::Fifo;
use super::stats::QdiscStats;
use super::{Next, PrioConfig, Verdict};
use crate::packet::Packet;
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// Bands in order of priority.
#[derive(Debug)]
pub(super) struct Prio<Q> {
    bands: Vec<Q>,
    default: usize,
    classifier: Classifier,
}

impl<Q: Child> Prio<Q> {
    /// Empty bands.
    pub fn new(config: &PrioConfig, context: &QdiscContext) -> Self {
        let band = |node: &Option<super::Node>| match node {
            Some(node) => Q::new(node, context),
            None => Q::built_in(Fifo::of_packets(config.band_limit)),
        };
        let bands: Vec<Q> = config.bands.iter().map(band).collect();
        assert!(!bands.is_empty(), "a prio needs at least one band");
        let default = usize::try_from(config.default).unwrap_or(usize::MAX).min(bands.len() - 1);
        Self { bands, default, classifier: Classifier::new(&config.rules) }
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
        self.bands[band].with_parent_stats(stats, |band| band.enqueue(packet, ctx))
    }

    /// Dequeues from the first band that has a packet.
    pub fn dequeue(&mut self, stats: &mut QdiscStats, ctx: &mut CallContext) -> Next {
        let mut soonest = None;
        for band in &mut self.bands {
            match band.with_parent_stats(stats, |band| band.dequeue(ctx)) {
                Next::Packet(packet) => return Next::Packet(packet),
                Next::At(time) => soonest = Some(soonest.map_or(time, |other| time.min(other))),
                Next::Empty => {}
            }
        }
        soonest.map_or(Next::Empty, Next::At)
    }

    /// Applies new filters and a new default band; bands stay.
    pub fn change(&mut self, config: &PrioConfig) {
        self.default = usize::try_from(config.default).unwrap_or(usize::MAX).min(self.bands.len() - 1);
        self.classifier = Classifier::new(&config.rules);
    }

    /// Number of bands.
    pub const fn bands(&self) -> usize {
        self.bands.len()
    }

    /// The qdisc of a band.
    pub fn band(&self, number: usize) -> Option<&Q> {
        self.bands.get(number)
    }

    /// The qdisc of a band.
    pub fn band_mut(&mut self, number: usize) -> Option<&mut Q> {
        self.bands.get_mut(number)
    }

    /// A class that does not exist selects the default band.
    fn band_of(&self, minor: u32) -> usize {
        let band = usize::try_from(minor).unwrap_or(usize::MAX).wrapping_sub(1);
        if band < self.bands.len() { band } else { self.default }
    }
}
