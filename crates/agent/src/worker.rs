//! The agent as a worker on somebody's machine: namespaces of its own, a job in them, and nothing left behind.
//!
//! Two processes. The keeper stays where it was started and waits: for the job's end, or for the end of whoever started
//! it, which closes the pipe that is the keeper's standard input. The other one does the job: it has mounts of its own
//! (`/run` is an empty folder in memory, so the hosts' names are nobody else's), a network of its own, and, where the
//! kernel has them, is init of processes of its own; so when it dies, by anything, the kernel kills what it started, and
//! hosts, wires and disciplines vanish with the last of them. It dies when the keeper does. Nothing outside is changed.
//!
//! Which hosts there are is the plan's affair, what is done in them `lab`'s.

use crate::error::{Attempt, Error, Result};
use crate::sys::{process, process_descriptor};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::stat::{SFlag, fstat};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, getegid, geteuid, pipe, setsid};
use serde::Serialize;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

/// How `failure.txt` begins where the kernel gives no namespaces; Python knows what would help.
const NO_NAMESPACES: &str = "no namespaces";

/// What this worker has of its own.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spaces {
    /// Users: it needs no root, and has its powers only in here.
    users: bool,
    /// Processes.
    processes: bool,
    /// Turns before all plain processes: else each wake-up waits up to a tick for whoever computes.
    first: bool,
}

/// Does the job in the folder, or leaves a note there why not.
pub fn work(folder: &OsStr, job: fn(&Path) -> Result<()>) -> ExitCode {
    // Entered, not named: the folder may lie where something else is mounted from here on.
    if let Err(error) = std::env::set_current_dir(folder) {
        eprintln!("dumbbell-agent: entering {}: {error}", folder.display());
        return ExitCode::FAILURE;
    }
    hire(job).unwrap_or_else(|error| give_up(&error))
}

fn give_up(error: &Error) -> ExitCode {
    eprintln!("dumbbell-agent: {error}");
    // When the folder can't be written either, the line above is all there is.
    let _ = fs::write("failure.txt", error.to_string());
    ExitCode::FAILURE
}

/// Comes back in both processes.
fn hire(job: fn(&Path) -> Result<()>) -> Result<ExitCode> {
    let spaces = leave()?;
    let (keeper_is_gone, keeper_lives) = pipe().attempt(|| "making a pipe".into())?;
    match process::copy().attempt(|| "starting the worker".into())? {
        ForkResult::Child => {
            drop(keeper_lives);
            let done = settle(&keeper_is_gone, spaces).and_then(|()| job(Path::new(".")));
            Ok(done.map_or_else(|error| give_up(&error), |()| ExitCode::SUCCESS))
        }
        ForkResult::Parent { child } => keep(child, spaces),
    }
}

/// Parts from the machine's mounts and network; what needs root may be had without in a user namespace.
fn leave() -> Result<Spaces> {
    let ours = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET;
    let (user, group) = (geteuid(), getegid());
    let users = match unshare(ours) {
        Err(Errno::EPERM) => {
            unshare(ours | CloneFlags::CLONE_NEWUSER).attempt(|| NO_NAMESPACES.into())?;
            // Whoever started this is root in here, and nobody else is anybody.
            let maps =
                [("setgroups", "deny".into()), ("uid_map", format!("0 {user} 1")), ("gid_map", format!("0 {group} 1"))];
            for (file, text) in maps {
                fs::write(format!("/proc/self/{file}"), text).attempt(|| NO_NAMESPACES.into())?;
            }
            true
        }
        done => {
            done.attempt(|| NO_NAMESPACES.into())?;
            false
        }
    };
    // A kernel without them says that it can't be meant.
    let processes = match unshare(CloneFlags::CLONE_NEWPID) {
        Err(Errno::EINVAL) => false,
        done => done.attempt(|| NO_NAMESPACES.into()).map(|()| true)?,
    };
    Ok(Spaces { users, processes, first: false })
}

/// The worker's first steps.
fn settle(keeper_is_gone: &OwnedFd, spaces: Spaces) -> Result<()> {
    process::die_with_parent().attempt(|| "tying the worker to its keeper".into())?;
    let mut gone = [PollFd::new(keeper_is_gone.as_fd(), PollFlags::POLLIN)];
    if poll(&mut gone, PollTimeout::ZERO).attempt(|| "looking for the keeper".into())? > 0 {
        // It died before that line: nobody would ever kill this process.
        return Err(io::Error::from(io::ErrorKind::BrokenPipe)).attempt(|| "finding the keeper".into());
    }
    setsid().attempt(|| "making a group of processes".into())?;
    furnish(spaces).attempt(|| NO_NAMESPACES.into())?;
    let spaces = Spaces { first: process::run_first(), ..spaces };
    fs::write("spaces.json", serde_json::to_vec(&spaces)?).attempt(|| "writing spaces.json".into())
}

fn furnish(spaces: Spaces) -> io::Result<()> {
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    mount(Some("none"), "/run", Some("tmpfs"), MsFlags::empty(), Some("mode=755"))?;
    fs::create_dir("/run/netns")?;
    // A link to /run on most machines.
    if fs::symlink_metadata("/var/run").is_ok_and(|found| found.is_dir()) {
        mount(Some("/run"), "/var/run", none, MsFlags::MS_BIND, none)?;
    }
    if spaces.processes {
        // In containers it is forbidden; the one that is there shows the same under other numbers.
        let _ = mount(Some("none"), "/proc", Some("proc"), MsFlags::empty(), none);
    }
    Ok(())
}

/// The keeper: waits for the worker's end, or for the end of whoever wants it.
fn keep(worker: Pid, spaces: Spaces) -> Result<ExitCode> {
    let number = u32::try_from(worker.as_raw()).expect("a process has a positive number");
    let ended = process_descriptor(number).attempt(|| "watching the worker".into())?;
    let input = io::stdin();
    let mut events = vec![PollFd::new(ended.as_fd(), PollFlags::POLLIN)];
    if comes_from_a_pipe() {
        events.push(PollFd::new(input.as_fd(), PollFlags::POLLIN));
    }
    while let Err(error) = poll(&mut events, PollTimeout::NONE) {
        if error != Errno::EINTR {
            return Err(error).attempt(|| "waiting for the worker".into());
        }
    }
    if events[0].revents().is_none_or(|events| events.is_empty()) {
        let _ = kill(worker, Signal::SIGKILL);
    }
    let status = waitpid(worker, None).attempt(|| "waiting for the worker".into())?;
    if !spaces.processes {
        // No kernel does it for us; an error says that nobody is left.
        let _ = killpg(worker, Signal::SIGKILL);
    }
    Ok(match status {
        WaitStatus::Exited(_, 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// A person who starts it by hand has no pipe that could close.
fn comes_from_a_pipe() -> bool {
    fstat(io::stdin()).is_ok_and(|found| SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFIFO)
}
