//! Lines of a run: samples by flow or group, rates in bins, fewer points without lost extremes.

use crate::colours::Member;
use dumbbell_metrics::{Counter, Numbers, Run, step_ns};

/// Nanoseconds in a second.
pub const NS: f64 = 1e9;
/// The most distinguishable lines. With more flows, groups replace them; of more groups, those with the highest goodput.
pub const FLOWS_MAX: usize = 8;
/// Points of a line: two for each pixel of a wide figure.
pub const POINTS: usize = 1400;
/// The most bins of a rate.
const BINS_MAX: u32 = 300;

/// Times in seconds (while it is made, in nanoseconds), and values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Times.
    pub s: Vec<f64>,
    /// Values.
    pub v: Vec<f64>,
}

impl Series {
    /// Appends a point.
    pub fn push(&mut self, time: f64, value: f64) {
        self.s.push(time);
        self.v.push(value);
    }

    /// From nanoseconds to seconds.
    #[must_use]
    pub fn in_seconds(mut self) -> Self {
        for time in &mut self.s {
            *time /= NS;
        }
        self
    }
}

/// Lines by name, in order.
pub type NamedSeries = Vec<(String, Series)>;

/// A run, and how its lines are drawn.
pub struct Lines<'a> {
    /// The run.
    pub run: &'a Run<'a>,
    /// Points of a line.
    pub points: usize,
}

