//! Distributions of flow sizes, and how a size is drawn from one.
//!
//! A file of a cumulative distribution has two numbers a line: a size in bytes, and the share of flows that are no larger,
//! from 0 to 1 or in per cent up to 100; the format of the web-search and data-mining workloads of pFabric (Alizadeh et
//! al., SIGCOMM 2013). Between two lines sizes are even.

use crate::declare::sizes::SizeSource;
use crate::diagnostic::{Diagnostic, fail};
use crate::limits::{Limits, grouped};
use dumbbell_plan::text::rounded;
use dumbbell_tc::quantity::float;

/// A distribution of sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Sizes in bytes, each with the share of flows that are no larger, rising to 1.
    Cdf(Vec<(f64, f64)>),
    /// A Pareto distribution.
    Pareto {
        /// The smallest size in bytes.
        least: f64,
        /// The shape.
        shape: f64,
        /// The largest size in bytes: without it one flow in a million would take all of a run.
        most: f64,
    },
}

/// The largest size of a Pareto distribution, as a multiple of its mean.
const MOST_MEANS: f64 = 1_000.0;

/// Reads the file of a cumulative distribution.
///
/// # Errors
///
/// Another format; the diagnostic's key is the line.
pub fn read(content: &[u8], limits: &Limits) -> Result<Distribution, Box<Diagnostic>> {
    let hint =
        "lines of a size in bytes and the share of flows that are no larger, both rising, the last share 1 or 100";
    let text = str::from_utf8(content).ok();
    let text = text.ok_or_else(|| Diagnostic::new("the distribution can't be read: it is not UTF-8", hint))?;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (number, line) in (1_usize..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if points.len() >= limits.lines {
            let problem = format!("more than {} lines", grouped(limits.lines));
            return fail(Diagnostic::new(problem, limits.raised("lines", points.len() * 2)));
        }
        let numbers: Vec<f64> =
            line.split(|sign: char| sign.is_whitespace() || sign == ',').filter_map(|word| word.parse().ok()).collect();
        // Some files have a column between: the size in packets.
        let point = match numbers[..] {
            [size, share] | [size, _, share] => Some((size, share)),
            _ => None,
        };
        let rises = |(size, share): &(f64, f64)| {
            let (last_size, last_share) = points.last().copied().unwrap_or_default();
            size.is_finite() && *size >= last_size && *share >= last_share && *share <= 100.0
        };
        let wrong = || Diagnostic::new("not a line of a distribution", hint).key(format!("line {number}"));
        points.push(point.filter(rises).ok_or_else(|| wrong().value(&line.into()))?);
    }
    let most = points.last().map_or(0.0, |(_, share)| *share);
    let scale = if (most - 100.0).abs() < 1e-6 { 100.0 } else { 1.0 };
    if (most / scale - 1.0).abs() > 1e-6 || points.last().is_none_or(|(size, _)| *size < 1.0) {
        return fail(Diagnostic::new("a distribution that does not end at 1", hint));
    }
    Ok(Distribution::Cdf(points.into_iter().map(|(size, share)| (size, share / scale)).collect()))
}

impl Distribution {
    /// The distribution that an experiment states; None: it names a file.
    #[must_use]
    pub fn stated(source: &SizeSource) -> Option<Self> {
        match source {
            SizeSource::Cdf(_) => None,
            SizeSource::Pareto { mean, shape } => {
                let mean = float(*mean);
                Some(Self::Pareto { least: mean * (shape - 1.0) / shape, shape: *shape, most: mean * MOST_MEANS })
            }
        }
    }

    /// The size at this share, from 0 to below 1, of all flows by size; at least a byte.
    #[must_use]
    pub fn at(&self, share: f64) -> u64 {
        let size = match self {
            Self::Cdf(points) => {
                let next = points.partition_point(|(_, upto)| *upto < share).min(points.len() - 1);
                let (high, upto) = points[next];
                let (low, from) = if next == 0 { (high, 0.0) } else { points[next - 1] };
                if upto > from { low + (high - low) * (share - from) / (upto - from) } else { high }
            }
            Self::Pareto { least, shape, most } => (least / libm::pow(1.0 - share, 1.0 / shape)).min(*most),
        };
        rounded(size).max(1)
    }

    /// The mean size in bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Cdf(points) => {
                let first = points.first().map_or(0.0, |(size, share)| size * share);
                points.windows(2).map(|pair| f64::midpoint(pair[0].0, pair[1].0) * (pair[1].1 - pair[0].1)).sum::<f64>()
                    + first
            }
            // With the largest size cut off: ∫ min(x, most) of the density.
            Self::Pareto { least, shape, most } => {
                let ratio = libm::pow(least / most, shape - 1.0);
                shape * least / (shape - 1.0) * (1.0 - ratio / shape)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"# bytes share\n1000 0.5\n2000 0.5\n10000 1\n";

    #[test]
    fn sizes_are_even_between_two_lines() {
        let sizes = read(TEXT, &Limits::default()).expect("a distribution");
        assert_eq!([0.0, 0.49, 0.75, 1.0].map(|share| sizes.at(share)), [1000, 1000, 6000, 10_000]);
        assert!((sizes.mean() - (500.0 + 3000.0)).abs() < 1e-9, "{}", sizes.mean());
        let per_cent = read(b"1000 1 50\n2000 2 50\n10000 7 100", &Limits::default()).expect("three columns, per cent");
        assert_eq!(per_cent, sizes);
    }

    #[test]
    fn other_files_are_refused_with_their_line() {
        for (text, key) in
            [("1000 0.5\n500 1", "line 2"), ("x y", "line 1"), ("1000 0.5", ""), ("", ""), ("1 nan", "line 1")]
        {
            let fault = read(text.as_bytes(), &Limits::default()).unwrap_err();
            assert_eq!(fault.key, key, "{text}");
        }
    }

    #[test]
    fn a_pareto_distribution_has_its_mean() {
        let sizes = Distribution::stated(&SizeSource::Pareto { mean: 100_000, shape: 2.0 }).expect("it names no file");
        let draws = 100_000;
        let mean =
            (0..draws).map(|number| float(sizes.at((float(number) + 0.5) / float(draws)))).sum::<f64>() / float(draws);
        assert!((mean / sizes.mean() - 1.0).abs() < 0.01, "{mean} {}", sizes.mean());
        assert!((sizes.mean() / 100_000.0 - 1.0).abs() < 0.01);
    }
}
