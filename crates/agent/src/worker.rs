//! The agent as a worker on a host: runs a job in its own namespaces and leaves no changes.
//!
//! It has two processes. The keeper stays in the original namespaces and waits until the job ends, or until the parent
//! process closes the pipe to the keeper's standard input. The other process runs the job in its own mount namespace
//! (with an empty tmpfs on `/run` for the hosts' names), network namespace and, if the kernel supports it, PID
//! namespace with itself as init: when it dies, the kernel kills all its descendants, and hosts, links and qdiscs
//! disappear. It exits with the keeper. Nothing outside is changed.

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

/// How `failure.txt` begins if the kernel provides no namespaces; Python adds advice.
const NO_NAMESPACES: &str = "no namespaces";

/// Namespaces and scheduling of this worker.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Namespaces {
    /// A user namespace: the worker needs no root, and has privileges only inside.
    users: bool,
    /// A PID namespace.
    processes: bool,
    /// Real-time scheduling: otherwise each wake-up may wait a tick for a busy process.
    first: bool,
}

/// Runs the job in the folder, or writes why it failed.
pub fn work(folder: &OsStr, job: fn(&Path) -> Result<()>) -> ExitCode {
    // Entered by chdir: the path may be covered by another mount later.
    if let Err(error) = std::env::set_current_dir(folder) {
        eprintln!("dumbbell-agent: entering {}: {error}", folder.display());
        return ExitCode::FAILURE;
    }
    spawn(job).unwrap_or_else(|error| report_failure(&error))
}

fn report_failure(error: &Error) -> ExitCode {
    eprintln!("dumbbell-agent: {error}");
    // If the folder is not writable, the line above is the only message.
    let _ = fs::write("failure.txt", error.to_string());
    ExitCode::FAILURE
}

/// Forks; returns in both processes.
fn spawn(job: fn(&Path) -> Result<()>) -> Result<ExitCode> {
    let spaces = unshare_namespaces()?;
    let (keeper_closed, keeper_pipe) = pipe().attempt(|| "creating a pipe".into())?;
    match process::copy().attempt(|| "starting the worker".into())? {
        ForkResult::Child => {
            drop(keeper_pipe);
            let done = set_up(&keeper_closed, spaces).and_then(|()| job(Path::new(".")));
            Ok(done.map_or_else(|error| report_failure(&error), |()| ExitCode::SUCCESS))
        }
        ForkResult::Parent { child } => keep(child, spaces),
    }
}

/// Creates mount and network namespaces; without root, in a user namespace.
fn unshare_namespaces() -> Result<Namespaces> {
    let ours = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET;
    let (user, group) = (geteuid(), getegid());
    let users = match unshare(ours) {
        Err(Errno::EPERM) => {
            unshare(ours | CloneFlags::CLONE_NEWUSER).attempt(|| NO_NAMESPACES.into())?;
            // Maps the current user to root; no other user is mapped.
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
    // EINVAL: the kernel has no PID namespaces.
    let processes = match unshare(CloneFlags::CLONE_NEWPID) {
        Err(Errno::EINVAL) => false,
        done => done.attempt(|| NO_NAMESPACES.into()).map(|()| true)?,
    };
    Ok(Namespaces { users, processes, first: false })
}

/// Sets up the worker's process.
fn set_up(keeper_closed: &OwnedFd, spaces: Namespaces) -> Result<()> {
    process::die_with_parent().attempt(|| "setting the parent-death signal".into())?;
    let mut keeper_events = [PollFd::new(keeper_closed.as_fd(), PollFlags::POLLIN)];
    if poll(&mut keeper_events, PollTimeout::ZERO).attempt(|| "checking the keeper".into())? > 0 {
        // The keeper died before the signal was set, so it would never arrive.
        return Err(io::Error::from(io::ErrorKind::BrokenPipe)).attempt(|| "finding the keeper".into());
    }
    setsid().attempt(|| "creating a session".into())?;
    mount_private(spaces).attempt(|| NO_NAMESPACES.into())?;
    let spaces = Namespaces { first: process::run_first(), ..spaces };
    fs::write("spaces.json", serde_json::to_vec(&spaces)?).attempt(|| "writing spaces.json".into())
}

fn mount_private(spaces: Namespaces) -> io::Result<()> {
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    mount(Some("none"), "/run", Some("tmpfs"), MsFlags::empty(), Some("mode=755"))?;
    fs::create_dir("/run/netns")?;
    // On most systems /var/run is a link to /run.
    if fs::symlink_metadata("/var/run").is_ok_and(|found| found.is_dir()) {
        mount(Some("/run"), "/var/run", none, MsFlags::MS_BIND, none)?;
    }
    if spaces.processes {
        // Forbidden in containers; the existing /proc shows the same processes under other PIDs.
        let _ = mount(Some("none"), "/proc", Some("proc"), MsFlags::empty(), none);
    }
    Ok(())
}

/// Runs the keeper: waits until the worker exits or the parent process closes the pipe.
fn keep(worker: Pid, spaces: Namespaces) -> Result<ExitCode> {
    let number = u32::try_from(worker.as_raw()).expect("a process has a positive number");
    let ended = process_descriptor(number).attempt(|| "watching the worker".into())?;
    let input = io::stdin();
    let mut events = vec![PollFd::new(ended.as_fd(), PollFlags::POLLIN)];
    if stdin_is_a_pipe() {
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
        // Without a PID namespace the kernel does not; an error means that no process is left.
        let _ = killpg(worker, Signal::SIGKILL);
    }
    Ok(match status {
        WaitStatus::Exited(_, 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Is standard input a pipe? Not if the agent is started by hand.
fn stdin_is_a_pipe() -> bool {
    fstat(io::stdin()).is_ok_and(|found| SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFIFO)
}
