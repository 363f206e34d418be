//! The one Linux program of Dumbbell: init of the guest, worker on a host.
//!
//! ```text
//! main      who am I: init of a guest, or a worker in a folder
//! guest     mount what a lab needs, run it, power off
//! worker    namespaces of its own on somebody's machine, and nothing left behind
//! trial     what a machine has, found by trying
//! machine   how late timers and how busy cores were, in real time
//! plan      what Python asked for (plan.json)
//! setup     namespaces, links, qdiscs, sysctls, offloads
//! lab       the event loop: agenda, flows, probes, samples, changes
//! traffic/  flows and probes
//! sample/   what the sockets and queues say, as raw records
//! programs/ the machine's own programs in the experiment's hosts
//! sockets   every TCP socket of this machine, again and again, to whoever reads
//! inside/   what is looked at when somebody asks: packets, counters, sockets, trace
//! counters  what the kernel counted, to find packets that died elsewhere
//! path/     what the path under test is made of, and who changes it but the plan
//! remote/   a part of an experiment on a real host, which is left as it was
//! sys       every line of unsafe, and the clock
//! ```
//!
//! It decides nothing: which packets are lost, what a rate means and whether a run
//! is valid are questions for Python. It leaves raw records; `dumbbell.engine.decode`
//! reads them.

mod counters;
mod dice;
mod error;
mod guest;
mod inside;
mod lab;
mod machine;
mod path;
mod plan;
mod programs;
mod remote;
mod sample;
mod setup;
mod sockets;
mod sys;
mod traffic;
mod trial;
mod worker;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::process::id() == 1 {
        guest::live();
    }
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let folder = match arguments.as_slice() {
        [folder] => folder,
        [verb, folder, number] if verb == "launch" => return programs::launch::launch(folder, number),
        [verb, words @ ..] if verb == "sockets" => return sockets::main(words),
        [verb, folder] if verb == "worker" => return worker::work(folder, lab::run),
        [verb, folder] if verb == "try" => return worker::work(folder, trial::run),
        [verb, connection] if verb == "remote" => return remote::speak(connection),
        _ => {
            eprintln!("usage: dumbbell-agent [worker] FOLDER   (a folder with plan.json; only a worker needs no root)");
            eprintln!("       {}", sockets::USAGE);
            return ExitCode::from(2);
        }
    };
    match lab::run(Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dumbbell-agent: {error}");
            ExitCode::FAILURE
        }
    }
}
