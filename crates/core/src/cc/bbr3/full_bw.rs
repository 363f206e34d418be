//! Full pipe detection: three rounds with less than 25 % more bandwidth. Runs in Startup and in each probe.

use super::profile::Plateau;
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

    /// Updates on an ACK whose sample is not application-limited; `rate` is its delivery rate or the maximum.
    pub(super) fn update(&mut self, rule: Plateau, rate: Bandwidth, round_started: bool) {
        let is_settled = if rule == Plateau::Maximum { self.full_bw_reached } else { self.full_bw_now };
        if is_settled || !(round_started || rule == Plateau::AnySample) {
            return;
        }
        if rate >= self.full_bw.scaled(GROWTH) {
            self.reset(rate);
            return;
        }
        if !round_started {
            return;
        }
        self.full_bw_count += 1;
        if self.full_bw_count >= ROUNDS {
            self.reach();
        }
    }
}

const GROWTH: u32 = UNIT * 5 / 4;
const ROUNDS: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns after how many rounds of these delivery rates the pipe counts as full.
    fn full_after(rule: Plateau, rates: &[u32]) -> Option<usize> {
        let mut full = FullBw::default();
        rates.iter().position(|&rate| {
            full.update(rule, Bandwidth(rate), true);
            full.full_bw_now
        })
    }

    #[test]
    fn three_rounds_with_less_than_a_quarter_more_fill_the_pipe() {
        for rule in [Plateau::Maximum, Plateau::RoundStart, Plateau::AnySample] {
            assert_eq!(full_after(rule, &[100, 200, 400, 400, 400, 400]), Some(5));
            assert_eq!(full_after(rule, &[100, 124, 124, 124]), Some(3));
            assert_eq!(full_after(rule, &[100, 110, 120, 125, 125, 125, 125]), Some(6));
        }
    }

    #[test]
    fn growth_within_a_round_counts_only_in_googles_version_3() {
        for (rule, count) in [(Plateau::RoundStart, 1), (Plateau::AnySample, 0)] {
            let mut full = FullBw::default();
            full.update(rule, Bandwidth(100), true);
            full.update(rule, Bandwidth(100), true);
            full.update(rule, Bandwidth(200), false);
            assert_eq!(full.full_bw_count, count);
        }
    }

    #[test]
    fn a_probe_restarts_detection_and_full_bw_reached_stays_set() {
        let mut full = FullBw::default();
        full.reach();
        full.reset(Bandwidth(100));
        assert!(!full.full_bw_now && full.full_bw_reached);
        for _ in 0..3 {
            assert!(!full.full_bw_now);
            full.update(Plateau::RoundStart, Bandwidth(110), true);
        }
        assert!(full.full_bw_now);
    }

    #[test]
    fn version_2_detects_only_once() {
        let mut full = FullBw::default();
        full.reach();
        full.reset(Bandwidth::ZERO);
        (0..5).for_each(|_| full.update(Plateau::Maximum, Bandwidth(100), true));
        assert!(!full.full_bw_now);
    }
}
