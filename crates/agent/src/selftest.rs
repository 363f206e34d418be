//! Runs one test program as root of the guest: a packetdrill script, a shell selftest of the kernel.
//!
//! Unlike a program of an experiment (`programs`), a test owns the guest: it has all capabilities, all devices, and may
//! change every setting of the kernel. It gets a private `/tmp` and `/run`, and a limit in virtual time; the host limits
//! the wall time. `dumbbell.testing.guest` writes `test.json` and reads `end.json` and `output`.

use crate::error::{Attempt, Error, Result};
use crate::programs::launch::PATH;
use crate::setup;
use crate::sys::{Clock, process, process_descriptor};
use dumbbell_plan::{Operation, Step};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, pipe2, setsid};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// The name of its description in the run's folder.
pub const FILE: &str = "test.json";
/// Bytes of output that are stored; more are counted.
const MOST_KEPT: usize = 4 << 20;
/// Bytes per read.
const PIECE_BYTES: usize = 64 << 10;
/// How often the host learns that virtual time passes.
const HEARTBEAT_NS: u64 = 1_000_000_000;
/// After a test has ended; virtual time passes only when nothing else runs.
const SETTLING: Duration = Duration::from_micros(1);

/// A test's environment: not the user's, so that it does not change the result.
const ENVIRONMENT: [(&str, &str); 5] =
    [("PATH", PATH), ("HOME", "/tmp"), ("LANG", "C.UTF-8"), ("LOGNAME", "root"), ("USER", "root")];

/// What to run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Test {
    /// The program and its arguments.
    argv: Vec<String>,
    /// Its current folder.
    folder: String,
    /// Virtual time after which it is stopped.
    limit_ns: u64,
    /// Folders of the host below `/tmp` and `/run`, which are private.
    shown: Vec<String>,
    /// Run it in a network namespace of its own, as `unshare -n` does; otherwise in the first one, where `lo` is up.
    own_network: bool,
}

/// How it ended.
#[derive(Debug, Default, Serialize)]
struct End {
    status: Option<i32>,
    signal: Option<i32>,
    /// Was it stopped at its limit?
    stopped: bool,
    /// Why it could not start.
    fault: Option<String>,
    /// Virtual time that it took.
    duration_ns: u64,
    /// Bytes of output beyond those in `output`.
    dropped_bytes: u64,
}

/// Runs the test that the folder describes.
pub fn run(folder: &Path) -> Result<()> {
    let description = fs::read_to_string(folder.join(FILE)).attempt(|| format!("reading {FILE}"))?;
    let test: Test = serde_json::from_str(&description)?;
    test.shown.iter().try_for_each(|shown| show(shown))?;
    if !test.own_network {
        setup::run(&[Step::new("", Operation::Up { device: "lo".into() })])?;
    }
    let clock = Clock::start_on_jiffy();
    thread::sleep(Duration::from_nanos(clock.monotonic_ns(0).saturating_sub(crate::sys::monotonic_ns())));
    let end = run_to_its_end(folder, &test, clock)?;
    fs::write(folder.join("end.json"), serde_json::to_vec(&end)?).attempt(|| "writing end.json".into())
}

/// Mounts a folder of the host where the private `/tmp` or `/run` hides it.
fn show(folder: &str) -> Result<()> {
    fs::create_dir_all(folder).attempt(|| format!("creating {folder}"))?;
    mount(Some("none"), folder, Some("hostfs"), MsFlags::MS_RDONLY, Some(folder))
        .attempt(|| format!("showing {folder}"))
}

fn run_to_its_end(folder: &Path, test: &Test, clock: Clock) -> Result<End> {
    let pipe = || pipe2(OFlag::O_CLOEXEC).attempt(|| "creating a pipe".into());
    let ((output, output_end), (fault, fault_end)) = (pipe()?, pipe()?);
    let child = match process::copy().attempt(|| "starting the test".into())? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let Err(error) = execute(folder, test, output_end);
            let _ = write!(File::from(fault_end), "{error}");
            std::process::exit(1);
        }
    };
    drop((output_end, fault_end));
    // After the fork, so that the test does not inherit it: then output is stored before an endless loop that follows.
    process::run_first();
    let mut kept = Kept::open(output, &folder.join("output"))?;
    let ended = process_descriptor(child.as_raw().cast_unsigned()).attempt(|| "watching the test".into())?;
    let mut end = End::default();
    while !wait(&ended, &mut kept, test.limit_ns.saturating_sub(clock.now_ns()).min(HEARTBEAT_NS))? {
        let now_ns = clock.now_ns();
        fs::write(folder.join("progress"), now_ns.to_string()).attempt(|| "writing progress".into())?;
        if now_ns >= test.limit_ns {
            end.stopped = true;
            break;
        }
    }
    end.duration_ns = clock.now_ns();
    // It has its own session. All of it may have exited meanwhile.
    let _ = killpg(child, Signal::SIGKILL);
    while !wait(&ended, &mut kept, HEARTBEAT_NS)? {}
    // What is left of it exits first: the kernel frees a process's files in /proc when it is waited for, and would wait
    // there without an end, since this process runs before them, for one that had begun to do the same.
    thread::sleep(SETTLING);
    match waitpid(child, None).attempt(|| "waiting for the test".into())? {
        WaitStatus::Exited(_, status) => end.status = Some(status),
        WaitStatus::Signaled(_, signal, _) => end.signal = Some(signal as i32),
        _ => {}
    }
    kept.drain()?;
    end.dropped_bytes = kept.dropped_bytes;
    let mut reason = String::new();
    File::from(fault).read_to_string(&mut reason).attempt(|| "reading why a test did not start".into())?;
    end.fault = (!reason.is_empty()).then_some(reason);
    Ok(end)
}

