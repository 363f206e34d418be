//! Measures the simulator natively: `speed FILE SEED RUNS` prints the lowest time of a run of the first case, in seconds.

use dumbbell::Experiment;
use std::error::Error;
use std::io::Write as _;
use std::time::{Duration, Instant};
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn Error>> {
    let [file, seed, runs] = env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "usage: FILE SEED RUNS")?;
    let experiment = Experiment::cases(&fs::read_to_string(file)?)?.swap_remove(0);
    let (seed, mut least) = (seed.parse()?, Duration::MAX);
    for _ in 0..runs.parse()? {
        let began = Instant::now();
        experiment.run(seed)?;
        least = least.min(began.elapsed());
    }
    writeln!(io::stdout(), "{:.3}", least.as_secs_f64())?;
    Ok(())
}
