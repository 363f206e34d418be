//! The agent as init of a User-Mode Linux guest.
//!
//! The guest's root is the run's folder on the host, the only writable folder. The
//! host's own files are mounted read-only at `/host`, which becomes the root after
//! the run's folder is mounted below it: `ip` and `tc` are those of the host.

use crate::error::{Attempt, Result};
use crate::event_loop;
use crate::selftest;
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Mount point of the run's folder after `/host` becomes the root.
const FOLDER: &str = "/run/dumbbell";

/// Runs the experiment or the test in the root folder, then powers the guest off.
pub fn run() -> ! {
    if let Err(error) = prepare().map(|()| warm_up()).and_then(|()| run_job(Path::new(FOLDER))) {
        eprintln!("dumbbell-agent: {error}");
        // The console has the only message if the folder is not writable.
        let _ = fs::write(format!("{FOLDER}/failure.txt"), error.to_string());
    }
    match reboot(RebootMode::RB_POWER_OFF) {
        Ok(never) => match never {},
        Err(error) => panic!("powering off: {error}"),
    }
}

/// An experiment, or one test.
fn run_job(folder: &Path) -> Result<()> {
    if folder.join(selftest::FILE).exists() { selftest::run(folder) } else { event_loop::run(folder) }
}

fn prepare() -> Result<()> {
    mount_at("hostfs", "/host", MsFlags::MS_RDONLY, Some("/"))?;
    mount_at("tmpfs", "/host/run", MsFlags::empty(), None)?;
    mount_at("proc", "/host/proc", MsFlags::empty(), None)?;
    mount_at("sysfs", "/host/sys", MsFlags::empty(), None)?;
    mount_at("tmpfs", "/host/tmp", MsFlags::empty(), None)?;
    for folder in ["/host/run/netns", "/host/run/dumbbell"] {
        fs::create_dir_all(folder).attempt(|| format!("creating {folder}"))?;
    }
    let none: Option<&str> = None;
    mount(Some("/"), "/host/run/dumbbell", none, MsFlags::MS_BIND, none)
        .attempt(|| "binding the run's folder".into())?;
    mount(Some("/dev"), "/host/dev", none, MsFlags::MS_BIND, none).attempt(|| "binding /dev".into())?;
    nix::unistd::chroot("/host").attempt(|| "entering /host".into())?;
    std::env::set_current_dir("/").attempt(|| "entering /".into())
}

/// Waits for the clock's first ticks. Before, timers are coarse: the first one would be a jiffy late, and tc, which
/// reads the timer resolution in `/proc/net/psched`, would give htb classes the burst size of a 250 Hz clock.
fn warm_up() {
    thread::sleep(WARM_UP);
}

/// A few ticks of virtual time; they cost almost nothing.
const WARM_UP: Duration = Duration::from_millis(100);

fn mount_at(kind: &str, target: &str, flags: MsFlags, options: Option<&str>) -> Result<()> {
    mount(Some("none"), target, Some(kind), flags, options).attempt(|| format!("mounting {kind} at {target}"))
}
