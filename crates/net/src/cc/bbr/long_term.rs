//! Policer detection: if a token bucket limits the flow, use its rate instead of the maximum delivery rate.
//!
//! A token bucket passes bursts and then drops. Two intervals in a row with high loss and the same average rate
//! indicate a policer. An interval lasts 4 to 16 rounds and begins and ends with a loss, when the bucket is empty.

use super::bandwidth::{Bandwidth, UNIT};
use super::{Bbr, Mode};
use crate::cc::{RateSample, SenderState};

/// The long-term bandwidth estimate ("LT").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LongTerm {
    /// Average rate of the last lossy interval; zero if there was none.
    bandwidth: Bandwidth,
    /// Is it used instead of the maximum?
    controllers_in_use: bool,
    is_sampling: bool,
    /// Rounds in this interval, or since the estimate has been in use.
    rounds: u32,
    /// Start of the interval: time, packets delivered, packets lost.
    since_ms: u64,
    delivered: u64,
    lost: u64,
}

impl LongTerm {
    /// The policer's rate, if one was detected.
    pub(super) fn policed_to(&self) -> Option<Bandwidth> {
        self.controllers_in_use.then_some(self.bandwidth)
    }

    /// Resets all state.
    pub(super) fn reset(&mut self, tp: &SenderState) {
        *self = Self::default();
        self.begin_interval(tp);
    }

    fn begin_interval(&mut self, tp: &SenderState) {
        self.since_ms = millis(tp);
        self.delivered = tp.delivered;
        self.lost = tp.lost;
        self.rounds = 0;
    }

    /// Average rate since the start of the interval if at least a fifth was lost; None to continue the interval.
    fn lossy_rate(&mut self, tp: &SenderState) -> Option<Bandwidth> {
        let lost = tp.lost - self.lost;
        let delivered = tp.delivered - self.delivered;
        if delivered == 0 || lost * u64::from(UNIT) < LOSS * delivered {
            return None;
        }
        let millis = millis(tp).saturating_sub(self.since_ms);
        if millis >= MAX_MS {
            self.reset(tp);
            return None;
        }
        (millis > 0).then(|| Bandwidth::of(delivered, millis * 1_000))
    }

    /// Are the rates of two intervals equal within an eighth or 4 kbit/s? Products wrap as Linux's do.
    fn is_consistent(&self, bandwidth: Bandwidth, mss: u32) -> bool {
        let difference = Bandwidth(bandwidth.0.abs_diff(self.bandwidth.0));
        difference.0.wrapping_mul(UNIT) <= RATIO.wrapping_mul(self.bandwidth.0)
            || difference.paced(mss, UNIT).as_bytes() <= DIFFERENCE_BYTES
    }
}

impl Bbr {
    /// Samples loss and rate per interval, or counts the rounds in which the estimate has been in use.
    pub(super) fn sample_long_term(&mut self, tp: &SenderState, sample: &RateSample) {
        if self.long_term.controllers_in_use {
            self.age_long_term(tp);
            return;
        }
        if !self.long_term.is_sampling {
            if sample.losses == 0 {
                return;
            }
            self.long_term.begin_interval(tp);
            self.long_term.is_sampling = true;
        }
        if sample.is_app_limited {
            self.long_term.reset(tp);
            return;
        }
        self.long_term.rounds += u32::from(self.rounds.started);
        if self.long_term.rounds < MIN_ROUNDS {
            return;
        }
        if self.long_term.rounds > 4 * MIN_ROUNDS {
            self.long_term.reset(tp);
            return;
        }
        if sample.losses > 0
            && let Some(bandwidth) = self.long_term.lossy_rate(tp)
        {
            self.end_interval(tp, bandwidth);
        }
    }

    /// After 48 rounds in `ProbeBw`, probes the path again: the bucket may have been refilled, or the policer removed.
    fn age_long_term(&mut self, tp: &SenderState) {
        if self.mode != Mode::ProbeBw || !self.rounds.started {
            return;
        }
        self.long_term.rounds += 1;
        if self.long_term.rounds >= MAX_ROUNDS {
            self.long_term.reset(tp);
            self.enter_probe_bw(tp);
        }
    }

    fn end_interval(&mut self, tp: &SenderState, bandwidth: Bandwidth) {
        let before = self.long_term.bandwidth;
        if before > Bandwidth::ZERO && self.long_term.is_consistent(bandwidth, tp.mss) {
            self.long_term.bandwidth = Bandwidth(bandwidth.0.wrapping_add(before.0) >> 1);
            self.long_term.controllers_in_use = true;
            self.long_term.rounds = 0;
            self.gains.pacing = UNIT;
            return;
        }
        self.long_term.bandwidth = bandwidth;
        self.long_term.begin_interval(tp);
    }
}

fn millis(tp: &SenderState) -> u64 {
    tp.delivered_at.as_micros() / 1_000
}

