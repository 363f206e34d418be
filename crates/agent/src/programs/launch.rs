//! The child's side of a program: `dumbbell-agent launch FOLDER NUMBER` becomes it.
//!
//! A process of its own prepares the room, so that nothing of the agent's is touched and no code runs
//! between a fork and an exec. Why it could not start goes to `FOLDER/programs/NUMBER.fault`.

use super::leavings;
use super::plan::Program;
use super::room::{self, WORKING_FOLDER};
use crate::error::{Attempt, Error, Result};
use crate::plan::Plan;
use crate::sys;
use nix::sched::{CloneFlags, setns, unshare};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What a shell returns for a program that it could not start.
const NOT_STARTED: u8 = 127;

/// Becomes the program, or leaves a note why not.
pub fn launch(folder: &OsStr, number: &OsStr) -> ExitCode {
    let folder = Path::new(folder);
    // Opened now: the room has no way back to the folder. The program doesn't inherit it.
    let fault = File::create(fault_file(folder, &number.to_string_lossy()));
    let Err(error) = become_program(folder, &number.to_string_lossy());
    if let Ok(mut fault) = fault {
        let _ = write!(fault, "{error}");
    }
    ExitCode::from(NOT_STARTED)
}

/// Where the note would be.
pub fn fault_file(folder: &Path, number: &str) -> PathBuf {
    folder.join("programs").join(format!("{number}.fault"))
}

fn become_program(folder: &Path, number: &str) -> Result<std::convert::Infallible> {
    let text = fs::read_to_string(folder.join("plan.json")).attempt(|| "reading plan.json".into())?;
    let shared = serde_json::from_str::<Plan>(&text)?.programs;
    let number: usize = number.parse().map_err(io::Error::other).attempt(|| "reading a program's number".into())?;
    let program = shared.all.get(number).ok_or_else(|| io::Error::other("no such program"));
    let program = program.attempt(|| format!("finding program {number}"))?;
    let network = File::open(format!("/run/netns/{}", program.host)).attempt(|| "opening its host".into())?;
    setns(network, CloneFlags::CLONE_NEWNET).attempt(|| format!("entering host '{}'", program.host))?;
    unshare(CloneFlags::CLONE_NEWNS).attempt(|| "leaving the agent's mounts".into())?;
    // Its path is out of sight once the room is made; the program doesn't inherit it.
    let work = File::open(leavings::place(folder, number)).attempt(|| "opening the working folder".into())?;
    room::furnish(&shared, program, &work)?;
    std::env::set_current_dir(WORKING_FOLDER).attempt(|| "entering the working folder".into())?;
    if !program.keeps_powers {
        sys::give_up(&room::POWERS_GIVEN_UP).attempt(|| "giving up what a program may not".into())?;
    }
    Err(replaced(program))
}

/// Comes back only with an error.
fn replaced(program: &Program) -> Error {
    let mut command = Command::new(&program.argv[0]);
    command.args(&program.argv[1..]).env_clear().env("PATH", PATH).env("HOME", WORKING_FOLDER);
    command.env("LANG", "C.UTF-8").env("USER", "root").envs(&program.env);
    let source = command.exec();
    let attempt = match source.kind() {
        io::ErrorKind::NotFound => format!("'{}' is not on this machine", program.argv[0]),
        _ => format!("starting '{}'", program.argv[0]),
    };
    Error::System { attempt, source }
}
