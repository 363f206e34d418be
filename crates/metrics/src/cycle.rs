//! Find the period of two groups' rates: its length and strength, the phase, and what repeats.
//!
//! The search looks for one period in the difference of the two largest groups' throughput, and accepts it only if
//! random oscillations rarely show as much. [`Run::cycle`] is the entry point; the search itself, [`period`], works on
//! any signal.
//!
//! 1. d(t) = throughput of the largest group − of the second, in bins of 0.5 s (longer in runs of more than 1000 s),
//!    while both have flows; detrended by its straight line.
//! 2. n(k), the autocorrelation of d in the normalised form of `lags::cross_difference`.
//! 3. Evidence, of two kinds, over all k up to a third of the length (three periods must fit): the highest return n(k)
//!    past the first zero crossing, and the deepest reversal −n(k ÷ 2) halfway to a return, n(k) > 0. A missed reversal
//!    costs the return twice and the reversal once, while half periods of uneven length keep the return and blunt the
//!    reversal.
//! 4. Null hypothesis: `red_noise` with d's own lag-1 autocorrelation. 499 such series of the same length go through
//!    steps 1 to 3. Each is judged by its rarer kind of evidence, as d is; `p_value` = (1 + number of series with
//!    evidence as rare) ÷ 500, and a cycle is accepted at 2.5 % (Davison & Hinkley 1997, section 4.2).
//! 5. The period is a key maximum of n (McLeod & Wyvill 2005: the highest point of a positive stretch past the first
//!    zero crossing, here of n smoothed over five lags), interpolated by a parabola: the first whose contrast (n(k) −
//!    n(k ÷ 2)) ÷ 2 is at least 0.7 × the highest. At twice the period the contrast vanishes.
//! 6. Small oscillations are ignored: the standard deviation of d must be at least a tenth of the two groups' mean
//!    throughput together.
//! 7. Phase: the lag at which the second group's throughput follows the first's best, by the same normalised
//!    cross-correlation, ÷ the period. 0.5: exact alternation. 0: both oscillate together.
//! 8. A period of the difference is not yet alternation: one group that oscillates on its own causes it too, as BBR
//!    does by `PROBE_RTT`. [`movement`] distinguishes them.
//! 9. `PROBE_RTT`'s interval: the median interval between the `PROBE_RTT`s of a flow of the two groups is within a tenth
//!    of the period.
//!
//! Measured by `tests/analysis/test_cycles.py`, 200 cases of 120 s each. False alarms: white and red
//! noise (0.5, 0.9, 0.97) and random walks 2 to 3.5 %, an AR(2) process 3 %, random alternation (a telegraph, 5 to 10 s)
//! 6.5 to 7 %, one step 0. Alternation every 20 s that was detected, and detected within a tenth of the period: exact
//! 100 and 100 %; 10 % jitter 100 and 99.5; 20 % jitter 97 and 75.5; 10 % jitter and one change in ten missing 82 and
//! 71; one in five 58.5 and 42; a group that leads for three tenths or a fifth of each period 100 and 100; a sine in red
//! noise (0.9) of twice its standard deviation 99 and 99.

mod lags;
mod movement;
mod red_noise;

pub use movement::{Kind, Movement, movement};

use crate::facts::Window;
use crate::flows::{bytes_received, rate_bps};
use crate::names::measured;
use crate::run::{Error, Run};
use crate::spread::mean;
use crate::{NS, count, signed_float, sum_of_known};
use lags::{SMOOTHING, cross_difference, detrended, key_maxima, smooth, top};
use serde::Serialize;

const STEP_NS: i64 = 500_000_000;
/// Limits the search time for runs of hours.
const BINS_MAX: i64 = 2_000;
const SAMPLES_MIN: usize = 24;
const PERIODS_MIN: usize = 3;
/// The shortest period, in bins: two for each half.
const STEPS_MIN: usize = 4;
const FIRST_OF_HIGHEST: f64 = 0.7;
const SURROGATES: usize = 499;
const SIGNIFICANCE: f64 = 0.025;
const VISIBLE: f64 = 0.1;
/// Largest relative difference between `PROBE_RTT`'s interval and the period.
const RHYTHM: f64 = 0.1;
/// A signal whose range, detrended, is smaller than this share of its own is a straight line.
const FLAT: f64 = 1e-9;

measured! {
    /// A period of two groups' rates; `kind` states whether they alternate.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct Cycle {
        /// How the two rates move; `separate` for a single signal.
        pub kind: Kind,
        ;
        /// The period.
        pub period_s: f64 = "s",
        /// Time between changes of the leading group, if the groups alternate.
        pub half_period_s: f64 = "s",
        /// n(k) at the period: 1 for exact repetition, less with jitter or missing changes.
        pub strength: f64 = "",
        /// Share of red-noise series of the same autocorrelation with as much evidence.
        pub p_value: f64 = "",
        /// The lag of the second largest group behind the largest, as a share of the period, 0 to 1; unknown for a
        /// single signal.
        pub phase: Option<f64> = "",
        /// Pearson's r of the two rates; unknown for a single signal.
        pub correlation: Option<f64> = "",
        /// Share of the bins in which the second largest group leads; unknown for a single signal.
        pub second_leads: Option<f64> = "",
        /// The interval between a flow's `PROBE_RTT`s if it equals the period; unknown otherwise, and for alternating
        /// groups.
        pub probe_rtt_s: Option<f64> = "s",
    }
}

