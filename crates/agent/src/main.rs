//! The agent: Dumbbell's Linux program. It is init of a guest, or a worker on a host.
//!
//! ```text
//! main              entry point: init of a guest, or a worker in a folder
//! guest             mount the file systems a guest needs, run the experiment, power off
//! worker            run in its own namespaces on a host and leave no changes
//! capability_probe  try which qdiscs, filters and controllers a host has
//! confine           start a guest that can write only to named folders of the host
//! selftest          run one test program as root of a guest
//! host_load         timer lateness and CPU load, in real time
//! setup             namespaces, links, qdiscs, sysctls, offloads
//! event_loop        timers, flows, probes, samples, changes
//! traffic/          flows and probes
//! sample/           statistics of sockets and queues as raw records
//! programs/         programs that run in the experiment's hosts
//! sockets           periodic dump of all TCP sockets of a host
//! recordings/       optional recordings: packets, counters, sockets, trace events
//! counters          kernel counters that reveal drops outside the queues
//! path/             watch the path under test for changes that the plan did not make
//! remote/           run one end of an experiment on a real host and restore the host
//! sys               all unsafe code, and the clock
//! ```
//!
//! `crates/plan` declares the plan that it reads, `crates/records` the records that it writes. The agent does not interpret its
//! measurements: Python computes rates and losses and judges the run.

mod capability_probe;
mod confine;
mod counters;
mod error;
mod event_loop;
mod guest;
mod host_load;
mod netem_seed;
mod path;
mod programs;
mod recordings;
mod remote;
mod sample;
mod selftest;
mod setup;
mod sockets;
mod sys;
mod traffic;
mod worker;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::process::id() == 1 {
        guest::run();
    }
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let folder = match arguments.as_slice() {
        [folder] => folder,
        [verb, folder, number] if verb == "launch" => return programs::launch::launch(folder, number),
        [verb, arguments @ ..] if verb == "sockets" => return sockets::main(arguments),
        [verb, folder] if verb == "worker" => return worker::work(folder, event_loop::run),
        [verb, folder] if verb == "try" => return worker::work(folder, capability_probe::run),
        [verb, arguments @ ..] if verb == "confine" => return confine::main(arguments),
        [verb, connection] if verb == "remote" => return remote::run(connection),
        _ => {
            eprintln!("usage: dumbbell-agent [worker] FOLDER   (FOLDER holds plan.json; a worker needs no root)");
            eprintln!("       {}", sockets::USAGE);
            eprintln!("       {}", confine::USAGE);
            return ExitCode::from(2);
        }
    };
    match event_loop::run(Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dumbbell-agent: {error}");
            ExitCode::FAILURE
        }
    }
}
