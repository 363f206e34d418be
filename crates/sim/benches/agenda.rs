//! Which structure holds the agenda? The winner is `dumbbell_sim::agenda`; the others live on here, to be beaten.
//!
//! One turn takes the first entry and adds another, as an event does that arms a timer anew. `bench/agenda.md` has the
//! figures.

mod rivals;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dumbbell_core::dice::Dice;
use dumbbell_core::time::Time;
use dumbbell_sim::agenda::{Agenda, Kind};
use rivals::{Binary, Calendar, Holed, Wheel};
use std::hint::black_box;

/// What the rivals have in common.
trait List: Default {
    fn add(&mut self, at: u64, owner: u32);
    fn take(&mut self) -> (u64, u32);
}

impl List for Agenda {
    fn add(&mut self, at: u64, owner: u32) {
        Agenda::add(self, Time::from_nanos(at), Kind::Timer, owner);
    }

    fn take(&mut self) -> (u64, u32) {
        let due = Agenda::take(self).expect("never empty");
        (due.at.as_nanos(), due.owner)
    }
}

/// How far ahead entries are put: a link's next packet, pacing, a path's delay or a delayed ACK, a retransmission timer.
fn distances() -> Vec<u64> {
    let mut dice = Dice::named(1, "agenda");
    let mut between = |low: u32, high: u32| u64::from(low + dice.below(high - low)) * 1_000;
    (0..4_096)
        .map(|number| match number % 20 {
            0..=8 => between(1, 150),
            9..=14 => between(100, 1_000),
            15..=17 => between(5_000, 50_000),
            _ => between(200_000, 300_000),
        })
        .collect()
}

fn turns<L: List>(list: &mut L, distances: &[u64]) {
    for &distance in distances {
        let (at, owner) = list.take();
        list.add(at + distance, black_box(owner));
    }
}

fn measure<L: List>(criterion: &mut Criterion, name: &str) {
    let distances = distances();
    let mut group = criterion.benchmark_group("agenda");
    group.throughput(criterion::Throughput::Elements(distances.len() as u64));
    for pending in [10u32, 1_000, 20_000] {
        let mut list = L::default();
        for owner in 0..pending {
            list.add(distances[owner as usize % distances.len()] + u64::from(owner), owner);
        }
        // Long enough for the entries to spread as they do in a run.
        (0..200).for_each(|_| turns(&mut list, &distances));
        group.bench_with_input(BenchmarkId::new(name, pending), &pending, |bencher, _| {
            bencher.iter(|| turns(&mut list, &distances));
        });
    }
    group.finish();
}

fn agenda(criterion: &mut Criterion) {
    measure::<Agenda>(criterion, "line and heap");
    measure::<Holed>(criterion, "heap of four");
    measure::<Binary>(criterion, "binary heap");
    measure::<Wheel>(criterion, "timing wheel");
    measure::<Calendar>(criterion, "calendar");
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).without_plots();
    targets = agenda
}
criterion_main!(benches);