impl Run<'_> {
    /// The period of the two largest groups' rates, its strength, phase and kind.
    ///
    /// None with fewer than two groups, in less than three periods, or without significance.
    ///
    /// # Errors
    ///
    /// The window is outside the run.
    pub fn cycle(&self, window: Option<Window>) -> Result<Option<Cycle>, Error> {
        let bounds = self.bounds(window)?;
        let Some(largest) = self.two_largest(window, bounds) else { return Ok(None) };
        let Some(together) = self.together(&largest, bounds) else { return Ok(None) };
        let step_ns = STEP_NS.max((together.1 - together.0) / BINS_MAX);
        let rates = self.goodput_bps(&self.edges(step_ns, Some(together))?);
        let [first, second] = largest.each_ref().map(|flows| Self::group_goodput_bps(flows, &rates));
        let difference: Vec<_> = first.iter().zip(&second).map(|(first, second)| first - second).collect();
        if difference.len() < SAMPLES_MIN || !is_visible(&difference, &first, &second) {
            return Ok(None);
        }
        let bin_s = signed_float(step_ns) / NS;
        let Some(found) = period(&difference, bin_s) else { return Ok(None) };
        let half_periods = 2.0 * count(difference.len()) * bin_s / found.period_s;
        let moves = movement(&first, &second, half_periods);
        let probe_rtt_s = match moves.kind {
            Kind::Alternating => None,
            _ => self.probe_rtt_s(&largest, found.period_s),
        };
        Ok(Some(Cycle {
            phase: Some(follows(&first, &second, found.period_s / bin_s)),
            kind: moves.kind,
            correlation: Some(moves.correlation),
            second_leads: Some(moves.second_leads),
            probe_rtt_s,
            ..found
        }))
    }

    /// The flows of the two groups with the most throughput, if two have any.
    fn two_largest(&self, window: Option<Window>, bounds: Window) -> Option<[Vec<usize>; 2]> {
        let received = bytes_received(self, window, bounds);
        let rate = |flows: &[usize]| rate_bps(sum_of_known(flows.iter().map(|flow| received[*flow])), Some(bounds));
        let rated =
            self.groups().into_iter().filter_map(|(_, flows)| Some((rate(&flows).filter(|rate| *rate > 0.0)?, flows)));
        let mut rated: Vec<_> = rated.collect();
        rated.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let mut largest = rated.into_iter().map(|(_, flows)| flows);
        Some([largest.next()?, largest.next()?])
    }

    /// The time in which both groups have a flow.
    fn together(&self, groups: &[Vec<usize>; 2], bounds: Window) -> Option<Window> {
        let mut both = bounds;
        for flows in groups {
            let lives: Vec<_> = flows.iter().filter_map(|flow| self.clip(&self.facts.flows[*flow], bounds)).collect();
            both.0 = both.0.max(lives.iter().map(|life| life.0).min()?);
            both.1 = both.1.min(lives.iter().map(|life| life.1).max()?);
        }
        (both.0 < both.1).then_some(both)
    }

    /// The interval between `PROBE_RTT`s of the first flow in these groups whose interval equals the period.
    fn probe_rtt_s(&self, groups: &[Vec<usize>; 2], period_s: f64) -> Option<f64> {
        let intervals = self.probe_rtt_intervals_s();
        let of_groups = (0..intervals.len()).filter(|flow| groups.iter().any(|flows| flows.contains(flow)));
        of_groups
            .map(|flow| intervals[flow])
            .find(|interval| (interval.unwrap_or(0.0) - period_s).abs() <= RHYTHM * period_s)
            .flatten()
    }
}

/// The period of an evenly sampled oscillating signal, or None: steps 1 to 5 above.
#[must_use]
pub fn period(signal: &[f64], step_s: f64) -> Option<Cycle> {
    let size = signal.len();
    if size < SAMPLES_MIN {
        return None;
    }
    let values = detrended(signal);
    let is_curved = range(&values) > FLAT * range(signal);
    if !is_curved {
        return None;
    }
    let lags = size / PERIODS_MIN;
    // Smoothing needs values beyond the last lag.
    let curve = cross_difference(&values, &values, lags + SMOOTHING.len());
    let p_value = p_value(&values, &curve[..=lags]);
    let smoothed = smooth(&curve);
    let contrast = |peak: usize| smoothed[peak] - halfway(&smoothed, peak);
    let peaks = key_maxima(&smoothed, lags);
    let highest = peaks.iter().map(|peak| contrast(*peak)).fold(0.0, f64::max);
    // If the signal is even more similar halfway to a return, that return is no period.
    if p_value > SIGNIFICANCE || highest <= 0.0 {
        return None;
    }
    let first = peaks.into_iter().find(|peak| contrast(*peak) >= FIRST_OF_HIGHEST * highest)?;
    let strength = curve[first - 1..first + 2].iter().copied().fold(f64::MIN, f64::max).min(1.0);
    let period_s = (count(first) + top(&smoothed[first - 1..first + 2])) * step_s;
    Some(Cycle {
        period_s,
        half_period_s: period_s / 2.0,
        strength,
        p_value,
        phase: None,
        kind: Kind::Separate,
        correlation: None,
        second_leads: None,
        probe_rtt_s: None,
    })
}

