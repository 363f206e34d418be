//! Metrics against slow, obvious computations from the events that the tables sample: any sampling interval, any window,
//! flows that begin, end or pause inside, empty tables and single samples.

use dumbbell_metrics::{Facts, Flow, Names, Numbers, Queue, Run, Table, Values, Window, jain_index};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MS: i64 = 1_000_000;
const SECOND: i64 = 1000 * MS;

/// A table in memory; every row has every value.
#[derive(Default)]
struct Rows {
    names: BTreeMap<&'static str, (Vec<u32>, Vec<String>)>,
    numbers: BTreeMap<&'static str, Vec<i64>>,
    length: usize,
}

impl Table for Rows {
    fn rows(&self) -> usize {
        self.length
    }

    fn numbers(&self, column: &str) -> Option<Numbers<'_>> {
        self.numbers.get(column).map(|values| Numbers { values: Values::I64(values), known: None })
    }

    fn names(&self, column: &str) -> Option<Names<'_>> {
        self.names.get(column).map(|(codes, list)| Names { codes, known: None, list })
    }
}

/// What really happened to a flow: when it lived, and what its receiver got when.
#[derive(Clone, Debug)]
struct Life {
    start: i64,
    stop: i64,
    kind: Kind,
    arrivals: Vec<(i64, i64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Bulk,
    Sized,
    Pauses,
    Udp,
    NeverStarted,
}

/// What happened to the queue under test: when it sent or dropped a packet of how many bytes.
#[derive(Clone, Debug)]
struct Events {
    duration: i64,
    flows: Vec<Life>,
    sent: Vec<(i64, i64)>,
    dropped: Vec<i64>,
    rate_bps: i64,
}

fn count_to(events: &[(i64, i64)], time: i64) -> i64 {
    events.iter().filter(|(at, _)| *at <= time).map(|(_, bytes)| bytes).sum()
}

/// The sum in a window that begins after the first instant, as a difference of counters has it.
fn count_in(events: &[(i64, i64)], (from, to): Window) -> i64 {
    count_to(events, to) - if from == 0 { 0 } else { count_to(events, from) }
}

impl Events {
    /// The instants at which every socket and queue is read: none at 0, and none at the end unless it is one of them.
    fn instants(&self, sample: i64) -> Vec<i64> {
        (1..=self.duration / sample).map(|number| number * sample).collect()
    }

    fn facts(&self) -> Facts {
        let flow = |(number, life): (usize, &Life)| {
            let is_udp = life.kind == Kind::Udp;
            Flow {
                name: format!("f{number}"),
                group: format!("g{}", number % 2),
                cc: (!is_udp).then(|| "reno".into()),
                is_udp,
                is_intermittent: life.kind == Kind::Pauses,
                start_ns: life.start,
                stop_ns: Some(life.stop),
                bytes_asked: (life.kind == Kind::Sized).then_some(1),
                bytes_received: Some(count_to(&life.arrivals, self.duration).cast_unsigned()),
                ..Flow::default()
            }
        };
        let bytes = count_to(&self.sent, self.duration).cast_unsigned();
        #[expect(clippy::cast_precision_loss, reason = "rates of a test")]
        let rate = self.rate_bps as f64;
        Facts {
            duration_ns: self.duration,
            flows: self.flows.iter().enumerate().map(flow).collect(),
            queue: Some(Queue {
                name: "q".into(),
                rates: vec![(0.0, Some(rate))],
                drops: Some(self.dropped.len() as u64),
                marks: None,
                sent_bytes: Some(bytes),
                sent_packets: Some(self.sent.len() as u64),
                ..Queue::default()
            }),
            ..Facts::default()
        }
    }

