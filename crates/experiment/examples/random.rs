//! Prints random valid experiments: `random SEED [COUNT]`.

use dumbbell_experiment::{random, write};
use std::io::Write as _;

fn main() -> std::io::Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse().ok());
    let (first, count): (u64, u64) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(1));
    let mut out = std::io::stdout().lock();
    for seed in first..first.saturating_add(count) {
        writeln!(out, "# seed {seed}\n{}", write::document(&random::of_seed(seed, &[]).0))?;
    }
    Ok(())
}