impl Lines<'_> {
    /// Length of the run in seconds.
    pub fn duration_s(&self) -> f64 {
        float(self.run.facts.duration_ns) / NS
    }

    /// Whether groups replace flows.
    pub fn is_grouped(&self) -> bool {
        self.run.facts.flows.len() > FLOWS_MAX
    }

    /// The entries of the legend: flows, or groups in their place.
    pub fn members(&self) -> Vec<Member> {
        if self.is_grouped() {
            return self.shown_groups();
        }
        let member = |flow: &dumbbell_metrics::Flow| Member {
            name: flow.name.clone(),
            group: flow.group.clone(),
            cc: flow.cc.clone(),
        };
        self.run.facts.flows.iter().map(member).collect()
    }

    /// All groups, with the controller that all of its flows have.
    pub fn groups(&self) -> Vec<Member> {
        let member = |(name, flows): (&str, Vec<usize>)| {
            let cc = |flow: &usize| self.run.facts.flows[*flow].cc.clone();
            let first = cc(&flows[0]);
            let cc = first.filter(|first| flows.iter().all(|flow| cc(flow).as_ref() == Some(first)));
            Member { name: name.to_owned(), group: name.to_owned(), cc }
        };
        self.run.groups().into_iter().map(member).collect()
    }

    /// All groups, or those with the highest goodput; in the order of the experiment.
    pub fn shown_groups(&self) -> Vec<Member> {
        let groups = self.groups();
        if groups.len() <= FLOWS_MAX {
            return groups;
        }
        let rates = self.run.group_rates_bps();
        let order = ordered(rates.iter().map(|rate| -rate.unwrap_or(0.0)));
        let shown = &order[..FLOWS_MAX];
        let is_shown = |(index, _): &(usize, Member)| shown.contains(index);
        groups.into_iter().enumerate().filter(is_shown).map(|(_, group)| group).collect()
    }

    /// The bin of a rate in nanoseconds.
    pub fn step_ns(&self) -> i64 {
        step_ns(float(self.run.facts.duration_ns), BINS_MAX)
    }

    /// The edges of all complete bins.
    pub fn edges(&self) -> Vec<i64> {
        self.run.edges(self.step_ns(), None).unwrap_or_default()
    }

    /// Rates of flows in bins, or their sums in groups, ÷ `per`.
    pub fn rates(&self, rates: &[Vec<f64>], per: f64, by_group: bool) -> NamedSeries {
        let edges = self.edges();
        let series = |values: &[f64], alive: &dyn Fn(usize) -> bool| {
            let mut series = Series::default();
            for (bin, value) in values.iter().enumerate() {
                if !value.is_nan() && alive(bin) {
                    series.push(middle_s(&edges, bin), value / per);
                }
            }
            series
        };
        if by_group {
            let of = |(name, flows): (&str, Vec<usize>)| {
                (name.to_owned(), series(&Run::group_goodput_bps(&flows, rates), &|_| true))
            };
            return self.run.groups().into_iter().map(of).collect();
        }
        let flows = self.run.facts.flows.iter().zip(rates);
        flows
            .map(|(flow, values)| (flow.name.clone(), series(values, &|bin| self.is_alive(flow, &edges, bin))))
            .collect()
    }

    fn is_alive(&self, flow: &dumbbell_metrics::Flow, edges: &[i64], bin: usize) -> bool {
        let (start, stop) = self.run.life(flow);
        edges[bin + 1] > start && edges[bin] < stop
    }

    /// Retransmitted segments per second of flows, or of groups; without flows that don't count them.
    pub fn retransmits(&self) -> NamedSeries {
        let (edges, per_second) = (self.edges(), NS / float(self.step_ns()));
        let mut found: NamedSeries = Vec::new();
        for (index, flow) in self.run.facts.flows.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "a number of segments")]
            let counter = self.run.counter(index, "retrans_packets", flow.retransmits.map(|total| total as f64));
            if counter.is_empty() {
                continue;
            }
            let mut series = Series::default();
            for (bin, packets) in counter.differences(&edges).into_iter().enumerate() {
                if self.is_alive(flow, &edges, bin) {
                    series.push(middle_s(&edges, bin), packets * per_second);
                }
            }
            let name = if self.is_grouped() { &flow.group } else { &flow.name };
            match found.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum = added(sum, &series),
                None => found.push((name.clone(), series)),
            }
        }
        found
    }

    /// A column of the flows' samples ÷ `per`, with fewer points; of groups the sum of their flows or the mean. Without
    /// `zero`, 0 is unknown.
    pub fn samples(&self, column: &str, per: f64, sums: bool, zero: bool) -> NamedSeries {
        let flow = |(index, flow): (usize, &dumbbell_metrics::Flow)| {
            let samples = self.run.series(index, column);
            let mut series = Series::default();
            for (time, value) in samples.times_ns.into_iter().zip(samples.values) {
                if zero || value != 0.0 {
                    series.push(time, value / per);
                }
            }
            (flow.name.clone(), series)
        };
        let flows: NamedSeries = self.run.facts.flows.iter().enumerate().map(flow).collect();
        let lines = if self.is_grouped() { self.of_groups(&flows, sums) } else { flows };
        self.thinned(lines.into_iter().map(|(name, series)| (name, series.in_seconds())).collect())
    }

    /// Each group as one line. Flows are sampled at slightly different times: average each flow in bins, then combine the
    /// flows of the group.
    fn of_groups(&self, flows: &NamedSeries, sums: bool) -> NamedSeries {
        #[expect(clippy::cast_precision_loss, reason = "a number of points")]
        let bin = (float(self.run.facts.duration_ns) / POINTS as f64).round_ties_even().max(1.0);
        let group = |(name, members): (&str, Vec<usize>)| {
            let mut means: Vec<(f64, f64)> = members.iter().flat_map(|flow| means(&flows[*flow].1, bin)).collect();
            sort(&mut means);
            let mut series = Series::default();
            for part in means.chunk_by(at_once) {
                let sum: f64 = part.iter().map(|(_, mean)| mean).sum();
                #[expect(clippy::cast_precision_loss, reason = "a number of flows")]
                let value = if sums { sum } else { sum / part.len() as f64 };
                series.push(part[0].0 * bin + (bin / 2.0).floor(), value);
            }
            (name.to_owned(), series)
        };
        self.run.groups().into_iter().map(group).collect()
    }

    /// The lines with the points that they need; without those that have none.
    pub fn thinned(&self, lines: NamedSeries) -> NamedSeries {
        let some = lines.into_iter().filter(|(_, series)| !series.s.is_empty());
        some.map(|(name, series)| (name, thinned(&series, self.points))).collect()
    }

    /// Known samples of a queue's column; times in nanoseconds.
    pub fn queue_samples(&self, queue: &str, column: &str) -> Series {
        let mut series = Series::default();
        let (Some(names), Some(times), Some(values)) =
            (self.run.queues.names("queue"), self.run.queues.numbers("time_ns"), self.run.queues.numbers(column))
        else {
            return series;
        };
        for row in names.rows_of(queue) {
            if let (Some(time), Some(value)) = (times.get(row), values.get(row)) {
                series.push(time, value);
            }
        }
        series
    }

    /// When (in seconds) and by how much any of these counters (times in nanoseconds, readings) grew; one mark per pixel.
    pub fn grown(&self, counters: &[Series]) -> Series {
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for Series { s, v } in counters {
            let before = std::iter::once(0.0).chain(v.iter().copied());
            let grown = s.iter().zip(v).zip(before).map(|((time, reading), before)| (*time, reading - before));
            steps.extend(grown.filter(|(_, packets)| *packets > 0.0));
        }
        sort(&mut steps);
        let bin = self.pixel_ns();
        let mut marks = Series::default();
        for pixel in
            steps.chunk_by(|one, other| at_once(&((one.0 / bin).floor(), 0.0), &((other.0 / bin).floor(), 0.0)))
        {
            marks.push(pixel[0].0 / NS, pixel.iter().map(|(_, packets)| packets).sum());
        }
        marks
    }

    /// As many bins as a line has pixels.
    pub fn pixel_ns(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a number of points")]
        let points = self.points as f64;
        (float(self.run.facts.duration_ns) / points * 2.0).round_ties_even().max(1.0)
    }

    /// A counter of the queue under test in bins, if it has one.
    pub fn queue_counter(&self, queue: &str, column: &str, total: Option<u64>) -> Counter {
        #[expect(clippy::cast_precision_loss, reason = "a number of packets")]
        let total = total.map(|total| total as f64);
        self.run.queue_counter(queue, column, total)
    }
}

