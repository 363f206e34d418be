//! The warden: puts everything back, whatever becomes of the others.
//!
//! A process of its own session, started before the first change. It reads what there is and puts it on file, then starts
//! the lab as its child. It puts everything back when it is told to, when the speaker's end of their socket closes, when
//! the speaker has said nothing for ten seconds, and when its time is over. The lab is dead by then, and all that it
//! started: nobody changes anything behind the warden's back.
//!
//! ```text
//! heard   beat        the speaker lives, and so does Python
//!         restore     put everything back
//! said    guarded     what there was is on file; the lab is started
//!         refused …   it is not: why
//!         lab 0|1     the lab has ended, well or not
//!         restored …  everything was put back; a JSON list of what is different all the same
//! ```

use super::state::State;
use super::undo::{self, Claim};
use crate::error::{Attempt, Result};
use crate::lab;
use crate::plan::Plan;
use crate::programs::processes;
use crate::sys::{process, process_descriptor, sysctl_file};
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

/// A speaker that says nothing for so long is gone, or can't reach Python.
pub const SILENCE: Duration = Duration::from_secs(10);
/// What was killed is gone within this, unless the kernel itself hangs.
const DEATH: Duration = Duration::from_secs(2);

/// The warden's life; it never comes back to its caller's work.
pub fn guard(mut speaker: UnixStream, orders: UnixStream, room: &Path, plan: &Plan, within: Duration) -> ExitCode {
    let until = Instant::now() + within;
    let (before, claim) = match settle(plan) {
        Ok(settled) => settled,
        Err(error) => {
            tell(&mut speaker, &format!("refused {}", error.to_string().replace('\n', " ")));
            return ExitCode::FAILURE;
        }
    };
    let lab = start_lab(orders, room);
    match &lab {
        Ok(_) => tell(&mut speaker, "guarded"),
        Err(error) => tell(&mut speaker, &format!("refused {error}")),
    }
    if let Ok((lab, ended)) = &lab {
        watch(&mut speaker, *lab, ended, until);
        end_children();
    }
    let failures = before.put_back();
    let mut differences = before.differences();
    if !differences.is_empty() {
        differences.extend(failures);
    }
    if differences.is_empty() {
        claim.release();
    }
    let told = serde_json::to_string(&differences).expect("sentences are JSON");
    tell(&mut speaker, &format!("restored {told}"));
    ExitCode::SUCCESS
}

/// A line, in one piece.
fn tell(speaker: &mut UnixStream, line: &str) {
    // Whoever is gone needs no answer.
    let _ = speaker.write_all(format!("{line}\n").as_bytes());
}

/// Away from the connection's session and its streams; what there is goes on file.
fn settle(plan: &Plan) -> Result<(State, Claim)> {
    setsid().attempt(|| "making a session".into())?;
    for ignored in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM, Signal::SIGPIPE] {
        process::ignore(ignored).attempt(|| "ignoring signals".into())?;
    }
    process::adopt_orphans().attempt(|| "adopting orphans".into())?;
    let nothing = OpenOptions::new().read(true).write(true).open("/dev/null").attempt(|| "opening /dev/null".into())?;
    dup2_stdin(&nothing).and_then(|()| dup2_stdout(&nothing)).attempt(|| "leaving the connection".into())?;
    dup2_stderr(&nothing).attempt(|| "leaving the connection".into())?;
    let before = State::read(&plan.devices, &settings(plan))?;
    before.refuse_what_stays()?;
    let claim = Claim::stake(Path::new(undo::FOLDER), &before)?;
    Ok((before, claim))
}

/// The files of the settings that the plan changes.
fn settings(plan: &Plan) -> Vec<String> {
    let sysctls = plan.setup.iter().filter(|command| command.argv[0] == "sysctl");
    sysctls.filter_map(|command| Some(sysctl_file(command.argv.last()?.split_once('=')?.0))).collect()
}

fn start_lab(orders: UnixStream, room: &Path) -> Result<(Pid, OwnedFd)> {
    match process::copy().attempt(|| "starting the lab".into())? {
        ForkResult::Child => std::process::exit(live(&orders, room)),
        ForkResult::Parent { child } => {
            drop(orders);
            let number = u32::try_from(child.as_raw()).expect("a process has a positive number");
            let ended = process_descriptor(number).attempt(|| "watching the lab".into())?;
            Ok((child, ended))
        }
    }
}

/// The lab's life.
fn live(orders: &UnixStream, room: &Path) -> i32 {
    let done = process::die_with_parent()
        .attempt(|| "tying the lab to its warden".into())
        .and_then(|()| setsid().attempt(|| "making a session".into()))
        .and_then(|_| {
            let complaints = File::create(room.join("stderr.txt")).attempt(|| "making stderr.txt".into())?;
            dup2_stderr(&complaints).attempt(|| "redirecting complaints".into())
        })
        .and_then(|()| lab::run_at(room, Some(orders)));
    match done {
        Ok(()) => 0,
        Err(error) => {
            // The speaker reads it.
            let _ = fs::write(room.join("failure.txt"), error.to_string());
            1
        }
    }
}

/// Until it is time to put everything back.
fn watch(speaker: &mut UnixStream, lab: Pid, ended: &OwnedFd, until: Instant) {
    let mut heard = Instant::now();
    let mut lab_lives = true;
    loop {
        let now = Instant::now();
        let Some(left) = until.min(heard + SILENCE).checked_duration_since(now).filter(|left| !left.is_zero()) else {
            return;
        };
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::from(10_000_u16));
        let mut events = vec![PollFd::new(speaker.as_fd(), PollFlags::POLLIN)];
        if lab_lives {
            events.push(PollFd::new(ended.as_fd(), PollFlags::POLLIN));
        }
        match poll(&mut events, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return,
        }
        let [said, over] =
            [0, 1].map(|n| events.get(n).and_then(PollFd::revents).is_some_and(|events| !events.is_empty()));
        if over {
            lab_lives = false;
            let well = matches!(waitpid(lab, None), Ok(WaitStatus::Exited(_, 0)));
            tell(speaker, &format!("lab {}", i32::from(!well)));
        }
        if said {
            match hear(speaker) {
                Some(true) => heard = Instant::now(),
                Some(false) | None => return,
            }
        }
    }
}

/// A beat, or the word to put everything back; nothing when the speaker is gone.
fn hear(speaker: &mut UnixStream) -> Option<bool> {
    let mut words = [0; 256];
    match speaker.read(&mut words) {
        Ok(0) | Err(_) => None,
        Ok(length) => Some(!words[..length].windows(7).any(|part| part == b"restore")),
    }
}

/// Ends all children; whoever loses its parent meanwhile becomes one. A child's number is nobody else's until it is reaped.
pub fn end_children() {
    let began = Instant::now();
    while began.elapsed() < DEATH {
        for child in processes::children().unwrap_or_default() {
            let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
        }
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => break,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return, // There are none.
            }
        }
        thread::sleep(Duration::from_millis(2));
    }
}
