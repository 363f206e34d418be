//! Compares data structures for the event queue. `dumbbell_sim::event_queue` is the fastest; the others are kept for
//! comparison.
//!
//! Each iteration takes the first event and adds another, like an event that rearms a timer. Results are in
//! `bench/event-queue.md`.

mod candidates;

use candidates::{Binary, Calendar, Holed, Wheel};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dumbbell_net::rng::Rng;
use dumbbell_net::time::Time;
use dumbbell_sim::event_queue::{EventQueue, Kind};
use std::hint::black_box;

/// Interface of all candidates.
trait List: Default {
    fn add(&mut self, at: u64, owner: u32);
    fn take(&mut self) -> (u64, u32);
}

impl List for EventQueue {
    fn add(&mut self, at: u64, owner: u32) {
        EventQueue::add(self, Time::from_nanos(at), Kind::Timer, owner);
    }

    fn take(&mut self) -> (u64, u32) {
        let event = EventQueue::take(self).expect("never empty");
        (event.at.as_nanos(), event.owner)
    }
}

/// Delays of added events: next packet of a link, pacing, path delay or delayed ACK, retransmission timer.
fn distances() -> Vec<u64> {
    let mut rng = Rng::from_name(1, "agenda");
    let mut between = |low: u32, high: u32| u64::from(low + rng.below(high - low)) * 1_000;
    (0..4_096)
        .map(|number| match number % 20 {
            0..=8 => between(1, 150),
            9..=14 => between(100, 1_000),
            15..=17 => between(5_000, 50_000),
            _ => between(200_000, 300_000),
        })
        .collect()
}

fn steps<L: List>(list: &mut L, distances: &[u64]) {
    for &distance in distances {
        let (at, owner) = list.take();
        list.add(at + distance, black_box(owner));
    }
}

fn measure<L: List>(criterion: &mut Criterion, name: &str) {
    let distances = distances();
    let mut group = criterion.benchmark_group("event queue");
    group.throughput(criterion::Throughput::Elements(distances.len() as u64));
    for pending in [10u32, 1_000, 20_000] {
        let mut list = L::default();
        for owner in 0..pending {
            list.add(distances[owner as usize % distances.len()] + u64::from(owner), owner);
        }
        // Long enough for the entries to spread as they do in a run.
        (0..200).for_each(|_| steps(&mut list, &distances));
        group.bench_with_input(BenchmarkId::new(name, pending), &pending, |bencher, _| {
            bencher.iter(|| steps(&mut list, &distances));
        });
    }
    group.finish();
}

fn event_queue(criterion: &mut Criterion) {
    measure::<EventQueue>(criterion, "line and heap");
    measure::<Holed>(criterion, "heap of four");
    measure::<Binary>(criterion, "binary heap");
    measure::<Wheel>(criterion, "timing wheel");
    measure::<Calendar>(criterion, "calendar");
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).without_plots();
    targets = event_queue
}
criterion_main!(benches);
