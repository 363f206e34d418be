//! Exchanges messages with Python: answers, forwards orders to the watchdog and the event loop, and finally sends the
//! records.
//!
//! It leaves nothing on the host: it first removes the program's file and folder, and the records are in a private
//! `tmpfs`. It has one thread that never blocks for long. Every second it sends a heartbeat; when it receives nothing
//! for ten seconds it exits, and the watchdog restores the host.

use super::facts;
use super::frames::{Inbox, Message, Order, send, send_message};
use super::undo;
use super::watchdog::{self, SILENCE_TIMEOUT};
use crate::error::{Attempt, Error, Result};
use crate::sys::{monotonic_ns, process};
use dumbbell_plan::AgentPlan;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{ForkResult, read};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Folder of the records: a `tmpfs` in this process's mount namespace.
const RECORDS_FOLDER: &str = "/tmp";
/// Python copies the program into a folder with this prefix.
const FOLDER: &str = "dumbbell-agent.";
const BEAT: Duration = Duration::from_secs(1);
/// How long to wait for the watchdog to restore the host; its own limits are shorter.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(10);
/// Files sent to Python, in this order; missing ones are skipped.
const RECORDS: [&str; 5] = ["flows.bin", "queues.bin", "probes.bin", "machine.jsonl", "end.json"];
const PIECE_BYTES: usize = 256 << 10;

/// Runs until Python has received everything or the connection is lost.
pub fn run(connection: &OsStr) -> ExitCode {
    remove_program();
    let mut control = ControlConnection::new(connection);
    match control.serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Python may have closed the connection already.
            let _ = control.send_message(&Message::Failed { reason: error.to_string() });
            control.shut_down();
            ExitCode::FAILURE
        }
    }
}

/// Removes this program's file and its folder.
fn remove_program() {
    let Ok(program) = std::env::current_exe() else { return };
    let Some(folder) = program.parent() else { return };
    let ours = folder.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(FOLDER));
    if ours {
        let _ = fs::remove_file(&program);
        let _ = fs::remove_dir(folder);
    }
}

struct ControlConnection {
    connection: String,
    inbox: Inbox,
    last_received: Instant,
    last_sent: Instant,
    watchdog: Option<UnixStream>,
    /// An incomplete line from the watchdog.
    pending: String,
    event_loop: Option<UnixStream>,
    /// The differences that the watchdog reported after restoring.
    restored: Option<Vec<String>>,
    /// Did the event loop succeed?
    succeeded: Option<bool>,
}

impl ControlConnection {
    fn new(connection: &OsStr) -> Self {
        Self {
            connection: connection.to_string_lossy().into_owned(),
            inbox: Inbox::default(),
            last_received: Instant::now(),
            last_sent: Instant::now(),
            watchdog: None,
            pending: String::new(),
            event_loop: None,
            restored: None,
            succeeded: None,
        }
    }

    fn serve(&mut self) -> Result<()> {
        set_up()?;
        let put_back = undo::restore_crashed(Path::new(undo::FOLDER))?;
        self.send_message(&Message::Hello { put_back })?;
        while self.restored.is_none() {
            self.wait()?;
        }
        self.send_records()
    }

    fn send_message(&mut self, message: &Message) -> Result<()> {
        self.last_sent = Instant::now();
        send_message(io::stdout().as_fd(), message)
    }

