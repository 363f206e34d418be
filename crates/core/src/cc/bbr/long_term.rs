//! Is the flow policed? Then use the rate that the policer allows, not the largest that was ever seen.
//!
//! A token bucket lets bursts through and then drops; two intervals in a row with high loss and the same average
//! rate betray it. An interval lasts 4 to 16 rounds and begins and ends with a loss, when the bucket is empty.

use super::bandwidth::{Bandwidth, UNIT};
use super::{Bbr, Mode};
use crate::cc::{RateSample, Vitals};

/// The long-term ("LT") estimate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LongTerm {
    /// Average rate of the last lossy interval; zero when there was none.
    bandwidth: Bandwidth,
    /// Is it used in place of the maximum?
    in_use: bool,
    is_sampling: bool,
    /// Rounds in this interval, or since it is in use.
    rounds: u32,
    /// The interval's start: time, packets delivered, packets lost.
    since_ms: u64,
    delivered: u64,
    lost: u64,
}

impl LongTerm {
    /// The policer's rate, when there is one.
    pub(super) fn policed_to(&self) -> Option<Bandwidth> {
        self.in_use.then_some(self.bandwidth)
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self, vitals: &Vitals) {
        *self = Self::default();
        self.begin_interval(vitals);
    }

    fn begin_interval(&mut self, vitals: &Vitals) {
        self.since_ms = millis(vitals);
        self.delivered = vitals.delivered;
        self.lost = vitals.lost;
        self.rounds = 0;
    }

    /// Average rate since the interval began, if a fifth was lost; None to wait on.
    fn lossy_rate(&mut self, vitals: &Vitals) -> Option<Bandwidth> {
        let lost = vitals.lost - self.lost;
        let delivered = vitals.delivered - self.delivered;
        if delivered == 0 || lost * u64::from(UNIT) < LOSS * delivered {
            return None;
        }
        let millis = millis(vitals).saturating_sub(self.since_ms);
        if millis >= LONGEST_MS {
            self.reset(vitals);
            return None;
        }
        (millis > 0).then(|| Bandwidth::of(delivered, millis * 1_000))
    }

    /// Are two intervals' rates the same, within an eighth or 4 kbit/s? Products wrap as Linux's do.
    fn is_consistent(&self, bandwidth: Bandwidth, mss: u32) -> bool {
        let difference = Bandwidth(bandwidth.0.abs_diff(self.bandwidth.0));
        difference.0.wrapping_mul(UNIT) <= RATIO.wrapping_mul(self.bandwidth.0)
            || difference.paced(mss, UNIT).as_bytes() <= DIFFERENCE_BYTES
    }
}

impl Bbr {
    /// Samples loss and rate over intervals, or counts how long the estimate has been in use.
    pub(super) fn sample_long_term(&mut self, vitals: &Vitals, sample: &RateSample) {
        if self.long_term.in_use {
            self.age_long_term(vitals);
            return;
        }
        if !self.long_term.is_sampling {
            if sample.losses == 0 {
                return;
            }
            self.long_term.begin_interval(vitals);
            self.long_term.is_sampling = true;
        }
        if sample.is_app_limited {
            self.long_term.reset(vitals);
            return;
        }
        self.long_term.rounds += u32::from(self.rounds.started);
        if self.long_term.rounds < FEWEST_ROUNDS {
            return;
        }
        if self.long_term.rounds > 4 * FEWEST_ROUNDS {
            self.long_term.reset(vitals);
            return;
        }
        if sample.losses > 0
            && let Some(bandwidth) = self.long_term.lossy_rate(vitals)
        {
            self.end_interval(vitals, bandwidth);
        }
    }

    /// The bucket may have been filled, or the policer be gone: after 48 rounds of cruising the path is probed again.
    fn age_long_term(&mut self, vitals: &Vitals) {
        if self.mode != Mode::ProbeBw || !self.rounds.started {
            return;
        }
        self.long_term.rounds += 1;
        if self.long_term.rounds >= MOST_ROUNDS {
            self.long_term.reset(vitals);
            self.enter_probe_bw(vitals);
        }
    }

    fn end_interval(&mut self, vitals: &Vitals, bandwidth: Bandwidth) {
        let before = self.long_term.bandwidth;
        if before > Bandwidth::ZERO && self.long_term.is_consistent(bandwidth, vitals.mss) {
            self.long_term.bandwidth = Bandwidth(bandwidth.0.wrapping_add(before.0) >> 1);
            self.long_term.in_use = true;
            self.long_term.rounds = 0;
            self.gains.pacing = UNIT;
            return;
        }
        self.long_term.bandwidth = bandwidth;
        self.long_term.begin_interval(vitals);
    }
}

