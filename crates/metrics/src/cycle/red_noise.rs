//! Random series with a signal's memory: an AR(1) process with the signal's own lag-1 autocorrelation, corrected for
//! the bias of an estimate after detrending (−(2 + 4ρ)/n; Marriott & Pope 1954), as Allen & Smith 1996 and REDFIT
//! (Schulz & Mudelsee 2002) use it.

use crate::count;
use dumbbell_net::rng::Rng;

/// Name of the random stream. Its seed is fixed, so that a result is the same in every process.
const STREAM: &str = "metrics.cycle.red_noise";
const SEED: u64 = 1954;
const LAG1_MAX: f64 = 0.99;
/// 2^−53: the distance between uniform numbers below 1.
const UNIT: f64 = f64::EPSILON / 2.0;

/// A source of such series.
pub struct RedNoise {
    rng: Rng,
    lag1: f64,
    length: usize,
}

impl RedNoise {
    /// Series of a signal's length and autocorrelation.
    pub fn like(values: &[f64]) -> Self {
        let products: f64 = values.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let squares: f64 = values.iter().map(|value| value * value).sum();
        let lag1 = products / squares;
        let corrected = lag1 + (2.0 + 4.0 * lag1) / count(values.len());
        Self { rng: Rng::from_name(SEED, STREAM), lag1: corrected.clamp(0.0, LAG1_MAX), length: values.len() }
    }

    /// The next series; it starts in the stationary distribution.
    pub fn series(&mut self) -> Vec<f64> {
        let mut series = self.normal();
        series[0] /= (1.0 - self.lag1 * self.lag1).sqrt();
        for at in 1..series.len() {
            series[at] += self.lag1 * series[at - 1];
        }
        series
    }

    /// Independent standard normal numbers (Box & Muller 1958).
    fn normal(&mut self) -> Vec<f64> {
        let mut numbers = Vec::with_capacity(self.length + 1);
        while numbers.len() < self.length {
            // 0 has no logarithm.
            let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
            let angle = 2.0 * std::f64::consts::PI * self.uniform();
            numbers.extend([radius * libm::cos(angle), radius * libm::sin(angle)]);
        }
        numbers.truncate(self.length);
        numbers
    }

    /// 0 to below 1.
    fn uniform(&mut self) -> f64 {
        crate::float(self.rng.next_u64() >> 11) * UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_has_the_autocorrelation_and_variance_that_it_should() {
        let mut noise = RedNoise { rng: Rng::from_name(1, "test"), lag1: 0.8, length: 200_000 };
        let series = noise.series();
        let square: f64 = series.iter().map(|value| value * value).sum();
        let product: f64 = series.windows(2).map(|pair| pair[0] * pair[1]).sum();
        assert!((product / square - 0.8).abs() < 0.01);
        // 1 ÷ (1 − ρ²)
        assert!((square / count(series.len()) - 1.0 / 0.36).abs() < 0.1);
    }
}