    /// Waits for the next message and handles it.
    fn wait(&mut self) -> Result<()> {
        let input = io::stdin();
        let unused = File::open("/dev/null").attempt(|| "opening /dev/null".into())?;
        let flags = |there: bool| if there { PollFlags::POLLIN } else { PollFlags::empty() };
        let ready = {
            let watchdog = self.watchdog.as_ref().map_or(unused.as_fd(), AsFd::as_fd);
            let event_loop = self.event_loop.as_ref().map_or(unused.as_fd(), AsFd::as_fd);
            let mut events = [
                PollFd::new(input.as_fd(), PollFlags::POLLIN),
                PollFd::new(watchdog, flags(self.watchdog.is_some())),
                PollFd::new(event_loop, flags(self.event_loop.is_some())),
            ];
            let left = BEAT.saturating_sub(self.last_sent.elapsed()) + Duration::from_millis(1);
            match poll(&mut events, PollTimeout::try_from(left).unwrap_or(PollTimeout::from(1_000_u16))) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error).attempt(|| "waiting".into()),
            }
            events.map(|event| event.revents().is_some_and(|events| !events.is_empty()))
        };
        if ready[0] {
            self.read_python()?;
        }
        if ready[1] && self.watchdog.is_some() {
            self.read_watchdog()?;
        }
        if ready[2] && self.event_loop.is_some() {
            self.read_event_loop()?;
        }
        self.beat()
    }

    fn beat(&mut self) -> Result<()> {
        if self.last_received.elapsed() > SILENCE_TIMEOUT {
            return Err(Error::Unfit("no message within ten seconds".into()));
        }
        if self.last_sent.elapsed() >= BEAT {
            self.send_message(&Message::Beat)?;
            self.send_to_watchdog("beat")?;
        }
        Ok(())
    }

    fn send_to_watchdog(&mut self, message: &str) -> Result<()> {
        match &mut self.watchdog {
            // If it dies, its socket reports EOF.
            Some(watchdog) => watchdog.write_all(format!("{message}\n").as_bytes()).or(Ok(())),
            None => Ok(()),
        }
    }

    fn read_python(&mut self) -> Result<()> {
        let mut piece = vec![0; PIECE_BYTES];
        match read(io::stdin(), &mut piece) {
            Ok(0) => return Err(Error::Unfit("the connection was closed".into())),
            Ok(length) => self.inbox.add(&piece[..length]),
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(()),
            Err(error) => return Err(error).attempt(|| "reading the connection".into()),
        }
        self.last_received = Instant::now();
        while let Some((order, body)) = self.inbox.next()? {
            self.handle_order(order, &body)?;
        }
        Ok(())
    }

    fn handle_order(&mut self, order: Order, body: &[u8]) -> Result<()> {
        match order {
            Order::Beat => Ok(()),
            Order::Inspect(request) => {
                let facts = facts::read(request, &self.connection)?;
                self.send_message(&Message::Facts(Box::new(facts)))
            }
            Order::Time => self.send_message(&Message::Time { now_ns: monotonic_ns() }),
            Order::Plan { within_ms, .. } => self.start_watchdog(body, Duration::from_millis(within_ms)),
            Order::Begin { at_ns } => self.send_to_event_loop(&format!("begin {at_ns}\n")),
            Order::End => self.send_to_event_loop("end\n"),
        }
    }

    fn send_to_event_loop(&mut self, line: &str) -> Result<()> {
        match &mut self.event_loop {
            Some(event_loop) => event_loop.write_all(line.as_bytes()).or(Ok(())),
            // The experiment may end by itself while the order is in transit.
            None if self.watchdog.is_some() || self.restored.is_some() => Ok(()),
            None => Err(Error::Unfit("received an order before the plan".into())),
        }
    }

    /// Starts the watchdog, which starts the event loop.
    fn start_watchdog(&mut self, body: &[u8], within: Duration) -> Result<()> {
        if self.watchdog.is_some() {
            return Err(Error::Unfit("received a second plan".into()));
        }
        let plan: AgentPlan = serde_json::from_slice(body)?;
        fs::write(Path::new(RECORDS_FOLDER).join("plan.json"), body).attempt(|| "writing plan.json".into())?;
        let pair = || UnixStream::pair().attempt(|| "creating a socket pair".into());
        let ((ours, watchdog_end), (orders, event_loop_end)) = (pair()?, pair()?);
        match process::copy().attempt(|| "starting the watchdog".into())? {
            ForkResult::Child => {
                drop((ours, orders));
                let done = watchdog::run(watchdog_end, event_loop_end, Path::new(RECORDS_FOLDER), &plan, within);
                std::process::exit(i32::from(done != ExitCode::SUCCESS))
            }
            ForkResult::Parent { .. } => (self.watchdog, self.event_loop) = (Some(ours), Some(orders)),
        }
        Ok(())
    }

    fn read_event_loop(&mut self) -> Result<()> {
        let mut buffer = [0; 64];
        match self.event_loop.as_mut().map(|event_loop| event_loop.read(&mut buffer)) {
            Some(Ok(length)) if length > 0 => self.send_message(&Message::Ready),
            _ => {
                self.event_loop = None; // It has ended; the watchdog reports how.
                Ok(())
            }
        }
    }

    fn read_watchdog(&mut self) -> Result<()> {
        let mut buffer = vec![0; PIECE_BYTES];
        let length = self.watchdog.as_mut().map_or(Ok(0), |watchdog| watchdog.read(&mut buffer)).unwrap_or(0);
        if length == 0 {
            return Err(Error::Unfit("the watchdog was killed".into()));
        }
        self.pending += &String::from_utf8_lossy(&buffer[..length]);
        let complete = self.pending.rfind('\n').map_or(0, |last| last + 1);
        for line in self.pending.drain(..complete).collect::<String>().lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("refused", why) => return Err(Error::Unfit(why.into())),
                ("ended", status) => {
                    self.succeeded = Some(status == "0");
                    self.send_to_watchdog("restore")?;
                }
                ("restored", list) => {
                    let differences: Vec<String> = serde_json::from_str(list)?;
                    self.watchdog = None;
                    self.send_message(&Message::Restored { differences: differences.clone() })?;
                    self.restored = Some(differences);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The host is restored: sends the records, or the reason for a failure.
    fn send_records(&mut self) -> Result<()> {
        let folder = Path::new(RECORDS_FOLDER);
        if self.succeeded != Some(true) {
            let notes =
                ["failure.txt", "stderr.txt"].map(|name| fs::read_to_string(folder.join(name)).unwrap_or_default());
            let reason = notes.iter().map(|note| note.trim()).find(|note| !note.is_empty());
            return Err(Error::Unfit(reason.unwrap_or("the time limit expired before the experiment ended").into()));
        }
        for name in RECORDS {
            if let Ok(file) = File::open(folder.join(name)) {
                self.send_file(name, file)?;
            }
        }
        self.send_message(&Message::Done)
    }

    fn send_file(&mut self, name: &str, mut file: File) -> Result<()> {
        let bytes = file.metadata().attempt(|| format!("reading the size of {name}"))?.len();
        self.send_message(&Message::File { name: name.into(), bytes })?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece).attempt(|| format!("reading {name}"))? {
                0 => return Ok(()),
                length => send(io::stdout().as_fd(), &piece[..length])?,
            }
        }
    }

    /// Waits until the watchdog has restored the host; restores it here if the watchdog is dead.
    fn shut_down(&mut self) {
        self.event_loop = None;
        if let Some(mut watchdog) = self.watchdog.take() {
            let _ = watchdog.shutdown(std::net::Shutdown::Write);
            let _ = watchdog.set_read_timeout(Some(RESTORE_TIMEOUT));
            if watchdog.read_to_end(&mut Vec::new()).is_err() {
                return; // Still restoring; it does not need this process.
            }
        }
        watchdog::end_children();
        let _ = undo::restore_crashed(Path::new(undo::FOLDER));
    }
}

/// Makes the streams non-blocking, mounts a private tmpfs, and adopts the children of a dead watchdog.
fn set_up() -> Result<()> {
    for stream in [io::stdin().as_fd(), io::stdout().as_fd()] {
        let flags = fcntl(stream, FcntlArg::F_GETFL).attempt(|| "reading a stream's flags".into())?;
        let flags = OFlag::from_bits_retain(flags) | OFlag::O_NONBLOCK;
        fcntl(stream, FcntlArg::F_SETFL(flags)).attempt(|| "setting a stream to non-blocking".into())?;
    }
    process::adopt_orphans().attempt(|| "adopting orphans".into())?;
    let none: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)
        .and_then(|()| mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none))
        .and_then(|()| mount(Some("none"), RECORDS_FOLDER, Some("tmpfs"), MsFlags::empty(), Some("mode=700")))
        .attempt(|| format!("mounting a private tmpfs at {RECORDS_FOLDER} (needs root)"))
}
