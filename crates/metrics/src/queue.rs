//! The queue under test: backlog, queueing delay, drops, utilization. Probes: round trip and one-way delay.

use crate::counter::Counter;
use crate::facts::{Queue, Window};
use crate::flows::{during, ratio};
use crate::names::measured;
use crate::run::Run;
use crate::spread::Spread;
use crate::{NS, float, nearest, signed_float};
use serde::Serialize;

/// Milliseconds from nanoseconds.
const MS: f64 = 1e6;

measured! {
    /// Numbers of a queue.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize)]
    pub struct QueueMetrics {
        ;
        /// Backlog, over all samples.
        pub packets: Option<Spread> = "packets",
        /// Backlog ÷ rate, over all samples: the queueing delay of the next packet in a FIFO.
        pub delay_ms: Option<Spread> = "ms",
        /// Dropped packets.
        pub drops: Option<u64> = "packets",
        /// Marked packets; unknown if its kind never marks.
        pub marks: Option<u64> = "packets",
        /// Dropped ÷ (dropped + sent) packets; unknown if it holds super-packets.
        pub loss_rate: Option<f64> = "",
    }
}

/// The numbers of a queue.
pub fn metrics(run: &Run<'_>, queue: &Queue, window: Option<Window>, bounds: Window) -> QueueMetrics {
    let samples = |column, unit: f64| {
        let rows = rows(run, &queue.name);
        Spread::of(during(run.queues, rows, ("time_ns", column), bounds).map(|value| value / unit).collect())
    };
    let total = |total: Option<u64>, column| match window {
        None => total,
        Some(_) => counted(run, queue, column, total, bounds),
    };
    let (drops, sent) = (total(queue.drops, "drops_packets"), total(queue.sent_packets, "sent_packets"));
    let left = drops.zip(sent).map(|(drops, sent)| drops + sent);
    QueueMetrics {
        packets: samples("backlog_packets", 1.0),
        delay_ms: samples("delay_ns", MS),
        drops,
        marks: total(queue.marks, "marks_packets"),
        loss_rate: ratio(drops, left).filter(|_| !run.facts.holds_super_packets),
    }
}

/// Round-trip time in milliseconds of all answered pings sent in the window.
pub fn ping_ms(run: &Run<'_>, bounds: Window) -> Option<Spread> {
    let pings = run.probes.names("kind")?;
    let rows = pings.rows_of("ping");
    Spread::of(during(run.probes, rows, ("time_ns", "rtt_ns"), bounds).map(|ns| ns / MS).collect())
}

/// One-way delay in milliseconds, in the data's direction, of all probes sent in the window (the delay of Pantheon, Yan
/// et al. 2018); None without a common clock.
pub fn one_way_delay_ms(run: &Run<'_>, bounds: Window) -> Option<Spread> {
    let rows = 0..run.probes.rows();
    Spread::of(during(run.probes, rows, ("time_ns", "forward_ns"), bounds).map(|ns| ns / MS).collect())
}

/// Bits that the queue under test sent ÷ bits that it could have sent: 8 × sent bytes ÷ ∫ rate dt.
///
/// Sent bytes are the qdisc's own counter, with link headers; the rate is the manifest's step function. What a shaper's
/// bucket of one packet lets through beyond the rate does not count beyond 1. None if the queue has no rate during part
/// of the window.
pub fn utilization(run: &Run<'_>, queue: &Queue, window: Option<Window>, bounds: Window) -> Option<f64> {
    let sent = match window {
        None => queue.sent_bytes,
        Some(_) => counted(run, queue, "sent_bytes", queue.sent_bytes, bounds),
    };
    let could = integral_bits(&queue.rates, bounds).filter(|bits| *bits > 0.0)?;
    sent.map(|sent| {
        let bits = 8.0 * float(sent);
        let is_under_way = bits > could && bits - could <= BUCKET_BITS;
        if is_under_way { 1.0 } else { bits / could }
    })
}

/// Two packets of Ethernet: a shaper's bucket of one is full at the start, and a packet counts when it begins.
const BUCKET_BITS: f64 = 2.0 * 8.0 * 1514.0;

/// The increase of a counter of the queue in a window.
fn counted(run: &Run<'_>, queue: &Queue, column: &str, total: Option<u64>, bounds: Window) -> Option<u64> {
    let counter = run.queue_counter(&queue.name, column, total.map(float));
    (!counter.is_empty()).then(|| nearest(counter.between(bounds)).unsigned_abs())
}

impl Run<'_> {
    /// A column of `queues` as a counter of a queue, with 0 at the run's start and the given total at its end: samples
    /// need not begin at 0 nor reach the end. A log's counter starts at its first reading, since it may count from boot.
    /// Empty without samples.
    #[must_use]
    pub fn queue_counter(&self, queue: &str, column: &str, total: Option<f64>) -> Counter {
        let (Some(times), Some(values)) = (self.queues.numbers("time_ns"), self.queues.numbers(column)) else {
            return Counter::default();
        };
        let known = rows(self, queue).filter_map(|row| Some((times.get(row)?, values.get(row)?)));
        let (times, values): (Vec<_>, Vec<_>) = known.unzip();
        let counter = Counter::new(times, values);
        if self.facts.is_import || counter.is_empty() {
            counter
        } else {
            counter.anchored((0, self.facts.duration_ns), total)
        }
    }
}

fn rows<'a>(run: &Run<'a>, name: &str) -> impl Iterator<Item = usize> + use<'a> {
    let names = run.queues.names("queue");
    let code = names.and_then(|names| names.list.iter().position(|known| known == name));
    let matching = move |row: &usize| code.is_some() && names.is_some_and(|names| names.code(*row) == code);
    (0..run.queues.rows()).filter(matching)
}

/// ∫ rate dt of a step function between two times; None if it is undefined there.
fn integral_bits(rates: &[(f64, Option<f64>)], bounds: Window) -> Option<f64> {
    let (from, to) = (signed_float(bounds.0) / NS, signed_float(bounds.1) / NS);
    if rates.first().is_none_or(|(start, _)| *start > from) {
        return None;
    }
    let starts = rates.iter().map(|(start, _)| start.max(from));
    let ends = starts.clone().skip(1).chain([to]);
    let mut bits = 0.0;
    for ((start, end), (_, rate)) in starts.zip(ends).zip(rates) {
        let length = end.min(to) - start;
        if length > 0.0 {
            bits += (*rate)? * length;
        }
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_counts_from_its_change_on() {
        let rates = [(0.0, Some(10.0)), (2.0, Some(20.0)), (9.0, None)];
        let second = 1_000_000_000;
        assert_eq!(integral_bits(&rates, (0, 4 * second)), Some(60.0));
        assert_eq!(integral_bits(&rates, (second, 3 * second)), Some(30.0));
        assert_eq!(integral_bits(&rates, (0, 10 * second)), None);
        assert_eq!(integral_bits(&rates[1..], (0, 4 * second)), None);
        assert_eq!(integral_bits(&[], (0, 4 * second)), None);
    }
}