/// `bbr_lt_intvl_min_rtts`; an interval more than four times as long is discarded.
const MIN_ROUNDS: u32 = 4;
/// Loss ratio from which an interval is lossy, in 1/256 of delivered packets (`bbr_lt_loss_thresh`).
const LOSS: u64 = 50;
/// `bbr_lt_bw_ratio`, in 1/256.
const RATIO: u32 = UNIT / 8;
/// `bbr_lt_bw_diff`.
const DIFFERENCE_BYTES: u64 = 4_000 / 8;
/// `bbr_lt_bw_max_rtts`.
const MAX_ROUNDS: u32 = 48;
/// Linux converts milliseconds to microseconds in 32 bits; a longer interval is discarded.
const MAX_MS: u64 = u32::MAX as u64 / 1_000;

#[cfg(test)]
mod tests {
    use super::super::tests::bbr_with;
    use super::*;
    use crate::time::Span;

    /// A round of 40 ms that delivers `delivered` packets and loses `lost`.
    fn round(bbr: &mut Bbr, tp: &mut SenderState, delivered: u64, lost: u64) {
        tp.delivered_at += Span::from_millis(40);
        tp.delivered += delivered;
        tp.lost += lost;
        bbr.rounds.started = true;
        let losses = u32::try_from(lost).unwrap();
        bbr.sample_long_term(tp, &RateSample { losses, ..RateSample::default() });
    }

    #[test]
    fn two_lossy_intervals_of_the_same_rate_detect_a_policer() {
        let (mut bbr, mut tp, _cc) = bbr_with(Mode::ProbeBw);
        bbr.gains.pacing = 320;
        let mut rounds = 0;
        while bbr.long_term.policed_to().is_none() {
            round(&mut bbr, &mut tp, 8, 2);
            rounds += 1;
        }
        assert_eq!(rounds, 8, "the round of the first loss counts; then four rounds each");
        assert_eq!(bbr.long_term.bandwidth, Bandwidth::of(8, 40_000), "8 packets per round");
        assert_eq!((bbr.gains.pacing, bbr.bandwidth()), (UNIT, bbr.long_term.bandwidth));
    }

    #[test]
    fn the_estimate_is_used_for_48_rounds() {
        let (mut bbr, mut tp, _cc) = bbr_with(Mode::ProbeBw);
        bbr.long_term = LongTerm { bandwidth: Bandwidth(5), controllers_in_use: true, ..LongTerm::default() };
        for _ in 0..47 {
            round(&mut bbr, &mut tp, 8, 0);
        }
        assert!(bbr.long_term.controllers_in_use);
        let cycle = bbr.cycle.clone();
        round(&mut bbr, &mut tp, 8, 0);
        assert!(!bbr.long_term.controllers_in_use);
        assert_ne!(bbr.cycle, cycle, "a new cycle begins");
        assert_eq!(bbr.long_term.bandwidth, Bandwidth::ZERO);
    }

    #[test]
    fn less_loss_than_a_fifth_detects_no_policer() {
        let (mut bbr, mut tp, _cc) = bbr_with(Mode::ProbeBw);
        for _ in 0..100 {
            round(&mut bbr, &mut tp, 100, 19);
        }
        assert_eq!(bbr.long_term.policed_to(), None);
    }

    #[test]
    fn rates_that_differ_by_more_than_an_eighth_do_not_match() {
        let known = LongTerm { bandwidth: Bandwidth(80_000), ..LongTerm::default() };
        assert!(known.is_consistent(Bandwidth(90_000), 1_448));
        assert!(!known.is_consistent(Bandwidth(90_001), 1_448));
        let slow = LongTerm { bandwidth: Bandwidth(10), ..LongTerm::default() };
        assert!(slow.is_consistent(Bandwidth(15), 1_448), "427 bytes per second more");
        assert!(!slow.is_consistent(Bandwidth(16), 1_448));
    }

    #[test]
    fn an_app_limited_sample_restarts_the_detection() {
        let (mut bbr, mut tp, _cc) = bbr_with(Mode::ProbeBw);
        round(&mut bbr, &mut tp, 8, 2);
        assert!(bbr.long_term.is_sampling);
        bbr.sample_long_term(&tp, &RateSample { is_app_limited: true, ..RateSample::default() });
        assert!(!bbr.long_term.is_sampling);
    }

    #[test]
    fn an_interval_without_a_closing_loss_is_discarded_after_16_rounds() {
        let (mut bbr, mut tp, _cc) = bbr_with(Mode::ProbeBw);
        round(&mut bbr, &mut tp, 8, 2);
        for _ in 0..15 {
            round(&mut bbr, &mut tp, 8, 0);
        }
        assert!(bbr.long_term.is_sampling);
        round(&mut bbr, &mut tp, 8, 0);
        assert!(!bbr.long_term.is_sampling);
    }
}
