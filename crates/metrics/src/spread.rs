//! Mean, median, 95th percentile and maximum of samples.

use crate::count;
use serde::Serialize;

/// Mean, median, 95th percentile and maximum of samples.
///
/// Percentiles interpolate linearly between the two nearest samples (type 7 of Hyndman & Fan 1996, as numpy, polars and
/// R do by default).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Maximum.
    pub max: f64,
}

impl Spread {
    /// Of samples in any order; None without samples. All are NaN if a sample is.
    #[must_use]
    pub fn of(mut samples: Vec<f64>) -> Option<Self> {
        let mean = mean(&samples)?;
        if samples.iter().any(|sample| sample.is_nan()) {
            return Some(Self { mean: f64::NAN, p50: f64::NAN, p95: f64::NAN, max: f64::NAN });
        }
        samples.sort_unstable_by(f64::total_cmp);
        let max = samples[samples.len() - 1];
        Some(Self { mean, p50: percentile(&samples, 0.5), p95: percentile(&samples, 0.95), max })
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
        assert_eq!((spread.mean, spread.p50, spread.max), (2.5, 2.5, 4.0));
        assert!((spread.p95 - 3.85).abs() < 1e-12);
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
