//! Full pipe detection: three rounds with less than 25 % more bandwidth. Runs in Startup and in each probe.

use crate::cc::model::bandwidth::{Bandwidth, UNIT};

/// `full_bw` and related state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the draft's names")]
pub(super) struct FullBw {
    /// Growth must exceed this bandwidth by a quarter.
    full_bw: Bandwidth,
    full_bw_count: u8,
    /// Full since the last reset?
    pub(super) full_bw_now: bool,
    /// Ever full?
    pub(super) full_bw_reached: bool,
}

impl FullBw {
    /// Restarts detection from this bandwidth (`ResetFullBW`).
    pub(super) fn reset(&mut self, from: Bandwidth) {
        *self = Self { full_bw: from, full_bw_reached: self.full_bw_reached, ..Self::default() };
    }

    /// Marks the pipe as full for another reason.
    pub(super) fn reach(&mut self) {
        (self.full_bw_now, self.full_bw_reached) = (true, true);
    }

    /// Takes a delivery rate: growth restarts detection, and a round without growth counts.
    pub(super) fn take(&mut self, rate: Bandwidth, counts: bool) {
        if rate >= self.full_bw.scaled(GROWTH) {
            self.reset(rate);
        } else if counts {
            self.full_bw_count += 1;
            if self.full_bw_count >= ROUNDS {
                self.reach();
            }
        }
    }

    #[cfg(test)]
    pub(super) const fn count(&self) -> u8 {
        self.full_bw_count
    }
}

const GROWTH: u32 = UNIT * 5 / 4;
const ROUNDS: u8 = 3;
