//! Measures the simulator: `speed FILE SEED RUNS` prints the lowest time of a run of the first case, in seconds.
//!
//! The time is that of this thread on a processor, so that other programs on the machine matter less.

use dumbbell::Experiment;
use std::error::Error;
use std::io::Write as _;
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn Error>> {
    let [file, seed, runs] = env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "usage: FILE SEED RUNS")?;
    let experiment = Experiment::cases(&fs::read_to_string(file)?)?.swap_remove(0);
    let (seed, mut least) = (seed.parse()?, f64::MAX);
    for _ in 0..runs.parse()? {
        let began = seconds()?;
        experiment.run(seed)?;
        least = least.min(seconds()? - began);
    }
    writeln!(io::stdout(), "{least:.3}")?;
    Ok(())
}

/// Seconds that this thread has run on a processor (proc(5), `schedstat`).
fn seconds() -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().ok_or("no schedstat")?.parse::<f64>()? / 1e9)
}
