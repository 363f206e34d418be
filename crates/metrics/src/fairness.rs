//! Fairness between flows, and the time to convergence.

use crate::facts::Window;
use crate::flows::{bytes_received, rate_bps};
use crate::run::{Error, Run};
use crate::{NS, count, signed_float};

/// Jain's index (Σx)² ÷ (n Σx²): 1 if all rates are equal, 1/n if one flow has everything; None without rates.
///
/// Jain, Chiu & Hawe 1984, "A quantitative measure of fairness and discrimination", DEC-TR-301.
#[must_use]
pub fn jain_index(rates: &[f64]) -> Option<f64> {
    let largest = rates.iter().copied().reduce(f64::max)?;
    if largest <= 0.0 {
        return Some(1.0);
    }
    // Squares of very small rates would underflow.
    let shares = rates.iter().map(|rate| rate / largest);
    let (sum, squares) = shares.fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
    Some(sum * sum / (count(rates.len()) * squares))
}

impl Run<'_> {
    /// Time in seconds until the last long-lived flow gets `epsilon` of its long-term throughput.
    ///
    /// The ε-convergence time of Li, Leith & Shorten 2007, "Experimental evaluation of TCP protocols for high-speed
    /// networks": from the start of the flow to the end of the first bin whose throughput is at least ε × its mean over
    /// the second half of its lifetime. None with fewer than two long-lived flows, or without throughput.
    ///
    /// # Errors
    ///
    /// The step is 0 or less.
    pub fn convergence_s(&self, step_ns: i64, epsilon: f64) -> Result<Option<f64>, Error> {
        let whole = self.bounds(None)?;
        let long: Vec<_> =
            self.long_lived(whole).iter().enumerate().filter_map(|(flow, is)| is.then_some(flow)).collect();
        let start = |flow: usize| self.life(&self.facts.flows[flow]).0;
        // Of flows that start together, the first.
        let Some(last) = long.iter().copied().reduce(|last, flow| if start(flow) > start(last) { flow } else { last })
        else {
            return Ok(None);
        };
        if long.len() < 2 {
            return Ok(None);
        }
        let life = self.life(&self.facts.flows[last]);
        let half: Window = (i64::midpoint(life.0, life.1), life.1);
        let bounds = self.bounds(Some(half))?;
        let received = bytes_received(self, Some(half), bounds)[last];
        let late = rate_bps(received, self.clip(&self.facts.flows[last], bounds));
        let Some(late) = late.filter(|rate| *rate > 0.0) else { return Ok(None) };
        let edges = self.edges(step_ns, Some(life))?;
        let rates = &self.goodput_bps(&edges)[last];
        let first = rates.iter().position(|rate| *rate >= epsilon * late);
        Ok(first.map(|bin| signed_float(edges[bin + 1] - life.0) / NS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_1_for_equal_rates_and_1_in_n_for_one_flow_with_everything() {
        assert_eq!(jain_index(&[7.0, 7.0, 7.0]), Some(1.0));
        assert_eq!(jain_index(&[5.0, 0.0]), Some(0.5));
        assert_eq!(jain_index(&[0.0]), Some(1.0));
        assert_eq!(jain_index(&[]), None);
    }
}
