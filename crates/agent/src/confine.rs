//! Starts a guest that can write to nothing but named folders of the host.
//!
//! Root in a guest may mount hostfs with any options, so a read-only mount inside is no limit: each of its writes is a
//! write by the guest's process on the host. That process gets a mount namespace in which everything else is read-only,
//! and no capability with which it could change that. Without root the namespace belongs to a new user namespace, in
//! which the user is the same.

use crate::error::{Attempt, Result};
use crate::sys;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// How to call it.
pub const USAGE: &str = "dumbbell-agent confine FOLDER... -- COMMAND...";
/// Begins the message if the host provides no mount namespace; `dumbbell.engines.guest` adds advice.
const NOT_CONFINED: &str = "no mount namespace";
/// As shells return for a program that can't start.
const NOT_STARTED: u8 = 127;

/// Executes the command after `--`; only the folders before it are writable.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let Some(at) = arguments.iter().position(|word| word == "--").filter(|at| at + 1 < arguments.len()) else {
        eprintln!("usage: {USAGE}");
        return ExitCode::from(2);
    };
    let Err(error) = exec(&arguments[..at], &arguments[at + 1..]);
    eprintln!("dumbbell-agent: {error}");
    ExitCode::from(NOT_STARTED)
}

fn exec(writable: &[OsString], command: &[OsString]) -> Result<Infallible> {
    let here = std::env::current_dir().attempt(|| "reading the current folder".into())?;
    own_namespace().attempt(|| NOT_CONFINED.into())?;
    protect(writable).attempt(|| NOT_CONFINED.into())?;
    // The current folder still belongs to the mount from before.
    std::env::set_current_dir(&here).attempt(|| format!("entering {}", here.display()))?;
    sys::process::give_up_privileges().attempt(|| "dropping capabilities".into())?;
    let source = Command::new(&command[0]).args(&command[1..]).exec();
    Err(source).attempt(|| format!("starting {}", command[0].display()))
}

/// A mount namespace; if this process isn't root, in a user namespace with the same user.
fn own_namespace() -> std::io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    match unshare(CloneFlags::CLONE_NEWNS) {
        Err(Errno::EPERM) => {
            unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUSER)?;
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
            fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
        }
        done => Ok(done?),
    }
}

/// Makes all mounts read-only except those folders.
fn protect(writable: &[OsString]) -> std::io::Result<()> {
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    for folder in writable {
        let folder: &OsStr = folder;
        mount(Some(folder), folder, none, MsFlags::MS_BIND, none)?;
    }
    sys::mounts::set_read_only(Path::new("/"), true)?;
    writable.iter().try_for_each(|folder| sys::mounts::set_read_only(Path::new(folder), false))
}
