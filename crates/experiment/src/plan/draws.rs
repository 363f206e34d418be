//! The random numbers of a plan: start jitter, Poisson arrivals, seeds of netems.
//!
//! A number belongs to a stream with a name: `start/GROUP`, `arrivals/GROUP`, `netem/HOST/DEVICE/HANDLE`.

use super::error::Error;
use super::text::rounded;
use dumbbell_core::rng::Rng;
use dumbbell_core::tc::quantity::float;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Where random numbers come from.
pub trait Draws {
    /// The next number from 0 to `most` of a stream.
    ///
    /// # Errors
    ///
    /// The stream has no more.
    fn uniform(&mut self, stream: &str, most: u64) -> Result<u64, Error>;

    /// The next time between two events of a stream, which come at this rate, in nanoseconds.
    ///
    /// # Errors
    ///
    /// The stream has no more.
    fn interval_ns(&mut self, stream: &str, per_second: f64) -> Result<u64, Error>;

    /// The first 64 bits of a stream.
    ///
    /// # Errors
    ///
    /// The stream has no more.
    fn bits(&mut self, stream: &str) -> Result<u64, Error>;
}

/// Numbers that the caller has drawn, by stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct DrawTable {
    streams: BTreeMap<String, Vec<u64>>,
    #[serde(skip)]
    taken: BTreeMap<String, usize>,
}

impl DrawTable {
    fn next(&mut self, stream: &str) -> Result<u64, Error> {
        let taken = self.taken.entry(stream.into()).or_default();
        let position = *taken;
        *taken += 1;
        self.number(stream, position)
    }

    fn number(&self, stream: &str, position: usize) -> Result<u64, Error> {
        let number = self.streams.get(stream).and_then(|numbers| numbers.get(position));
        number.copied().ok_or_else(|| Error::plan(format!("the table of draws has too few numbers for '{stream}'")))
    }
}

impl Draws for DrawTable {
    fn uniform(&mut self, stream: &str, _most: u64) -> Result<u64, Error> {
        self.next(stream)
    }

    fn interval_ns(&mut self, stream: &str, _per_second: f64) -> Result<u64, Error> {
        self.next(stream)
    }

    fn bits(&mut self, stream: &str) -> Result<u64, Error> {
        self.number(stream, 0)
    }
}

/// The named random streams of a run's seed.
#[derive(Clone, Debug)]
pub struct Streams {
    seed: u64,
    streams: BTreeMap<String, Rng>,
}

impl Streams {
    /// The streams of the run with this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed, streams: BTreeMap::new() }
    }

    fn next(&mut self, stream: &str) -> u64 {
        let seed = self.seed;
        self.streams.entry(stream.into()).or_insert_with(|| Rng::from_name(seed, stream)).next_u64()
    }
}

impl Draws for Streams {
    fn uniform(&mut self, stream: &str, most: u64) -> Result<u64, Error> {
        let product = u128::from(self.next(stream)) * (u128::from(most) + 1);
        Ok(u64::try_from(product >> u64::BITS).unwrap_or(most))
    }

    fn interval_ns(&mut self, stream: &str, per_second: f64) -> Result<u64, Error> {
        // 53 bits: a float from 0 to just below 1, so that the logarithm is finite.
        let share = float(self.next(stream) >> 11) / float(1 << 53);
        Ok(rounded(-libm::log1p(-share) / per_second * 1e9))
    }

    fn bits(&mut self, stream: &str) -> Result<u64, Error> {
        Ok(Rng::from_name(self.seed, stream).next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_gives_each_number_once() {
        let mut table = DrawTable { streams: [("a".into(), vec![3, 4])].into(), ..DrawTable::default() };
        assert_eq!((table.uniform("a", 9), table.uniform("a", 9)), (Ok(3), Ok(4)));
        assert!(table.uniform("a", 9).is_err());
        assert_eq!(table.bits("a"), Ok(3), "a seed is always the first number");
        assert!(table.bits("b").is_err());
    }

    #[test]
    fn uniform_numbers_reach_both_ends_and_none_beyond() {
        let mut streams = Streams::new(1);
        let drawn: Vec<_> = (0..1_000).map(|_| streams.uniform("start/a", 4).unwrap()).collect();
        for number in 0..=4 {
            assert!((120..280).contains(&drawn.iter().filter(|each| **each == number).count()));
        }
        assert!(drawn.iter().all(|number| *number <= 4));
    }

    #[test]
    fn intervals_have_the_mean_and_the_spread_of_a_poisson_process() {
        let mut streams = Streams::new(2);
        let drawn: Vec<_> = (0..10_000).map(|_| streams.interval_ns("arrivals/a", 50.0).unwrap()).collect();
        let mean = float(drawn.iter().sum::<u64>()) / 1e4;
        assert!((mean - 2e7).abs() < 1e6, "{mean}");
        let later = float(drawn.iter().filter(|each| **each > 40_000_000).count() as u64) / 1e4;
        assert!((later - (-2.0_f64).exp()).abs() < 0.015, "{later}");
    }

    #[test]
    fn a_stream_does_not_move_another() {
        let (mut alone, mut both) = (Streams::new(3), Streams::new(3));
        both.uniform("a", 9).unwrap();
        assert_eq!(alone.uniform("b", u64::MAX), both.uniform("b", u64::MAX));
    }
}