    fn flow_rows(&self, sample: i64) -> Rows {
        let mut rows = Rows::default();
        let (mut codes, mut times, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        for time in self.instants(sample) {
            for (code, life) in (0..).zip(&self.flows) {
                if life.start <= time && time <= life.stop && life.kind != Kind::NeverStarted {
                    codes.push(code);
                    times.push(time);
                    bytes.push(count_to(&life.arrivals, time));
                }
            }
        }
        rows.length = codes.len();
        rows.names.insert("flow", (codes, (0..self.flows.len()).map(|number| format!("f{number}")).collect()));
        rows.numbers.extend([("time_ns", times), ("bytes_received", bytes)]);
        rows
    }

    fn queue_rows(&self, sample: i64) -> Rows {
        let times = self.instants(sample);
        let one = |time: &i64| i64::from(*time > 0);
        let packets: Vec<_> = self.sent.iter().map(|(at, _)| (*at, 1)).collect();
        let drops: Vec<_> = self.dropped.iter().map(|at| (*at, 1)).collect();
        let counted = |events: &[(i64, i64)]| times.iter().map(|time| count_to(events, *time)).collect::<Vec<_>>();
        let mut rows = Rows { length: times.len(), ..Rows::default() };
        rows.names.insert("queue", (vec![0; times.len()], vec!["q".into()]));
        rows.numbers.extend([
            ("sent_bytes", counted(&self.sent)),
            ("sent_packets", counted(&packets)),
            ("drops_packets", counted(&drops)),
            ("backlog_packets", times.iter().map(one).collect()),
            ("time_ns", times.clone()),
        ]);
        rows
    }
}

/// Times of events in a span, each later than its start: what came by the start is in the counter's first reading.
fn times_in(span: Window, most: usize) -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec((span.0 + 1)..=span.1.max(span.0 + 1), 0..most).prop_map(|mut times| {
        times.sort_unstable();
        times
    })
}

fn life(duration: i64) -> impl Strategy<Value = Life> {
    let kinds = prop_oneof![
        3 => Just(Kind::Bulk),
        1 => Just(Kind::Sized),
        1 => Just(Kind::Pauses),
        1 => Just(Kind::Udp),
        1 => Just(Kind::NeverStarted)
    ];
    (kinds, 0..duration, 1..=duration).prop_flat_map(move |(kind, start, length)| {
        let stop = (start + length).min(duration);
        let (start, stop) = if kind == Kind::NeverStarted { (duration, duration) } else { (start, stop) };
        let most = if kind == Kind::NeverStarted { 1 } else { 40 };
        (Just((kind, start, stop)), times_in((start, stop), most)).prop_map(|((kind, start, stop), times)| Life {
            start,
            stop,
            kind,
            arrivals: times.into_iter().filter(|time| *time <= stop).map(|time| (time, 1448)).collect(),
        })
    })
}

fn events() -> impl Strategy<Value = Events> {
    (1..8_i64).prop_map(|halves| halves * SECOND / 2 + 70 * MS / 1000).prop_flat_map(|duration| {
        let span = (0, duration);
        (prop::collection::vec(life(duration), 0..4), times_in(span, 60), times_in(span, 20), 1..100_i64).prop_map(
            move |(flows, sent, dropped, mbps)| Events {
                duration,
                flows,
                sent: sent.into_iter().map(|time| (time, 1514)).collect(),
                dropped,
                rate_bps: mbps * 1_000_000,
            },
        )
    })
}

/// A window whose edges are instants of every sampling interval in [`SAMPLES`], or the run's ends.
fn aligned(duration: i64) -> impl Strategy<Value = Option<Window>> {
    let tenths = duration / (SECOND / 10);
    (any::<bool>(), 0..tenths, 1..=tenths).prop_map(move |(is_whole, from, length)| {
        let to = (from + length) * SECOND / 10;
        (!is_whole).then_some((from * SECOND / 10, if to > duration { duration } else { to }))
    })
}

const SAMPLES: [i64; 3] = [10 * MS, 50 * MS, 100 * MS];

#[expect(clippy::cast_precision_loss, reason = "counts of a test")]
fn float(number: i64) -> f64 {
    number as f64
}

fn is_close(found: Option<f64>, expected: Option<f64>) -> bool {
    match (found, expected) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        (found, expected) => found == expected,
    }
}

fn overlap(life: &Life, (from, to): Window) -> i64 {
    (life.stop.min(to) - life.start.max(from)).max(0)
}