fn millis(vitals: &Vitals) -> u64 {
    vitals.delivered_at.as_micros() / 1_000
}

/// `bbr_lt_intvl_min_rtts`; an interval of more than four times as many is given up.
const FEWEST_ROUNDS: u32 = 4;
/// Lost of delivered packets, in 1/256, from which on an interval is lossy (`bbr_lt_loss_thresh`).
const LOSS: u64 = 50;
/// `bbr_lt_bw_ratio`, in 1/256.
const RATIO: u32 = UNIT / 8;
/// `bbr_lt_bw_diff`.
const DIFFERENCE_BYTES: u64 = 4_000 / 8;
/// `bbr_lt_bw_max_rtts`.
const MOST_ROUNDS: u32 = 48;
/// Linux's milliseconds turn into 32 bits of microseconds; a longer interval is given up.
const LONGEST_MS: u64 = u32::MAX as u64 / 1_000;

#[cfg(test)]
mod tests {
    use super::super::tests::bbr_with;
    use super::*;
    use crate::time::Span;

    /// One round of 40 ms in which so many packets are delivered and lost.
    fn round(bbr: &mut Bbr, vitals: &mut Vitals, delivered: u64, lost: u64) {
        vitals.delivered_at += Span::from_millis(40);
        vitals.delivered += delivered;
        vitals.lost += lost;
        bbr.rounds.started = true;
        let losses = u32::try_from(lost).unwrap();
        bbr.sample_long_term(vitals, &RateSample { losses, ..RateSample::default() });
    }

    #[test]
    fn two_lossy_intervals_of_the_same_rate_betray_a_policer() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        bbr.gains.pacing = 320;
        let mut rounds = 0;
        while bbr.long_term.policed_to().is_none() {
            round(&mut bbr, &mut vitals, 8, 2);
            rounds += 1;
        }
        assert_eq!(rounds, 8, "the first loss counts its round too; then four rounds each");
        assert_eq!(bbr.long_term.bandwidth, Bandwidth::of(8, 40_000), "8 packets a round");
        assert_eq!((bbr.gains.pacing, bbr.bandwidth()), (UNIT, bbr.long_term.bandwidth));
    }

    #[test]
    fn the_estimate_is_used_for_48_rounds() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        bbr.long_term = LongTerm { bandwidth: Bandwidth(5), in_use: true, ..LongTerm::default() };
        for _ in 0..47 {
            round(&mut bbr, &mut vitals, 8, 0);
        }
        assert!(bbr.long_term.in_use);
        let cycle = bbr.cycle.clone();
        round(&mut bbr, &mut vitals, 8, 0);
        assert!(!bbr.long_term.in_use);
        assert_ne!(bbr.cycle, cycle, "a new cycle begins");
        assert_eq!(bbr.long_term.bandwidth, Bandwidth::ZERO);
    }

    #[test]
    fn less_loss_than_a_fifth_is_no_policer() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        for _ in 0..100 {
            round(&mut bbr, &mut vitals, 100, 19);
        }
        assert_eq!(bbr.long_term.policed_to(), None);
    }

    #[test]
    fn rates_that_differ_by_more_than_an_eighth_are_not_the_same() {
        let known = LongTerm { bandwidth: Bandwidth(80_000), ..LongTerm::default() };
        assert!(known.is_consistent(Bandwidth(90_000), 1_448));
        assert!(!known.is_consistent(Bandwidth(90_001), 1_448));
        let slow = LongTerm { bandwidth: Bandwidth(10), ..LongTerm::default() };
        assert!(slow.is_consistent(Bandwidth(15), 1_448), "427 bytes a second more");
        assert!(!slow.is_consistent(Bandwidth(16), 1_448));
    }

    #[test]
    fn an_idle_application_starts_it_anew() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        round(&mut bbr, &mut vitals, 8, 2);
        assert!(bbr.long_term.is_sampling);
        bbr.sample_long_term(&vitals, &RateSample { is_app_limited: true, ..RateSample::default() });
        assert!(!bbr.long_term.is_sampling);
    }

    #[test]
    fn an_interval_without_an_end_is_given_up_after_16_rounds() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        round(&mut bbr, &mut vitals, 8, 2);
        for _ in 0..15 {
            round(&mut bbr, &mut vitals, 8, 0);
        }
        assert!(bbr.long_term.is_sampling);
        round(&mut bbr, &mut vitals, 8, 0);
        assert!(!bbr.long_term.is_sampling);
    }
}
