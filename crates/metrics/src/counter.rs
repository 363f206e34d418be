//! A sampled counter as a function of time, linear between readings: the bins of any grid add up to the total.

use crate::facts::Window;
use crate::signed_float;

/// A counter: its readings in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counter {
    times_ns: Vec<f64>,
    values: Vec<f64>,
}

impl Counter {
    /// A counter with these readings.
    #[must_use]
    pub fn new(times_ns: Vec<f64>, values: Vec<f64>) -> Self {
        Self { times_ns, values }
    }

    /// Whether it has no reading.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times_ns.is_empty()
    }

    /// Times of the readings, and the readings.
    #[must_use]
    pub fn readings(&self) -> (&[f64], &[f64]) {
        (&self.times_ns, &self.values)
    }

    /// Time of the last reading.
    #[must_use]
    pub fn last_ns(&self) -> Option<f64> {
        self.times_ns.last().copied()
    }

    /// The count at a time: constant before the first and after the last reading.
    ///
    /// # Panics
    ///
    /// Without a reading.
    #[must_use]
    pub fn at(&self, time_ns: f64) -> f64 {
        let after = self.times_ns.partition_point(|time| *time <= time_ns);
        if after == 0 {
            return self.values[0];
        }
        let (time, value) = (self.times_ns[after - 1], self.values[after - 1]);
        if after == self.times_ns.len() || time >= time_ns {
            return value;
        }
        (self.values[after] - value) / (self.times_ns[after] - time) * (time_ns - time) + value
    }

    /// The increase within a window.
    #[must_use]
    pub fn between(&self, (from, to): Window) -> f64 {
        self.at(signed_float(to)) - self.at(signed_float(from))
    }

    /// The increase from each edge to the next.
    #[must_use]
    pub fn differences(&self, edges: &[i64]) -> Vec<f64> {
        let counts: Vec<_> = edges.iter().map(|edge| self.at(signed_float(*edge))).collect();
        counts.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// The same counter with 0 at its start and its total at its end, unless a reading exceeds the total.
    #[must_use]
    pub fn anchored(mut self, (start, stop): Window, total: Option<f64>) -> Self {
        let (start, stop) = (signed_float(start), signed_float(stop));
        if self.times_ns.first().is_none_or(|first| start < *first) {
            self.times_ns.insert(0, start);
            self.values.insert(0, 0.0);
        }
        let last = self.times_ns.len() - 1;
        if let Some(total) = total.filter(|total| stop > self.times_ns[last] && *total >= self.values[last]) {
            self.times_ns.push(stop);
            self.values.push(total);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_linear_between_readings_and_constant_outside() {
        let counter = Counter::new(vec![10.0, 20.0, 40.0], vec![0.0, 100.0, 200.0]);
        let counts = [0.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0].map(|time| counter.at(time));
        assert_eq!(counts.to_vec(), [0.0, 0.0, 50.0, 100.0, 150.0, 200.0, 200.0]);
        assert_eq!(counter.differences(&[0, 15, 30]), [50.0, 100.0]);
    }

    #[test]
    fn the_last_of_several_readings_at_one_time_counts() {
        let counter = Counter::new(vec![10.0, 10.0, 20.0], vec![1.0, 2.0, 4.0]);
        assert_eq!((counter.at(10.0), counter.at(15.0)), (2.0, 3.0));
    }

    #[test]
    fn a_total_below_the_last_reading_is_ignored() {
        let counter = Counter::new(vec![10.0], vec![5.0]);
        assert_eq!(
            counter.clone().anchored((0, 20), Some(8.0)).readings(),
            (&[0.0, 10.0, 20.0][..], &[0.0, 5.0, 8.0][..])
        );
        assert_eq!(counter.anchored((0, 20), Some(4.0)).readings(), (&[0.0, 10.0][..], &[0.0, 5.0][..]));
        assert_eq!(Counter::default().anchored((0, 20), Some(4.0)).readings(), (&[0.0, 20.0][..], &[0.0, 4.0][..]));
    }
}
