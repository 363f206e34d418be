//! The watchdog restores the host even if all other processes die.
//!
//! It runs in its own session, started before the first change. It writes the current state to a file and starts the
//! event loop as its child. It restores the host on request, when the control connection's end of the socket closes,
//! after ten seconds without a heartbeat, and at the deadline. It first kills the event loop and all its descendants,
//! so that no process changes the host during the restore.
//!
//! ```text
//! reads    beat        heartbeat of the control connection and Python
//!          restore     restore the host
//! writes   guarded     the initial state is saved, the event loop has started
//!          refused …   it has not; with the reason
//!          ended 0|1   the event loop has ended, successfully or not
//!          restored …  the host was restored; with a JSON list of remaining differences
//! ```

use super::state::State;
use super::undo::{self, StateFile};
use crate::error::{Attempt, Result};
use crate::event_loop;
use crate::programs::processes;
use crate::sys::{process, process_descriptor, sysctl_file};
use dumbbell_plan::{AgentPlan, Operation};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stderr, dup2_stdin, dup2_stdout, setsid};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// Without a heartbeat for this long, the control connection has exited or lost its connection to Python.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for killed processes to exit, unless the kernel hangs.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs the watchdog process.
pub fn run(mut control: UnixStream, orders: UnixStream, folder: &Path, plan: &AgentPlan, within: Duration) -> ExitCode {
    let until = Instant::now() + within;
    let (before, state_file) = match set_up(plan) {
        Ok(settled) => settled,
        Err(error) => {
            send_line(&mut control, &format!("refused {}", error.to_string().replace('\n', " ")));
            return ExitCode::FAILURE;
        }
    };
    let event_loop = start_event_loop(orders, folder);
    match &event_loop {
        Ok(_) => send_line(&mut control, "guarded"),
        Err(error) => send_line(&mut control, &format!("refused {error}")),
    }
    if let Ok((event_loop, ended)) = &event_loop {
        watch(&mut control, *event_loop, ended, until);
        end_children();
    }
    let failures = before.restore();
    let mut differences = before.differences();
    if !differences.is_empty() {
        differences.extend(failures);
    }
    if differences.is_empty() {
        state_file.remove();
    }
    let json = serde_json::to_string(&differences).expect("strings are JSON");
    send_line(&mut control, &format!("restored {json}"));
    ExitCode::SUCCESS
}

/// Writes a line.
fn send_line(control: &mut UnixStream, line: &str) {
    // The control connection may have exited.
    let _ = control.write_all(format!("{line}\n").as_bytes());
}

/// Detaches from the session and its streams, and saves the state.
fn set_up(plan: &AgentPlan) -> Result<(State, StateFile)> {
    setsid().attempt(|| "creating a session".into())?;
    for ignored in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM, Signal::SIGPIPE] {
        process::ignore(ignored).attempt(|| "ignoring signals".into())?;
    }
    process::adopt_orphans().attempt(|| "adopting orphans".into())?;
    let null = OpenOptions::new().read(true).write(true).open("/dev/null").attempt(|| "opening /dev/null".into())?;
    dup2_stdin(&null).and_then(|()| dup2_stdout(&null)).attempt(|| "closing the streams".into())?;
    dup2_stderr(&null).attempt(|| "closing the streams".into())?;
    let before = State::read(&plan.devices, &settings(plan))?;
    before.refuse_unrestorable()?;
    let state_file = StateFile::create(Path::new(undo::FOLDER), &before)?;
    Ok((before, state_file))
}

/// Files of the sysctls that the plan changes.
fn settings(plan: &AgentPlan) -> Vec<String> {
    let sysctls = plan.setup.iter().filter_map(|step| match &step.operation {
        Operation::Sysctl { key, .. } => Some(sysctl_file(key)),
        _ => None,
    });
    sysctls.collect()
}

fn start_event_loop(orders: UnixStream, folder: &Path) -> Result<(Pid, OwnedFd)> {
    match process::copy().attempt(|| "starting the event loop".into())? {
        ForkResult::Child => std::process::exit(run_event_loop(&orders, folder)),
        ForkResult::Parent { child } => {
            drop(orders);
            let number = u32::try_from(child.as_raw()).expect("a process has a positive number");
            let ended = process_descriptor(number).attempt(|| "watching the event loop".into())?;
            Ok((child, ended))
        }
    }
}

/// Runs the event loop's process.
fn run_event_loop(orders: &UnixStream, folder: &Path) -> i32 {
    let done = process::die_with_parent()
        .attempt(|| "setting the parent-death signal".into())
        .and_then(|()| setsid().attempt(|| "creating a session".into()))
        .and_then(|_| {
            let stderr = File::create(folder.join("stderr.txt")).attempt(|| "creating stderr.txt".into())?;
            dup2_stderr(&stderr).attempt(|| "redirecting standard error".into())
        })
        .and_then(|()| event_loop::run_at(folder, Some(orders)));
    match done {
        Ok(()) => 0,
        Err(error) => {
            // The control connection reads it.
            let _ = fs::write(folder.join("failure.txt"), error.to_string());
            1
        }
    }
}

/// Waits until the host must be restored.
fn watch(control: &mut UnixStream, event_loop: Pid, ended: &OwnedFd, until: Instant) {
    let mut last_heartbeat = Instant::now();
    let mut event_loop_alive = true;
    loop {
        let now = Instant::now();
        let Some(left) =
            until.min(last_heartbeat + SILENCE_TIMEOUT).checked_duration_since(now).filter(|left| !left.is_zero())
        else {
            return;
        };
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::from(10_000_u16));
        let mut events = vec![PollFd::new(control.as_fd(), PollFlags::POLLIN)];
        if event_loop_alive {
            events.push(PollFd::new(ended.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut events, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return,
        }
        let [message, exited] =
            [0, 1].map(|n| events.get(n).and_then(PollFd::revents).is_some_and(|events| !events.is_empty()));
        if exited {
            event_loop_alive = false;
            let succeeded = matches!(waitpid(event_loop, None), Ok(WaitStatus::Exited(_, 0)));
            send_line(control, &format!("ended {}", i32::from(!succeeded)));
        }
        if message {
            match read_command(control) {
                Some(true) => last_heartbeat = Instant::now(),
                Some(false) | None => return,
            }
        }
    }
}

/// True for a heartbeat, false for a request to restore; None if the control connection has exited.
fn read_command(control: &mut UnixStream) -> Option<bool> {
    let mut buffer = [0; 256];
    match control.read(&mut buffer) {
        Ok(0) | Err(_) => None,
        Ok(length) => Some(!buffer[..length].windows(7).any(|bytes| bytes == b"restore")),
    }
}

/// Kills all children, including orphans adopted meanwhile. A child's PID is not reused until it is reaped.
pub fn end_children() {
    let began = Instant::now();
    while began.elapsed() < KILL_TIMEOUT {
        for child in processes::children().unwrap_or_default() {
            let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
        }
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => break,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return, // No children left.
            }
        }
        thread::sleep(Duration::from_millis(2));
    }
}
