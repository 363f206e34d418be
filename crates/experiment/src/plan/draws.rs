//! The random numbers of a plan: start jitter, Poisson arrivals, seeds of netems.
//!
//! A number belongs to a stream with a name: `start/GROUP`, `arrivals/GROUP`, `bytes/GROUP`, `netem/HOST/DEVICE/HANDLE`.

use dumbbell_net::rng::Rng;
use dumbbell_plan::text::rounded;
use dumbbell_tc::quantity::float;
use std::collections::BTreeMap;

/// The named random streams of a run's seed.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    seed: u64,
    streams: BTreeMap<String, Rng>,
}

impl Streams {
    /// The streams of the run with this seed.
    pub(super) const fn new(seed: u64) -> Self {
        Self { seed, streams: BTreeMap::new() }
    }

    /// The next number from 0 to `most` of a stream.
    pub(super) fn uniform(&mut self, stream: &str, most: u64) -> u64 {
        let product = u128::from(self.next(stream)) * (u128::from(most) + 1);
        u64::try_from(product >> u64::BITS).unwrap_or(most)
    }

    /// The next time between two events of a stream, which come at this rate, in nanoseconds.
    pub(super) fn interval_ns(&mut self, stream: &str, per_second: f64) -> u64 {
        // Below 1, so that the logarithm is finite.
        rounded(-libm::log1p(-self.share(stream)) / per_second * 1e9)
    }

    /// The next number of a stream from 0 to just below 1: 53 bits.
    pub(super) fn share(&mut self, stream: &str) -> f64 {
        float(self.next(stream) >> 11) / float(1 << 53)
    }

    /// The next 64 bits of a stream.
    pub(super) fn next(&mut self, stream: &str) -> u64 {
        let seed = self.seed;
        self.streams.entry(stream.into()).or_insert_with(|| Rng::from_name(seed, stream)).next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_numbers_reach_both_ends_and_none_beyond() {
        let mut streams = Streams::new(1);
        let drawn: Vec<_> = (0..1_000).map(|_| streams.uniform("start/a", 4)).collect();
        for number in 0..=4 {
            assert!((120..280).contains(&drawn.iter().filter(|each| **each == number).count()));
        }
        assert!(drawn.iter().all(|number| *number <= 4));
    }

    #[test]
    fn intervals_have_the_mean_and_the_spread_of_a_poisson_process() {
        let mut streams = Streams::new(2);
        let drawn: Vec<_> = (0..10_000).map(|_| streams.interval_ns("arrivals/a", 50.0)).collect();
        let mean = float(drawn.iter().sum::<u64>()) / 1e4;
        assert!((mean - 2e7).abs() < 1e6, "{mean}");
        let later = float(drawn.iter().filter(|each| **each > 40_000_000).count() as u64) / 1e4;
        assert!((later - (-2.0_f64).exp()).abs() < 0.015, "{later}");
    }

    #[test]
    fn a_stream_does_not_move_another() {
        let (mut alone, mut both) = (Streams::new(3), Streams::new(3));
        both.next("a");
        assert_eq!(alone.next("b"), both.next("b"));
    }
}