proptest! {
    #[test]
    fn counts_in_a_window_are_those_of_the_events_at_every_sampling_interval(
        (events, window) in events().prop_flat_map(|events| { let window = aligned(events.duration); (Just(events), window) }),
        sample in prop::sample::select(&SAMPLES[..]),
    ) {
        let (facts, flows, queues, probes) = (events.facts(), events.flow_rows(sample), events.queue_rows(sample), Rows::default());
        let run = Run::new(&facts, &flows, &queues, &probes);
        let found = run.metrics(window).expect("the window is inside the run");
        let bounds = window.unwrap_or((0, events.duration));

        let bits = 8.0 * float(count_in(&events.sent, bounds));
        let could = float(events.rate_bps) * float(bounds.1 - bounds.0) / float(SECOND);
        let has_samples = window.is_none() || queues.length > 0;
        // A shaper's bucket, two packets at most, does not count beyond 1.
        let is_bucket = bits > could && bits - could <= 2.0 * 8.0 * 1514.0;
        let share = if is_bucket { 1.0 } else { bits / could };
        prop_assert!(is_close(found.utilization, has_samples.then_some(share)), "{found:?}");
        let drops: Vec<_> = events.dropped.iter().map(|at| (*at, 1)).collect();
        let dropped = count_in(&drops, bounds).cast_unsigned();
        prop_assert_eq!(found.queue.and_then(|queue| queue.drops), has_samples.then_some(dropped));

        for (flow, life) in found.flows.iter().zip(&events.flows) {
            // A flow's edges are not instants of samples; its counter is exact at them all the same.
            let bytes = count_in(&life.arrivals, bounds);
            let lived = overlap(life, bounds);
            let expected = (lived > 0).then(|| 8.0 * float(bytes) * 1e3 / float(lived));
            prop_assert!(is_close(flow.throughput_mbps, expected), "{flow:?} {expected:?}");
        }
        let comparable = |life: &&Life| life.kind == Kind::Bulk && 2 * overlap(life, bounds) >= bounds.1 - bounds.0;
        let long: Vec<_> = events.flows.iter().filter(comparable).collect();
        let rates: Vec<_> = long.iter().map(|life| float(count_in(&life.arrivals, bounds)) / float(overlap(life, bounds))).collect();
        prop_assert!(is_close(found.jain, jain_index(&rates)), "{found:?} {rates:?}");
    }

    #[test]
    fn silent_seconds_are_those_without_an_arrival(events in events(), sample in prop::sample::select(&SAMPLES[..])) {
        let (facts, flows, queues, probes) = (events.facts(), events.flow_rows(sample), events.queue_rows(sample), Rows::default());
        let run = Run::new(&facts, &flows, &queues, &probes);
        for (share, life) in run.no_data_shares(SECOND, None).expect("the step is positive").into_iter().zip(&events.flows) {
            if life.start == life.stop {
                prop_assert_eq!(share, None);
                continue;
            }
            // By brute force, from edge to edge of whole seconds.
            let mut edges = vec![life.start];
            edges.extend((1..=life.stop / SECOND).map(|second| second * SECOND).skip_while(|edge| *edge <= life.start).take_while(|edge| *edge < life.stop));
            edges.push(life.stop);
            let got = |pair: &[i64]| life.arrivals.iter().filter(|(at, _)| pair[0] < *at && *at <= pair[1]).count();
            let silent: i64 = edges.windows(2).filter(|pair| got(pair) == 0).map(|pair| pair[1] - pair[0]).sum();
            let share = share.expect("a flow that lived has intervals");
            prop_assert!((share - float(silent) / float(life.stop - life.start)).abs() < 1e-9, "{share} {edges:?}");
        }
    }

    #[test]
    fn any_window_is_wrong_by_less_than_what_came_in_the_intervals_at_its_edges(
        (events, from, length) in events().prop_flat_map(|events| {
            let duration = events.duration;
            (Just(events), 0..duration - 1, 1..duration)
        }),
        sample in prop::sample::select(&SAMPLES[..]),
    ) {
        let (facts, flows, queues, probes) = (events.facts(), events.flow_rows(sample), events.queue_rows(sample), Rows::default());
        let run = Run::new(&facts, &flows, &queues, &probes);
        let window = (from, (from + length).min(events.duration));
        let found = run.metrics(Some(window)).expect("the window is inside the run");
        let drops: Vec<_> = events.dropped.iter().map(|at| (*at, 1)).collect();
        let near = |edge: i64| count_in(&drops, ((edge - sample).max(0), (edge + sample).min(events.duration)));
        if let Some(dropped) = found.queue.and_then(|queue| queue.drops) {
            let off = (dropped.cast_signed() - count_in(&drops, window)).abs();
            prop_assert!(off <= near(window.0) + near(window.1), "{dropped} in {window:?}");
        }
    }
}

/// A hole of one segment is filled in the third second: what was selectively acknowledged before counts before.
#[test]
fn delivered_data_counts_when_it_is_acknowledged_in_order_or_not() {
    let life = Life { start: 0, stop: 3 * SECOND, kind: Kind::Bulk, arrivals: vec![] };
    let events = Events { duration: 3 * SECOND, flows: vec![life], sent: vec![], dropped: vec![], rate_bps: 1_000_000 };
    let numbers = [
        ("time_ns", [SECOND, 2 * SECOND, 3 * SECOND]),
        ("bytes_acked", [1000, 1000, 5000]),
        ("sacked_packets", [0, 3, 0]),
        ("mss_bytes", [1000, 1000, 1000]),
        ("bytes_received", [1000, 1000, 5000]),
    ];
    let flows = Rows {
        names: BTreeMap::from([("flow", (vec![0, 0, 0], vec!["f0".to_owned()]))]),
        numbers: numbers.into_iter().map(|(name, values)| (name, values.to_vec())).collect(),
        length: 3,
    };
    let (facts, none) = (events.facts(), Rows::default());
    let run = Run::new(&facts, &flows, &none, &none);
    let edges = [0, SECOND, 2 * SECOND, 3 * SECOND];
    let rounded = |rates: &[Vec<f64>]| rates[0].iter().map(|rate| rate.round()).collect::<Vec<_>>();
    assert_eq!(rounded(&run.delivered_bps(&edges)), [8000.0, 24000.0, 8000.0]);
    assert_eq!(rounded(&run.goodput_bps(&edges)), [8000.0, 0.0, 32000.0]);
}
