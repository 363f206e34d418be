//! Prints random valid experiments: `random SEED [COUNT [OMITTED_KEY...]]`.

use dumbbell_experiment::{random, write};
use std::io::Write as _;

fn main() -> std::io::Result<()> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let number = |index| words.get(index).and_then(|word: &String| word.parse().ok()).unwrap_or(1_u64);
    let omitted: Vec<_> = words.iter().skip(2).map(String::as_str).collect();
    let mut out = std::io::stdout().lock();
    for seed in number(0)..number(0).saturating_add(number(1)) {
        writeln!(out, "# seed {seed}\n{}", write::document(&random::of_seed(seed, &omitted).0))?;
    }
    Ok(())
}
