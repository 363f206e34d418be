//! Starts and stops programs, stores their output, reports on them.

use super::artifacts;
use super::launch::fault_file;
use crate::error::{Attempt, Result};
use crate::sys;
use dumbbell_plan::Program;
use dumbbell_records::end::ProgramEnd;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Bytes stored of each output stream; more are counted.
const MAX_KEPT: u64 = 16 << 20;
/// Bytes per read.
const PIECE_BYTES: usize = 64 << 10;

/// A program and its output.
pub struct Running {
    /// Its plan.
    pub plan: Program,
    /// Summary for `end.json`.
    pub report: ProgramEnd,
    folder: PathBuf,
    number: usize,
    child: Option<Child>,
    ended: Option<OwnedFd>,
    streams: [Option<Stream>; 2],
}

/// A pipe from the program and the file that stores its output.
struct Stream {
    pipe: File,
    kept: File,
    kept_bytes: u64,
    /// Path of the file, if it is read while it grows.
    read_at: Option<PathBuf>,
}

impl Running {
    /// A program that has not started.
    pub fn new(plan: Program, number: usize, folder: &Path) -> Self {
        let report = ProgramEnd { name: plan.name.clone(), ..ProgramEnd::default() };
        Self { plan, report, folder: folder.into(), number, child: None, ended: None, streams: [None, None] }
    }

    /// Starts it in its own process group. Returns the other end of an interactive shell's standard input.
    pub fn start(&mut self, now_ns: u64) -> Result<Option<UnixStream>> {
        // In a guest the agent's own path is that of another file system.
        let beside = self.folder.join("agent");
        let agent = if beside.exists() { Ok(beside) } else { std::env::current_exe() };
        let mut command = Command::new(agent.attempt(|| "finding the agent".into())?);
        command.arg("launch").arg(&self.folder).arg(self.number.to_string()).env_clear().process_group(0);
        artifacts::prepare(&artifacts::work_folder(&self.folder, self.number))?;
        let (ours, stdin) = self.open_input()?;
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().attempt(|| format!("starting program '{}'", self.plan.name))?;
        self.report.started_ns = Some(now_ns);
        let pipes: [Option<OwnedFd>; 2] = [child.stdout.take().map(Into::into), child.stderr.take().map(Into::into)];
        for ((slot, pipe), name) in self.streams.iter_mut().zip(pipes).zip(["out", "err"]) {
            let file = self.folder.join("programs").join(format!("{}.{name}", self.number));
            *slot = Some(Stream::open(pipe.expect("it is piped"), file, self.plan.typed || ours.is_some())?);
        }
        self.ended = Some(sys::process_descriptor(child.id()).attempt(|| "watching a program".into())?);
        self.child = Some(child);
        Ok(ours)
    }

    fn open_input(&self) -> Result<(Option<UnixStream>, Stdio)> {
        if self.plan.terminal.is_none() {
            return Ok((None, Stdio::null()));
        }
        let (ours, theirs) = UnixStream::pair().attempt(|| "creating a socket pair".into())?;
        Ok((Some(ours), Stdio::from(OwnedFd::from(theirs))))
    }

    /// Descriptors to watch: process exit and the two output streams.
    pub fn descriptors(&self) -> Option<[RawFd; 3]> {
        let [Some(out), Some(err)] = &self.streams else { return None };
        Some([self.ended.as_ref()?.as_raw_fd(), out.pipe.as_raw_fd(), err.pipe.as_raw_fd()])
    }

    /// Stores a stream's available output; false at its end.
    pub fn read_stream(&mut self, which: usize) -> Result<bool> {
        let Some(stream) = &mut self.streams[which] else { return Ok(false) };
        let open = stream.drain(&mut self.report.dropped_bytes[which]);
        open.attempt(|| format!("storing the output of program '{}'", self.plan.name))
    }

    /// Has it just exited? Then stores its remaining output.
    pub fn reap(&mut self, now_ns: u64) -> Result<bool> {
        let Some(child) = &mut self.child else { return Ok(false) };
        let status = child.try_wait().attempt(|| format!("waiting for program '{}'", self.plan.name))?;
        let Some(status) = status else { return Ok(false) };
        self.child = None;
        self.report.ended_ns = Some(now_ns);
        self.report.status = status.code();
        self.report.signal = status.signal();
        self.read_stream(0)?;
        self.read_stream(1)?;
        let fault = fs::read_to_string(fault_file(&self.folder, &self.number.to_string())).unwrap_or_default();
        self.report.fault = self.report.fault.take().or((!fault.is_empty()).then_some(fault));
        Ok(true)
    }

    /// Copies its files out of its working folder. It has exited, or never started.
    pub fn clear(&mut self) -> Result<()> {
        if self.report.started_ns.is_none() {
            return Ok(());
        }
        let to = self.folder.join("programs").join(format!("{}.files", self.number));
        self.report.files = artifacts::copy_out(&self.plan, &artifacts::work_folder(&self.folder, self.number), &to)?;
        Ok(())
    }

    /// Is it running?
    pub fn is_running(&self) -> bool {
        self.child.is_some()
    }

    /// Its process group, while it runs.
    pub fn group(&self) -> Option<i32> {
        self.child.as_ref().map(|child| i32::try_from(child.id()).expect("a process number fits"))
    }

    /// Sends a signal to its process group.
    pub fn stop(&mut self, signal: Signal) {
        if let Some(group) = self.group() {
            self.report.stopped = true;
            // It may have exited meanwhile.
            let _ = killpg(Pid::from_raw(group), signal);
        }
    }
}

impl Stream {
    fn open(pipe: OwnedFd, file: PathBuf, live: bool) -> Result<Self> {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).attempt(|| "setting a pipe to non-blocking".into())?;
        let kept = File::create(&file).attempt(|| format!("creating {}", file.display()))?;
        Ok(Self { pipe: pipe.into(), kept, kept_bytes: 0, read_at: live.then_some(file) })
    }

    fn drain(&mut self, dropped: &mut u64) -> io::Result<bool> {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let length = match self.pipe.read(&mut piece) {
                Ok(0) => return Ok(false),
                Ok(length) => length,
                Err(error) if error.raw_os_error() == Some(Errno::EAGAIN as i32) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let space = usize::try_from(MAX_KEPT - self.kept_bytes).unwrap_or(usize::MAX).min(length);
            self.kept.write_all(&piece[..space])?;
            self.kept_bytes += space as u64;
            *dropped += (length - space) as u64;
            if let Some(file) = &self.read_at {
                // In a guest, hostfs writes the file to the host when it is closed.
                self.kept = File::options().append(true).open(file)?;
            }
        }
    }
}
