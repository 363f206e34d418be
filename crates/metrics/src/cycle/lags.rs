//! Normalised autocorrelation and cross-correlation as functions of lag: evenly spaced samples in, one number per lag
//! out.

use crate::count;
use crate::spread::mean;

/// A Hann window of five lags.
pub const SMOOTHING: [f64; 5] = [1.0 / 12.0, 3.0 / 12.0, 4.0 / 12.0, 3.0 / 12.0, 1.0 / 12.0];
/// Sums in flight: the additions of one sum wait for each other.
const LANES: usize = 4;

/// A series minus its least-squares line.
pub fn detrended(values: &[f64]) -> Vec<f64> {
    let middle = mean(values).unwrap_or(0.0);
    let step = 2.0 / count(values.len() - 1);
    let time = |at: usize| count(at) * step - 1.0;
    let level: Vec<_> = values.iter().map(|value| value - middle).collect();
    let (product, square) = level
        .iter()
        .enumerate()
        .fold((0.0, 0.0), |(product, square), (at, value)| (product + value * time(at), square + time(at) * time(at)));
    let slope = product / square;
    level.iter().enumerate().map(|(at, value)| value - slope * time(at)).collect()
}

/// 2 Σ x(t) y(t+k) ÷ Σ (x(t)² + y(t+k)²) for k = 0 .. lags: near 1 where y follows x after k.
///
/// With y = x the normalised square difference function (McLeod & Wyvill 2005, "A smarter way to find pitch"): an
/// autocorrelation that stays within ±1 for any overlap.
pub fn cross_difference(first: &[f64], second: &[f64], lags: usize) -> Vec<f64> {
    let size = first.len();
    let (head, before) = (running_squares(first), running_squares(second));
    let normalised = |lag: usize| {
        let squares = head[size - lag] + before[size] - before[lag];
        2.0 * product(&first[..size - lag], &second[lag..]) / squares.max(f64::MIN_POSITIVE)
    };
    (0..=lags).map(normalised).collect()
}

/// A curve smoothed by [`SMOOTHING`]; even at lag 0, extended by its last value at the end.
pub fn smooth(curve: &[f64]) -> Vec<f64> {
    let half = SMOOTHING.len() / 2;
    let around = |lag: usize, shift: usize| curve[(lag + shift).abs_diff(half).min(curve.len() - 1)];
    let sum = |lag| SMOOTHING.iter().enumerate().map(|(shift, weight)| weight * around(lag, shift)).sum();
    (0..curve.len()).map(sum).collect()
}

/// Lags, up to `lags`, of the highest point of each positive stretch past the first zero crossing.
pub fn key_maxima(curve: &[f64], lags: usize) -> Vec<usize> {
    let mut start = curve.iter().position(|value| *value < 0.0).unwrap_or(curve.len());
    let mut tops = Vec::new();
    while let Some(rises) = curve[start..].iter().position(|value| *value > 0.0).map(|after| start + after) {
        start = curve[rises..].iter().position(|value| *value <= 0.0).map_or(curve.len(), |after| rises + after);
        tops.push(rises + highest(&curve[rises..start]));
    }
    tops.retain(|top| *top <= lags);
    tops
}

/// Position of the first of the highest values.
pub fn highest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, at| if values[at] > values[best] { at } else { best })
}

/// Position of the vertex of the parabola through three neighbours, relative to the middle one.
pub fn top(neighbours: &[f64]) -> f64 {
    let [before, middle, after] = *neighbours else { return 0.0 };
    let bend = before - 2.0 * middle + after;
    if bend < 0.0 { (before - after) / (2.0 * bend) } else { 0.0 }
}

/// Σ x(t) y(t), in [`LANES`] sums.
fn product(first: &[f64], second: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (firsts, seconds) = (first.chunks_exact(LANES), second.chunks_exact(LANES));
    let rest: f64 = firsts.remainder().iter().zip(seconds.remainder()).map(|(one, other)| one * other).sum();
    for (firsts, seconds) in firsts.zip(seconds) {
        for lane in 0..LANES {
            sums[lane] += firsts[lane] * seconds[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Σ x(t)² over t < n, for n = 0 .. the length.
fn running_squares(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = values.iter().map(|value| {
        sum += value * value;
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_removed() {
        let values: Vec<_> = (0..50).map(|at| 3.0 + 0.5 * count(at)).collect();
        assert!(detrended(&values).iter().all(|value| value.abs() < 1e-12));
    }

    #[test]
    fn a_copy_is_1_and_its_reverse_is_minus_1() {
        let values = [1.0, -2.0, 3.0, -1.0, 0.5];
        let negative = values.map(|value: f64| -value);
        assert!((cross_difference(&values, &values, 2)[0] - 1.0).abs() < 1e-12);
        assert!((cross_difference(&values, &negative, 2)[0] + 1.0).abs() < 1e-12);
    }

    #[test]
    fn key_maxima_follow_the_first_zero_crossing() {
        let curve = [1.0, 0.5, -0.5, 0.2, 0.6, 0.3, -0.1, 0.4];
        assert_eq!(key_maxima(&curve, 7), [4, 7]);
        assert_eq!(key_maxima(&curve, 5), [4]);
        assert_eq!(key_maxima(&[1.0, 0.9], 1), [0; 0]);
    }

    #[test]
    fn a_curve_is_even_at_lag_0_and_level_at_its_end() {
        assert!(smooth(&[2.0; 7]).iter().all(|value| (value - 2.0).abs() < 1e-12));
        assert!((smooth(&[1.0, 0.0, 0.0, 0.0])[0] - 4.0 / 12.0).abs() < 1e-12);
        assert!((smooth(&[0.0, 1.0, 0.0, 0.0])[0] - 6.0 / 12.0).abs() < 1e-12);
    }
}
