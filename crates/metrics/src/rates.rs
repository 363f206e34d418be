//! Goodput over time, in even bins.

use crate::facts::Window;
use crate::run::{Error, Run};
use crate::{NS, signed_float};

/// The bin of a figure: 1, 2 or 5 times a power of ten nanoseconds, at least 10 ms, such that a length has at most so many
/// of them.
#[must_use]
pub fn step_ns(length_ns: f64, bins: u32) -> i64 {
    let least = (length_ns / f64::from(bins)).max(1e7);
    let steps = std::iter::successors(Some(1_i64), |power| power.checked_mul(10));
    #[expect(clippy::cast_precision_loss, reason = "a few digits")]
    let fits = |step: &i64| *step as f64 >= least;
    steps.flat_map(|power| [1, 2, 5].map(|factor| power.saturating_mul(factor))).find(fits).unwrap_or(i64::MAX)
}

impl Run<'_> {
    /// The edges of all complete bins of a window.
    ///
    /// # Errors
    ///
    /// The step is 0 or less, or the window is outside the run.
    pub fn edges(&self, step_ns: i64, window: Option<Window>) -> Result<Vec<i64>, Error> {
        if step_ns <= 0 {
            return Err(Error::Step(step_ns));
        }
        let (from, to) = self.bounds(window)?;
        Ok(std::iter::successors(Some(from), |edge| edge.checked_add(step_ns)).take_while(|edge| *edge <= to).collect())
    }

    /// Every flow's goodput in every bin, in bit/s: 8 × (bytes received at the bin's end − at its start) ÷ length of the
    /// bin. Application bytes that arrived in order (goodput, RFC 2647 section 3.17).
    ///
    /// Without any byte counts it is 0 on an engine, which samples every receiver, and NaN in an import, which may have
    /// no such samples.
    #[must_use]
    pub fn goodput_bps(&self, edges: &[i64]) -> Vec<Vec<f64>> {
        self.binned(&self.bytes_counters(), edges)
    }

    /// Every flow's rate of delivered data in every bin, in bit/s: the increase of `delivered_counters` ÷ length of the
    /// bin. Unlike goodput it does not exceed the link's rate when a retransmission fills a hole and the data behind it,
    /// which arrived before, counts at once.
    #[must_use]
    pub fn delivered_bps(&self, edges: &[i64]) -> Vec<Vec<f64>> {
        self.binned(&self.delivered_counters(), edges)
    }

    fn binned(&self, counters: &[crate::Counter], edges: &[i64]) -> Vec<Vec<f64>> {
        let lengths: Vec<_> = edges.windows(2).map(|pair| signed_float(pair[1] - pair[0])).collect();
        let nothing = if self.facts.is_import { f64::NAN } else { 0.0 };
        let rates = |counter: &crate::Counter| {
            if counter.is_empty() {
                return vec![nothing; lengths.len()];
            }
            let bytes = counter.differences(edges);
            bytes.iter().zip(&lengths).map(|(bytes, length)| bytes * (8.0 / length) * NS).collect()
        };
        counters.iter().map(rates).collect()
    }

    /// The sum over a group's flows with a known rate; unknown without any.
    #[must_use]
    pub fn group_goodput_bps(flows: &[usize], rates: &[Vec<f64>]) -> Vec<f64> {
        let known = flows.iter().map(|flow| &rates[*flow]).filter(|rates| !rates.iter().any(|rate| rate.is_nan()));
        let sum = known.fold(None, |sum: Option<Vec<f64>>, rates| {
            Some(match sum {
                None => rates.clone(),
                Some(sum) => sum.iter().zip(rates).map(|(sum, rate)| sum + rate).collect(),
            })
        });
        sum.unwrap_or_else(|| rates[flows[0]].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::step_ns;

    #[test]
    fn a_step_is_round_and_gives_at_most_so_many_bins() {
        let cases =
            [(1.0, 10_000_000), (3e9, 10_000_000), (3.1e9, 20_000_000), (30e9, 100_000_000), (1.6e10, 100_000_000)];
        for (length, step) in cases {
            assert_eq!(step_ns(length, 300), step, "{length}");
        }
    }
}