/// Sorts points by their first number; equal ones stay in order. All sorts are this one: a page loads its code.
pub fn sort(points: &mut [(f64, f64)]) {
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
}

/// The positions of these numbers, from the smallest.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positions")]
pub fn ordered(numbers: impl Iterator<Item = f64>) -> Vec<usize> {
    let mut numbers: Vec<_> = numbers.enumerate().map(|(at, number)| (number, at as f64)).collect();
    sort(&mut numbers);
    numbers.into_iter().map(|(_, at)| at as usize).collect()
}

/// Whether two points have the same first number.
fn at_once(one: &(f64, f64), other: &(f64, f64)) -> bool {
    one.0.total_cmp(&other.0).is_eq()
}

/// The mean in each bin: the bin's number, and the mean.
fn means(Series { s, v }: &Series, bin: f64) -> Vec<(f64, f64)> {
    let at: Vec<_> = s.iter().map(|time| (time / bin).floor()).collect();
    let mut samples: Vec<(f64, f64)> = at.into_iter().zip(v.iter().copied()).collect();
    sort(&mut samples);
    #[expect(clippy::cast_precision_loss, reason = "a number of samples")]
    let mean = |part: &[(f64, f64)]| (part[0].0, part.iter().map(|(_, value)| value).sum::<f64>() / part.len() as f64);
    samples.chunk_by(at_once).map(mean).collect()
}

/// The sum of two lines in the same bins.
fn added(one: &Series, other: &Series) -> Series {
    let mut points: Vec<_> =
        [one, other].iter().flat_map(|each| each.s.iter().copied().zip(each.v.iter().copied())).collect();
    sort(&mut points);
    let mut sum = Series::default();
    for part in points.chunk_by(at_once) {
        sum.push(part[0].0, part.iter().map(|(_, value)| value).sum());
    }
    sum
}

/// The samples to keep: smallest and largest of every time bin, the first and the last.
///
/// Bins are equal in time, so that the line renders the same at one bin per pixel (min-max reduction, as in M4, Jugel et
/// al. 2014). Keeps at high `points` + 2 samples, or all if there are no more. Takes no NaN.
#[must_use]
pub fn kept(times: &[f64], values: &[f64], points: usize) -> Vec<usize> {
    if values.len() <= points {
        return (0..values.len()).collect();
    }
    let bins = (points / 2).max(1);
    let (first, last) = (times[0], times[times.len() - 1]);
    let length = (last - first).max(1e-300);
    let mut extremes: Vec<Option<(usize, usize)>> = vec![None; bins];
    for (row, (time, value)) in times.iter().zip(values).enumerate() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a bin"
        )]
        let bin = (((time - first) / length * bins as f64) as usize).min(bins - 1);
        let (low, high) = extremes[bin].get_or_insert((row, row));
        if *value < values[*low] {
            *low = row;
        }
        if *value >= values[*high] {
            *high = row;
        }
    }
    let mut chosen = vec![false; values.len()];
    let ends = [(0, values.len() - 1)];
    for (low, high) in extremes.into_iter().flatten().chain(ends) {
        chosen[low] = true;
        chosen[high] = true;
    }
    (0..values.len()).filter(|row| chosen[*row]).collect()
}

fn thinned(Series { s, v }: &Series, points: usize) -> Series {
    let rows = kept(s, v, points);
    Series { s: rows.iter().map(|row| s[*row]).collect(), v: rows.iter().map(|row| v[*row]).collect() }
}

/// The middle of a bin in seconds.
pub fn middle_s(edges: &[i64], bin: usize) -> f64 {
    float((edges[bin] + edges[bin + 1]).div_euclid(2)) / NS
}

/// Whether a column has a known value.
pub fn is_known(column: Option<Numbers<'_>>, rows: usize) -> bool {
    column.is_some_and(|column| (0..rows).any(|row| column.get(row).is_some()))
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a run")]
pub fn float(ns: i64) -> f64 {
    ns as f64
}

#[cfg(test)]
mod tests {
    use super::kept;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fewer_points_keep_the_ends_and_the_extremes(
            samples in prop::collection::vec((0.0..10.0_f64, -5.0..5.0_f64), 1..500),
            points in 2..100_usize,
        ) {
            let mut samples = samples;
            super::sort(&mut samples);
            let (times, values): (Vec<_>, Vec<_>) = samples.into_iter().unzip();
            let rows = kept(&times, &values, points);
            prop_assert!(rows.len() <= points + 2 || rows.len() == values.len());
            prop_assert!(rows.is_sorted() && rows.contains(&0) && rows.contains(&(values.len() - 1)));
            let extreme = |of: fn(f64, f64) -> f64, among: &mut dyn Iterator<Item = f64>| among.reduce(of).unwrap();
            for of in [f64::min, f64::max] {
                let kept_one = extreme(of, &mut rows.iter().map(|row| values[*row]));
                prop_assert_eq!(kept_one.to_bits(), extreme(of, &mut values.iter().copied()).to_bits());
            }
        }
    }
}
