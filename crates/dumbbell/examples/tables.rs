//! Runs an experiment's file on the simulator and prints its three tables, with an empty line after each.
//!
//! `cargo run -p dumbbell --example tables -- FILE SEED`

use dumbbell::Experiment;

#[expect(clippy::print_stdout, reason = "this is its output")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(seed)) = (arguments.next(), arguments.next()) else {
        return Err("tables FILE SEED".into());
    };
    let run = Experiment::from_toml(&std::fs::read_to_string(file)?)?.run(seed.parse()?)?;
    for table in [run.flows(), run.queues(), run.probes()] {
        println!("{}\n", table.text());
    }
    Ok(())
}
