//! The bands of fq: each has lists of new and of old flows; bands share by deficit round robin.

use alloc::collections::VecDeque;

/// All bands, and the one that is served.
#[derive(Debug)]
pub(super) struct Bands {
    bands: [Band; BANDS],
    served: usize,
}

/// A list of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// Flows that became active; served first.
    New,
    /// All other active flows.
    Old,
}

#[derive(Debug)]
struct Band {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// Bytes that it may still send in this round.
    credit: i64,
    /// Bytes that it gets each round.
    quantum: i64,
}

const BANDS: usize = 3;
/// Bytes per round, the default of `weights`.
const QUANTA: [i64; BANDS] = [9 << 16, 3 << 16, 1 << 16];

impl Bands {
    /// Empty bands without credit.
    pub fn new() -> Self {
        let bands = QUANTA.map(|quantum| Band { new: VecDeque::new(), old: VecDeque::new(), credit: 0, quantum });
        Self { bands, served: 0 }
    }

    /// The flow to serve next and its list; None if all lists are empty. May go on to another band.
    pub fn first(&mut self) -> Option<(List, usize)> {
        let mut passed = 0;
        loop {
            if let Some(first) = self.bands[self.served].first() {
                return Some(first);
            }
            loop {
                passed += 1;
                if passed > BANDS {
                    return None;
                }
                self.served = (self.served + 1) % BANDS;
                let band = &mut self.bands[self.served];
                band.credit = (band.credit + band.quantum).min(band.quantum);
                if band.credit > 0 {
                    break;
                }
                passed = 0;
            }
        }
    }

    /// Appends a flow to a list of a band.
    pub fn append(&mut self, list: List, band: usize, flow: usize) {
        self.bands[band].list(list).push_back(flow);
    }

    /// Removes the first flow of a list of the band that is served.
    pub fn remove(&mut self, list: List) {
        self.bands[self.served].list(list).pop_front();
    }

    /// Takes the bytes of a packet from the credit of the band that is served.
    pub fn charge(&mut self, bytes: u32) {
        self.bands[self.served].credit -= i64::from(bytes);
    }
}

impl Band {
    fn first(&self) -> Option<(List, usize)> {
        if self.credit <= 0 {
            return None;
        }
        let new = self.new.front().map(|&flow| (List::New, flow));
        new.or_else(|| self.old.front().map(|&flow| (List::Old, flow)))
    }

    const fn list(&mut self, list: List) -> &mut VecDeque<usize> {
        match list {
            List::New => &mut self.new,
            List::Old => &mut self.old,
        }
    }
}
