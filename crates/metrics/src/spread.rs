//! Mean, median, percentiles and extremes of samples.

use crate::count;
use serde::Serialize;

/// The keys of a spread.
pub const PARTS: [&str; 6] = ["mean", "min", "p50", "p95", "p99", "max"];

/// Mean, median, 95th and 99th percentile, minimum and maximum of samples.
///
/// Percentiles interpolate linearly between the two nearest samples (type 7 of Hyndman & Fan 1996, as numpy, polars and
/// R do by default).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Minimum.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl Spread {
    /// Of samples in any order; None without samples. All are NaN if a sample is.
    #[must_use]
    pub fn of(mut samples: Vec<f64>) -> Option<Self> {
        let mean = mean(&samples)?;
        if samples.iter().any(|sample| sample.is_nan()) {
            return Some(Self::from([f64::NAN; 6]));
        }
        samples.sort_unstable_by(f64::total_cmp);
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|share| percentile(&samples, share));
        Some(Self { mean, min: samples[0], p50, p95, p99, max: samples[samples.len() - 1] })
    }

    /// Of several flows: the mean of their means and of each percentile, the smallest minimum, the largest maximum; None
    /// without any.
    #[must_use]
    pub fn over(flows: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        let known: Vec<[f64; 6]> = flows.flatten().map(<[f64; 6]>::from).collect();
        let column = |part: usize| known.iter().map(move |each| each[part]);
        let mut parts = [0.0; 6];
        for (part, number) in parts.iter_mut().enumerate() {
            *number = match PARTS[part] {
                "min" => column(part).reduce(f64::min)?,
                "max" => column(part).reduce(f64::max)?,
                _ => column(part).sum::<f64>() / count(known.len()),
            };
        }
        (!known.is_empty()).then(|| Self::from(parts))
    }
}

impl From<[f64; 6]> for Spread {
    /// In the order of [`PARTS`].
    fn from([mean, min, p50, p95, p99, max]: [f64; 6]) -> Self {
        Self { mean, min, p50, p95, p99, max }
    }
}

impl From<Spread> for [f64; 6] {
    /// In the order of [`PARTS`].
    fn from(of: Spread) -> Self {
        [of.mean, of.min, of.p50, of.p95, of.p99, of.max]
    }
}

/// The mean; None without samples.
pub fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / count(samples.len()))
}

/// The median; None without samples.
pub fn median(mut samples: Vec<f64>) -> Option<f64> {
    samples.sort_unstable_by(f64::total_cmp);
    (!samples.is_empty()).then(|| percentile(&samples, 0.5))
}

/// The value at a position between two samples, interpolated from the nearer one.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let position = count(sorted.len() - 1) * share;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of the samples")]
    let index = position as usize;
    let (low, high) = (sorted[index], sorted[(index + 1).min(sorted.len() - 1)]);
    let part = position.fract();
    if part >= 0.5 { high - (high - low) * (1.0 - part) } else { low + (high - low) * part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_interpolates_as_numpy_does() {
        let spread = Spread::of(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((spread.mean, spread.min, spread.p50, spread.max), (2.5, 1.0, 2.5, 4.0));
        assert!((spread.p99 - 3.97).abs() < 1e-12);
        assert!((spread.p95 - 3.85).abs() < 1e-12);
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn a_group_has_the_means_and_the_extremes_of_its_flows() {
        let flows = [Spread::of(vec![1.0, 3.0]), None, Spread::of(vec![5.0, 7.0])];
        let group = Spread::over(flows.into_iter()).unwrap();
        assert_eq!((group.mean, group.min, group.p50, group.max), (4.0, 1.0, 4.0, 7.0));
        assert_eq!(Spread::over([None].into_iter()), None);
    }
}
