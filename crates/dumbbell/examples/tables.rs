//! Prints the tables of every case of an experiment as text: `tables FILE SEED`. Files that it names are next to it.

use dumbbell::Experiment;
use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn Error>> {
    let [file, seed] = env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "usage: FILE SEED")?;
    let folder = Path::new(&file).parent().unwrap_or(Path::new("."));
    let read = |name: &str| fs::read(folder.join(name)).map_err(|error| error.to_string());
    let mut out = io::stdout().lock();
    for experiment in Experiment::cases(&fs::read_to_string(&file)?)? {
        match experiment.run_with(seed.parse()?, &read) {
            Ok(run) => {
                for table in [run.flows(), run.queues(), run.probes()] {
                    writeln!(out, "{}", table.text())?;
                }
            }
            Err(error) => writeln!(out, "{error}")?,
        }
    }
    Ok(())
}
