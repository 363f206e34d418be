//! Talks with Python: answers, hands orders on to the warden and the lab, and sends the records when all is over.
//!
//! Nothing of it stays on the machine: the program's file and its folder are removed first of all, and the records are in
//! memory that nobody else sees (a `tmpfs` in mounts of its own). It has one thread and never waits for long: every second
//! it says that it lives, and when Python says nothing for ten it goes, and the warden puts everything back.

use super::facts;
use super::frames::{Inbox, Order, Word, say, send};
use super::undo;
use super::warden::{self, SILENCE};
use crate::error::{Attempt, Error, Result};
use crate::plan::Plan;
use crate::sys::{monotonic_ns, process};
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

/// Where the records are: in memory, in mounts of this process's own.
const ROOM: &str = "/tmp";
/// Python sends the program into a folder of such a name.
const FOLDER: &str = "dumbbell-agent.";
const BEAT: Duration = Duration::from_secs(1);
/// What the warden has for putting everything back; its own limits are shorter.
const PUTTING_BACK: Duration = Duration::from_secs(10);
/// What Python is sent, in this order; those that are not there are left out.
const RECORDS: [&str; 5] = ["flows.bin", "queues.bin", "probes.bin", "machine.jsonl", "end.json"];
const PIECE_BYTES: usize = 256 << 10;

/// Speaks until Python has all, or is gone.
pub fn speak(connection: &OsStr) -> ExitCode {
    vanish();
    let mut speaker = Speaker::new(connection);
    match speaker.live() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Python may be gone; then nobody hears it.
            let _ = speaker.say(&Word::Failed { reason: error.to_string() });
            speaker.leave();
            ExitCode::FAILURE
        }
    }
}

/// Removes this program's file and the folder that was made for it.
fn vanish() {
    let Ok(program) = std::env::current_exe() else { return };
    let Some(folder) = program.parent() else { return };
    let ours = folder.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(FOLDER));
    if ours {
        let _ = fs::remove_file(&program);
        let _ = fs::remove_dir(folder);
    }
}

struct Speaker {
    connection: String,
    inbox: Inbox,
    heard: Instant,
    said: Instant,
    warden: Option<UnixStream>,
    /// What the warden has said, up to where it is no whole line yet.
    pending: String,
    lab: Option<UnixStream>,
    /// What the warden said last of putting back.
    restored: Option<Vec<String>>,
    /// The lab's end: well or not.
    well: Option<bool>,
}

impl Speaker {
    fn new(connection: &OsStr) -> Self {
        Self {
            connection: connection.to_string_lossy().into_owned(),
            inbox: Inbox::default(),
            heard: Instant::now(),
            said: Instant::now(),
            warden: None,
            pending: String::new(),
            lab: None,
            restored: None,
            well: None,
        }
    }

    fn live(&mut self) -> Result<()> {
        settle()?;
        let put_back = undo::sweep(Path::new(undo::FOLDER))?;
        self.say(&Word::Hello { put_back })?;
        while self.restored.is_none() {
            self.wait()?;
        }
        self.hand_over()
    }

    fn say(&mut self, word: &Word) -> Result<()> {
        self.said = Instant::now();
        say(io::stdout().as_fd(), word)
    }

