//! Measures the run time of plans: `cargo run --profile wheel -p dumbbell-sim --bin time_plan PLAN.json...`
//!
//! For profilers, which work better without an interpreter; `bench/simulator.py --plans DIR` writes such plans.

#![expect(clippy::print_stdout, reason = "a command-line program prints its results")]

use dumbbell_net::time::Time;
use dumbbell_sim::{Plan, World};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        let plan = Plan::from_json(&std::fs::read_to_string(&path)?)?;
        let began = Instant::now();
        let progress = World::new(&plan)?.run(Time::NEVER)?;
        let nanos = began.elapsed().as_nanos();
        let each = nanos / u128::from(progress.data_packets.max(1));
        println!(
            "{path}: {} us, {} data packets, {} events, {each} ns a packet",
            nanos / 1_000,
            progress.data_packets,
            progress.events
        );
    }
    Ok(())
}
