//! The agent as init of a User-Mode Linux guest.
//!
//! The guest's root is the run's folder on the host, the only writable place. The
//! host's own files are mounted read-only at `/host`, which becomes the root once
//! the run's files are reachable below it: so `ip` and `tc` are the machine's own.
//! What a lab is, `lab` knows.

use crate::error::{Attempt, Result};
use crate::lab;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Where the run's folder is seen once `/host` is the root.
const FOLDER: &str = "/run/dumbbell";

/// Runs the lab in the root folder, then switches the machine off.
pub fn live() -> ! {
    if let Err(error) = prepare().map(|()| warm_up()).and_then(|()| lab::run(Path::new(FOLDER))) {
        eprintln!("dumbbell-agent: {error}");
        // The message is the run's only trace when the folder itself can't be written.
        let _ = fs::write(format!("{FOLDER}/failure.txt"), error.to_string());
    }
    match reboot(RebootMode::RB_POWER_OFF) {
        Ok(never) => match never {},
        Err(error) => panic!("powering off: {error}"),
    }
}

fn prepare() -> Result<()> {
    mount_at("hostfs", "/host", MsFlags::MS_RDONLY, Some("/"))?;
    mount_at("tmpfs", "/host/run", MsFlags::empty(), None)?;
    mount_at("proc", "/host/proc", MsFlags::empty(), None)?;
    mount_at("sysfs", "/host/sys", MsFlags::empty(), None)?;
    mount_at("tmpfs", "/host/tmp", MsFlags::empty(), None)?;
    for folder in ["/host/run/netns", "/host/run/dumbbell"] {
        fs::create_dir_all(folder).attempt(|| format!("making {folder}"))?;
    }
    let none: Option<&str> = None;
    mount(Some("/"), "/host/run/dumbbell", none, MsFlags::MS_BIND, none)
        .attempt(|| "binding the run's folder".into())?;
    mount(Some("/dev"), "/host/dev", none, MsFlags::MS_BIND, none).attempt(|| "binding /dev".into())?;
    nix::unistd::chroot("/host").attempt(|| "entering /host".into())?;
    std::env::set_current_dir("/").attempt(|| "entering /".into())
}

/// Lets the clock tick. Until it has, timers are coarse: a first one would be a jiffy late, and tc, which asks
/// `/proc/net/psched` how fine they are, would give htb classes buckets for a clock of 250 Hz.
fn warm_up() {
    thread::sleep(WARM_UP);
}

/// Some ticks of virtual time; they cost next to nothing.
const WARM_UP: Duration = Duration::from_millis(100);

fn mount_at(kind: &str, target: &str, flags: MsFlags, options: Option<&str>) -> Result<()> {
    mount(Some("none"), target, Some(kind), flags, options).attempt(|| format!("mounting {kind} at {target}"))
}
