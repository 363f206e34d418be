//! Writes the tables of every case of experiments as text: `tables FOLDER SEED SLICES FILE...`, a file each, with an
//! empty line between tables.
//!
//! A run ends after some slices (100,000 events each), so that a random experiment may last for hours. Files that an
//! experiment names are next to it.

use dumbbell::{Error as Refused, Experiment, Files};
use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<_> = env::args().skip(1).collect();
    let [folder, seed, slices, files @ ..] = &words[..] else { return Err("usage: FOLDER SEED SLICES FILE...".into()) };
    let (seed, slices) = (seed.parse()?, slices.parse()?);
    for file in files.iter().map(Path::new) {
        let text = tables(file, seed, slices)?;
        let name = Path::new(folder).join(file.file_name().ok_or("a file")?);
        fs::write(name.with_extension("txt"), text)?;
    }
    Ok(())
}

fn tables(file: &Path, seed: u64, slices: u64) -> Result<String, Box<dyn Error>> {
    let near = |name: &str| fs::read(file.with_file_name(name)).map_err(|error| error.to_string());
    let mut lines = Vec::new();
    for experiment in Experiment::cases(&fs::read_to_string(file)?)? {
        lines.extend(run(&experiment, seed, slices, &near).unwrap_or_else(|error| vec![error.to_string()]));
    }
    Ok(lines.join("\n\n") + "\n")
}

fn run(experiment: &Experiment, seed: u64, slices: u64, files: &dyn Files) -> Result<Vec<String>, Refused> {
    let mut simulation = experiment.start(seed, files)?;
    for _ in 0..slices {
        if simulation.advance()? {
            break;
        }
    }
    let run = simulation.finish();
    Ok([run.flows(), run.queues(), run.probes()].map(dumbbell::Table::text).into())
}
