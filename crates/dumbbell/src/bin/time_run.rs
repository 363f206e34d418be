//! Measures the run time of experiments: `cargo run --profile wheel -p dumbbell --bin time_run EXPERIMENT.toml...`
//!
//! For profilers, which work better without an interpreter; `bench/simulator.py --experiments DIR` writes such files.
//! Seed 1; an experiment that names files is refused.

#![expect(clippy::print_stdout, reason = "a command-line program prints its results")]

use dumbbell::{Experiment, NoFiles};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        let mut simulation = Experiment::from_toml(&std::fs::read_to_string(&path)?)?.start(1, &NoFiles)?;
        let began = Instant::now();
        while !simulation.advance()? {}
        let nanos = began.elapsed().as_nanos();
        let run = simulation.finish();
        let cost = &run.report().cost;
        let each = nanos / u128::from(cost.data_packets.max(1));
        println!(
            "{path}: {} us, {} data packets, {} events, {each} ns a packet",
            nanos / 1_000,
            cost.data_packets,
            cost.events
        );
    }
    Ok(())
}
