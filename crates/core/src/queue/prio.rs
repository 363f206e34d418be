//! prio: bands in order; a band sends only while those before it hold nothing (Linux `net/sched/sch_prio.c`).
//!
//! Filters put packets into bands; what none catches goes to the band of its priority, and all of our packets have
//! priority 0. A filter's policer makes of a prio what an experiment calls `police`.

use super::classify::{Class, Classifier, shoot};
use super::discipline::{Discipline, Lot, Turn};
use super::fifo::Fifo;
use super::tally::Tally;
use super::{Next, PrioConfig, Verdict};
use crate::packet::Packet;
use alloc::vec::Vec;

#[cfg(test)]
mod tests;

/// Bands, the first one first.
#[derive(Debug)]
pub(super) struct Prio {
    bands: Vec<Discipline>,
    default: usize,
    classifier: Classifier,
}

impl Prio {
    /// Empty.
    pub fn new(config: &PrioConfig, lot: &Lot) -> Self {
        let band = |node: &Option<super::Node>| match node {
            Some(node) => Discipline::new(node, lot),
            None => Discipline::built_in(Fifo::of_packets(config.band_limit)),
        };
        let bands: Vec<Discipline> = config.bands.iter().map(band).collect();
        assert!(!bands.is_empty(), "a prio has bands");
        let default = usize::try_from(config.default).unwrap_or(usize::MAX).min(bands.len() - 1);
        Self { bands, default, classifier: Classifier::new(&config.rules) }
    }

    /// Hands a packet to its band.
    pub fn enqueue(&mut self, packet: &Packet, tally: &mut Tally, turn: &mut Turn) -> Verdict {
        let band = match self.classifier.class_of(packet, turn.now) {
            Class::Minor(minor) => self.band_of(minor),
            Class::None => self.default,
            Class::Shot => {
                shoot(packet, tally, turn);
                return Verdict::Queued;
            }
        };
        self.bands[band].under(tally, |band| band.enqueue(packet, turn))
    }

    /// The next packet of the first band that gives one.
    pub fn dequeue(&mut self, tally: &mut Tally, turn: &mut Turn) -> Next {
        let mut soonest = None;
        for band in &mut self.bands {
            match band.under(tally, |band| band.dequeue(turn)) {
                Next::Packet(packet) => return Next::Packet(packet),
                Next::At(time) => soonest = Some(soonest.map_or(time, |other| time.min(other))),
                Next::Empty => {}
            }
        }
        soonest.map_or(Next::Empty, Next::At)
    }

    /// New filters and another default; bands stay as they are.
    pub fn change(&mut self, config: &PrioConfig) {
        self.default = usize::try_from(config.default).unwrap_or(usize::MAX).min(self.bands.len() - 1);
        self.classifier = Classifier::new(&config.rules);
    }

    /// Number of bands.
    pub const fn bands(&self) -> usize {
        self.bands.len()
    }

    /// What stands in a band.
    pub fn band(&self, number: usize) -> Option<&Discipline> {
        self.bands.get(number)
    }

    /// What stands in a band.
    pub fn band_mut(&mut self, number: usize) -> Option<&mut Discipline> {
        self.bands.get_mut(number)
    }

    /// A class that there is not stands for the default.
    fn band_of(&self, minor: u32) -> usize {
        let band = usize::try_from(minor).unwrap_or(usize::MAX).wrapping_sub(1);
        if band < self.bands.len() { band } else { self.default }
    }
}