    /// Waits for whoever speaks next, and answers.
    fn wait(&mut self) -> Result<()> {
        let input = io::stdin();
        let nobody = File::open("/dev/null").attempt(|| "opening /dev/null".into())?;
        let flags = |there: bool| if there { PollFlags::POLLIN } else { PollFlags::empty() };
        let spoken = {
            let warden = self.warden.as_ref().map_or(nobody.as_fd(), AsFd::as_fd);
            let lab = self.lab.as_ref().map_or(nobody.as_fd(), AsFd::as_fd);
            let mut events = [
                PollFd::new(input.as_fd(), PollFlags::POLLIN),
                PollFd::new(warden, flags(self.warden.is_some())),
                PollFd::new(lab, flags(self.lab.is_some())),
            ];
            let left = BEAT.saturating_sub(self.said.elapsed()) + Duration::from_millis(1);
            match poll(&mut events, PollTimeout::try_from(left).unwrap_or(PollTimeout::from(1_000_u16))) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error).attempt(|| "waiting".into()),
            }
            events.map(|event| event.revents().is_some_and(|events| !events.is_empty()))
        };
        if spoken[0] {
            self.hear_python()?;
        }
        if spoken[1] && self.warden.is_some() {
            self.hear_warden()?;
        }
        if spoken[2] && self.lab.is_some() {
            self.hear_lab()?;
        }
        self.beat()
    }

    fn beat(&mut self) -> Result<()> {
        if self.heard.elapsed() > SILENCE {
            return Err(Error::Unfit("nothing was heard for ten seconds".into()));
        }
        if self.said.elapsed() >= BEAT {
            self.say(&Word::Beat)?;
            self.tell_warden("beat")?;
        }
        Ok(())
    }

    fn tell_warden(&mut self, word: &str) -> Result<()> {
        match &mut self.warden {
            // Its death is heard, not felt.
            Some(warden) => warden.write_all(format!("{word}\n").as_bytes()).or(Ok(())),
            None => Ok(()),
        }
    }

    fn hear_python(&mut self) -> Result<()> {
        let mut piece = vec![0; PIECE_BYTES];
        match read(io::stdin(), &mut piece) {
            Ok(0) => return Err(Error::Unfit("the connection was closed".into())),
            Ok(length) => self.inbox.add(&piece[..length]),
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(()),
            Err(error) => return Err(error).attempt(|| "listening".into()),
        }
        self.heard = Instant::now();
        while let Some((order, body)) = self.inbox.next()? {
            self.obey(order, &body)?;
        }
        Ok(())
    }

    fn obey(&mut self, order: Order, body: &[u8]) -> Result<()> {
        match order {
            Order::Beat => Ok(()),
            Order::Look(asked) => {
                let facts = facts::read(asked, &self.connection)?;
                self.say(&Word::Facts(Box::new(facts)))
            }
            Order::Time => self.say(&Word::Time { now_ns: monotonic_ns() }),
            Order::Plan { within_ms, .. } => self.begin_guard(body, Duration::from_millis(within_ms)),
            Order::Begin { at_ns } => self.tell_lab(&format!("begin {at_ns}\n")),
            Order::End => self.tell_lab("end\n"),
        }
    }

    fn tell_lab(&mut self, line: &str) -> Result<()> {
        match &mut self.lab {
            Some(lab) => lab.write_all(line.as_bytes()).or(Ok(())),
            // It may end by its own clock while the order is under way.
            None if self.warden.is_some() || self.restored.is_some() => Ok(()),
            None => Err(Error::Unfit("an order for a lab that there is not".into())),
        }
    }

    /// Starts the warden, which starts the lab.
    fn begin_guard(&mut self, body: &[u8], within: Duration) -> Result<()> {
        if self.warden.is_some() {
            return Err(Error::Unfit("a second plan".into()));
        }
        let plan: Plan = serde_json::from_slice(body)?;
        fs::write(Path::new(ROOM).join("plan.json"), body).attempt(|| "writing plan.json".into())?;
        let pair = || UnixStream::pair().attempt(|| "making sockets".into());
        let ((ours, wardens), (orders, labs)) = (pair()?, pair()?);
        match process::copy().attempt(|| "starting the warden".into())? {
            ForkResult::Child => {
                drop((ours, orders));
                let done = warden::guard(wardens, labs, Path::new(ROOM), &plan, within);
                std::process::exit(i32::from(done != ExitCode::SUCCESS))
            }
            ForkResult::Parent { .. } => (self.warden, self.lab) = (Some(ours), Some(orders)),
        }
        Ok(())
    }

    fn hear_lab(&mut self) -> Result<()> {
        let mut words = [0; 64];
        match self.lab.as_mut().map(|lab| lab.read(&mut words)) {
            Some(Ok(length)) if length > 0 => self.say(&Word::Ready),
            _ => {
                self.lab = None; // It has ended; the warden says how.
                Ok(())
            }
        }
    }

    fn hear_warden(&mut self) -> Result<()> {
        let mut words = vec![0; PIECE_BYTES];
        let length = self.warden.as_mut().map_or(Ok(0), |warden| warden.read(&mut words)).unwrap_or(0);
        if length == 0 {
            return Err(Error::Unfit("the warden was killed".into()));
        }
        self.pending += &String::from_utf8_lossy(&words[..length]);
        let whole = self.pending.rfind('\n').map_or(0, |last| last + 1);
        for line in self.pending.drain(..whole).collect::<String>().lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("refused", why) => return Err(Error::Unfit(why.into())),
                ("lab", status) => {
                    self.well = Some(status == "0");
                    self.tell_warden("restore")?;
                }
                ("restored", list) => {
                    let differences: Vec<String> = serde_json::from_str(list)?;
                    self.warden = None;
                    self.say(&Word::Restored { differences: differences.clone() })?;
                    self.restored = Some(differences);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Everything was put back; what is left to do is to tell how it went.
    fn hand_over(&mut self) -> Result<()> {
        let room = Path::new(ROOM);
        if self.well != Some(true) {
            let notes =
                ["failure.txt", "stderr.txt"].map(|name| fs::read_to_string(room.join(name)).unwrap_or_default());
            let reason = notes.iter().map(|note| note.trim()).find(|note| !note.is_empty());
            return Err(Error::Unfit(reason.unwrap_or("its time was over before the experiment's end").into()));
        }
        for name in RECORDS {
            if let Ok(file) = File::open(room.join(name)) {
                self.send_file(name, file)?;
            }
        }
        self.say(&Word::Done)
    }

    fn send_file(&mut self, name: &str, mut file: File) -> Result<()> {
        let bytes = file.metadata().attempt(|| format!("measuring {name}"))?.len();
        self.say(&Word::File { name: name.into(), bytes })?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece).attempt(|| format!("reading {name}"))? {
                0 => return Ok(()),
                length => send(io::stdout().as_fd(), &piece[..length])?,
            }
        }
    }

    /// Waits until the warden has put everything back; where it is dead, does it here.
    fn leave(&mut self) {
        self.lab = None;
        if let Some(mut warden) = self.warden.take() {
            let _ = warden.shutdown(std::net::Shutdown::Write);
            let _ = warden.set_read_timeout(Some(PUTTING_BACK));
            if warden.read_to_end(&mut Vec::new()).is_err() {
                return; // It still works at it, and needs nobody.
            }
        }
        warden::end_children();
        let _ = undo::sweep(Path::new(undo::FOLDER));
    }
}

/// Streams that don't block, a room that nobody sees, and the children of a dead warden.
fn settle() -> Result<()> {
    for stream in [io::stdin().as_fd(), io::stdout().as_fd()] {
        let flags = fcntl(stream, FcntlArg::F_GETFL).attempt(|| "reading a stream's flags".into())?;
        let flags = OFlag::from_bits_retain(flags) | OFlag::O_NONBLOCK;
        fcntl(stream, FcntlArg::F_SETFL(flags)).attempt(|| "making a stream non-blocking".into())?;
    }
    process::adopt_orphans().attempt(|| "adopting orphans".into())?;
    let none: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)
        .and_then(|()| mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none))
        .and_then(|()| mount(Some("none"), ROOM, Some("tmpfs"), MsFlags::empty(), Some("mode=700")))
        .attempt(|| format!("mounting memory of its own at {ROOM} (needs root)"))
}