/// The phase, 0 to 1: the lag within a period at which `second` is most similar to `first`, ÷ the period.
#[must_use]
pub fn follows(first: &[f64], second: &[f64], period_steps: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a period is shorter than the signal")]
    let within = period_steps.ceil() as usize;
    let curve = smooth(&cross_difference(&detrended(first), &detrended(second), within + SMOOTHING.len()));
    let best = lags::highest(&curve[..within]);
    let between = if best > 0 { top(&curve[best - 1..best + 2]) } else { 0.0 };
    ((count(best) + between) / period_steps).rem_euclid(1.0)
}

/// Step 6.
fn is_visible(difference: &[f64], first: &[f64], second: &[f64]) -> bool {
    let both: Vec<_> = first.iter().zip(second).map(|(first, second)| first + second).collect();
    let (Some(middle), Some(throughput)) = (mean(difference), mean(&both)) else { return false };
    let squares: Vec<_> = difference.iter().map(|value| (value - middle) * (value - middle)).collect();
    mean(&squares).is_some_and(|variance| variance.sqrt() >= VISIBLE * throughput)
}

fn range(values: &[f64]) -> f64 {
    let ends = values.iter().fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)));
    ends.1 - ends.0
}

/// A curve at half of a lag; for an odd lag, the mean of both neighbours.
fn halfway(curve: &[f64], lag: usize) -> f64 {
    f64::midpoint(curve[lag / 2], curve[lag - lag / 2])
}

/// Step 3: a curve's highest return, and its deepest reversal halfway to a return.
fn evidence(curve: &[f64]) -> [f64; 2] {
    let (mut highest, mut deepest) = (0.0f64, 0.0f64);
    let Some(crossing) = curve.iter().position(|value| *value < 0.0) else { return [0.0; 2] };
    for lag in crossing.max(STEPS_MIN)..curve.len() {
        if curve[lag] > 0.0 {
            highest = highest.max(curve[lag]);
            deepest = deepest.max(-halfway(curve, lag));
        }
    }
    [highest, deepest]
}

/// Step 4.
fn p_value(values: &[f64], curve: &[f64]) -> f64 {
    let mut noise = red_noise::RedNoise::like(values);
    let series = |_| evidence(&cross_difference_of(&detrended(&noise.series()), curve.len() - 1));
    let shown: Vec<_> = std::iter::once(evidence(curve)).chain((0..SURROGATES).map(series)).collect();
    // For each series and kind, count the series with at least as much; the rarer kind decides, as for the signal.
    let counts = [0, 1].map(|kind| {
        let mut sorted: Vec<_> = shown.iter().map(|of| of[kind]).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        shown.iter().map(|of| sorted.len() - sorted.partition_point(|other| *other < of[kind])).collect::<Vec<_>>()
    });
    let rarest: Vec<_> = counts[0].iter().zip(&counts[1]).map(|(one, other)| one.min(other)).collect();
    count(rarest.iter().filter(|rank| **rank <= rarest[0]).count()) / count(rarest.len())
}

fn cross_difference_of(values: &[f64], lags: usize) -> Vec<f64> {
    cross_difference(values, values, lags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(steps: f64, length: usize) -> Vec<f64> {
        (0..length).map(|at| libm::sin(2.0 * std::f64::consts::PI * count(at) / steps)).collect()
    }

    #[test]
    fn a_sine_has_its_period() {
        let found = period(&wave(40.0, 240), 0.5).unwrap();
        assert!((found.period_s - 20.0).abs() < 0.1 && found.strength > 0.99 && found.p_value < 0.01, "{found:?}");
    }

    #[test]
    fn constants_and_lines_have_no_period() {
        for signal in [vec![0.0; 100], vec![5.0; 100], (0..100).map(count).collect(), vec![1.0; 5]] {
            assert_eq!(period(&signal, 0.5), None);
        }
    }

    #[test]
    fn a_quarter_period_later_is_a_phase_of_a_quarter() {
        let (first, second) = (wave(40.0, 240), wave(40.0, 250)[..].to_vec());
        let later: Vec<_> = second.iter().skip(30).chain(&second[..20]).copied().take(240).collect();
        let phase = follows(&first[..200], &later[..200], 40.0);
        assert!((phase - 0.25).abs() < 0.02, "{phase}");
    }
}