/// Waits until the test ends (true) or this much time has passed; stores its output meanwhile.
fn wait(ended: &OwnedFd, kept: &mut Kept, max_ns: u64) -> Result<bool> {
    // Rounded up: a wait of zero would look at the clock until it moves.
    let most = PollTimeout::try_from(Duration::from_millis(max_ns.div_ceil(1_000_000))).unwrap_or(PollTimeout::MAX);
    let mut events = vec![PollFd::new(ended.as_fd(), PollFlags::POLLIN)];
    if kept.open {
        events.push(PollFd::new(kept.pipe.as_fd(), PollFlags::POLLIN));
    }
    match poll(&mut events, most) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error).attempt(|| "waiting for the test".into()),
    }
    let has_ended = events[0].any() == Some(true);
    if events.get(1).and_then(PollFd::any) == Some(true) {
        kept.drain()?;
    }
    Ok(has_ended)
}

/// The child: becomes the test.
fn execute(folder: &Path, test: &Test, output: OwnedFd) -> Result<Infallible> {
    setsid().attempt(|| "creating a session".into())?;
    let none: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS).attempt(|| "creating a mount namespace".into())?;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).attempt(|| "making mounts private".into())?;
    if test.own_network {
        unshare(CloneFlags::CLONE_NEWNET).attempt(|| "creating a network namespace".into())?;
        // A new mount: it shows the devices of this namespace.
        mount(Some("none"), "/sys", Some("sysfs"), MsFlags::empty(), none).attempt(|| "mounting /sys".into())?;
    }
    fs::create_dir_all("/dev/shm").attempt(|| "creating /dev/shm".into())?;
    mount(Some("none"), "/dev/shm", Some("tmpfs"), MsFlags::empty(), Some("mode=1777"))
        .attempt(|| "mounting /dev/shm".into())?;
    // The results are the agent's: a test that cleans up below /run shall not remove them.
    umount2(folder, MntFlags::MNT_DETACH).attempt(|| "hiding the run's folder".into())?;
    std::env::set_current_dir(&test.folder).attempt(|| format!("entering {}", test.folder))?;
    let errors = output.try_clone().attempt(|| "copying a descriptor".into())?;
    let mut command = Command::new(&test.argv[0]);
    command.args(&test.argv[1..]).stdin(Stdio::null()).stdout(output).stderr(errors).env_clear().envs(ENVIRONMENT);
    let source = command.exec();
    Err(Error::System { attempt: format!("starting '{}'", test.argv[0]), source })
}

/// The test's output, in one file as it came.
struct Kept {
    pipe: File,
    path: PathBuf,
    file: File,
    stored_bytes: usize,
    dropped_bytes: u64,
    open: bool,
}

impl Kept {
    fn open(pipe: OwnedFd, path: &Path) -> Result<Self> {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).attempt(|| "setting a pipe to non-blocking".into())?;
        let file = File::create(path).attempt(|| "creating the output's file".into())?;
        Ok(Self { pipe: pipe.into(), path: path.into(), file, stored_bytes: 0, dropped_bytes: 0, open: true })
    }

    /// Stores what is in the pipe, on the host too: hostfs writes a file when it is closed.
    fn drain(&mut self) -> Result<()> {
        self.store()?;
        self.file = File::options().append(true).open(&self.path).attempt(|| "opening the output's file".into())?;
        Ok(())
    }

    fn store(&mut self) -> Result<()> {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let length = match self.pipe.read(&mut piece) {
                Ok(0) => {
                    self.open = false;
                    return Ok(());
                }
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).attempt(|| "reading the output".into()),
            };
            let space = (MOST_KEPT - self.stored_bytes).min(length);
            self.file.write_all(&piece[..space]).attempt(|| "storing the output".into())?;
            self.stored_bytes += space;
            self.dropped_bytes += (length - space) as u64;
        }
    }
}
