//! The child process of a program: `dumbbell-agent launch FOLDER NUMBER` executes it.
//!
//! A separate process sets up the sandbox, so that the agent's state is not touched and no code runs
//! between fork and exec. If the program can't start, the reason is written to `FOLDER/programs/NUMBER.fault`.

use super::artifacts;
use super::sandbox::{self, WORKING_FOLDER};
use crate::error::{Attempt, Error, Result};
use crate::sys;
use dumbbell_plan::AgentPlan;
use dumbbell_plan::{Program, Programs};
use nix::sched::{CloneFlags, setns, unshare};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The folders that are searched for commands.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Exit status of a shell that can't start a program.
const NOT_STARTED: u8 = 127;

/// Executes the program, or writes why it can't.
pub fn launch(folder: &OsStr, number: &OsStr) -> ExitCode {
    let folder = Path::new(folder);
    // Opened now: the path is hidden in the sandbox. The program doesn't inherit the descriptor.
    let fault = File::create(fault_file(folder, &number.to_string_lossy()));
    let Err(error) = exec_program(folder, &number.to_string_lossy());
    if let Ok(mut fault) = fault {
        let _ = write!(fault, "{error}");
    }
    ExitCode::from(NOT_STARTED)
}

/// Path of the file with the reason.
pub fn fault_file(folder: &Path, number: &str) -> PathBuf {
    folder.join("programs").join(format!("{number}.fault"))
}

fn exec_program(folder: &Path, number: &str) -> Result<std::convert::Infallible> {
    let text = fs::read_to_string(folder.join("plan.json")).attempt(|| "reading plan.json".into())?;
    let plan = serde_json::from_str::<AgentPlan>(&text)?;
    let (shared, is_guest) = (&plan.programs, plan.is_for_guest());
    let number: usize = number.parse().map_err(io::Error::other).attempt(|| "reading a program's number".into())?;
    let program = shared.all.get(number).ok_or_else(|| io::Error::other("no such program"));
    let program = program.attempt(|| format!("finding program {number}"))?;
    let network = File::open(format!("/run/netns/{}", program.host)).attempt(|| "opening its host".into())?;
    setns(network, CloneFlags::CLONE_NEWNET).attempt(|| format!("entering host '{}'", program.host))?;
    if !is_guest {
        // The user's own stacks, with the user's rights; the plan of a real machine has no other programs.
        std::env::set_current_dir(artifacts::work_folder(folder, number))
            .attempt(|| "entering the working folder".into())?;
        return Err(exec_error(shared, program));
    }
    unshare(CloneFlags::CLONE_NEWNS).attempt(|| "creating a mount namespace".into())?;
    // Opened now: the path is hidden in the sandbox. The program doesn't inherit the descriptor.
    let work = File::open(artifacts::work_folder(folder, number)).attempt(|| "opening the working folder".into())?;
    sandbox::set_up(shared, program, &work)?;
    std::env::set_current_dir(WORKING_FOLDER).attempt(|| "entering the working folder".into())?;
    if !program.keeps_powers {
        sys::drop_capabilities(&sandbox::DROPPED_CAPABILITIES).attempt(|| "dropping capabilities".into())?;
    }
    Err(exec_error(shared, program))
}

/// Executes the program; returns only on error.
fn exec_error(shared: &Programs, program: &Program) -> Error {
    let mut command = Command::new(&program.argv[0]);
    command.args(&program.argv[1..]).env_clear().env("PATH", search_path(shared)).env("HOME", WORKING_FOLDER);
    command.env("LANG", "C.UTF-8").env("USER", "root").envs(program.env.iter().map(|(name, value)| (name, value)));
    let source = command.exec();
    let attempt = match source.kind() {
        io::ErrorKind::NotFound => {
            let found = format!("'{}' was not found on this host", program.argv[0]);
            hidden(shared, program).map_or(found.clone(), |reason| format!("{found}; {reason}"))
        }
        _ => format!("starting '{}'", program.argv[0]),
    };
    Error::System { attempt, source }
}

/// The folders that are searched for commands; typed programs have the user's.
fn search_path(shared: &Programs) -> String {
    shared.commands.iter().fold(PATH.into(), |path, commands| format!("{path}:{commands}"))
}

/// Which folder hides the program, its interpreter or a part of its search path, if one does.
fn hidden(shared: &Programs, program: &Program) -> Option<String> {
    let command = Path::new(&program.argv[0]);
    let interpreter = fs::read(command).ok().and_then(|script| interpreter(&script));
    let places = if command.components().count() > 1 {
        vec![interpreter.unwrap_or_else(|| command.to_path_buf())]
    } else {
        let path = program.variable("PATH").map_or_else(|| search_path(shared), String::from);
        std::env::split_paths(&path).collect()
    };
    let place = places.iter().find(|place| !place.exists() && sandbox::hidden_by(place, shared, program).is_some())?;
    let folder = sandbox::hidden_by(place, shared, program)?;
    Some(format!("{} is hidden: {folder} is empty for programs; install it elsewhere", place.display()))
}

/// The path after `#!`.
fn interpreter(script: &[u8]) -> Option<PathBuf> {
    let line = script.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    std::str::from_utf8(line).ok()?.split_whitespace().next().map(PathBuf::from)
}
