//! A person's shell in a host: the experiment's time stands still while nothing is typed.
//!
//! The shell is a program of the experiment that reads commands from a socket and answers each with its status. When it
//! has nothing to do, the agent asks for the next command and waits for the answer without a sleep, for only a sleep lets
//! time pass. `dumbbell.engine.session` answers, and stops the whole guest while a person thinks.
//!
//! ```text
//! terminal/N.asked    written here: the N-th question, with the time and what became of the last command
//! terminal/N.answer   written there: the next command, none at the end; or only leave to go on
//! terminal/N.stop1 …  written there: ^C, while the answer to question N is carried out
//! terminal/bye        written here: the status that the shell ended with
//! ```

use super::Lab;
use super::agenda::Kind;
use super::doors::Door;
use crate::error::{Attempt, Result};
use crate::programs::plan::TerminalPlan;
use crate::programs::processes;
use crate::sys::listing::Listing;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// How often a command that is under way is looked after: has somebody pressed ^C, is its time over?
const LOOK_NS: u64 = 100_000_000;
/// What a command has between being asked to end and being ended.
const GRACE_NS: u64 = 1_000_000_000;

/// The shell's other end, and what it does.
pub struct Terminal {
    plan: TerminalPlan,
    program: usize,
    folder: PathBuf,
    /// The same folder.
    post: Listing,
    socket: UnixStream,
    said: Vec<u8>,
    questions: usize,
    doing: Doing,
    /// Why the last command was ended.
    fate: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Doing {
    /// Before its first word, or after its last.
    Nothing,
    /// Idle: the last command's status is this.
    Waiting(Option<i32>),
    Busy(Command),
}

/// A command under way.
#[derive(Clone, Copy)]
struct Command {
    /// The question whose answer it is.
    question: usize,
    ends_ns: u64,
    /// How often somebody has pressed ^C.
    stops: usize,
    /// How it was asked to end, so far.
    strikes: usize,
}

#[derive(Serialize)]
struct Question {
    now_ns: u64,
    /// Is a command wanted, or only leave to go on?
    idle: bool,
    /// Of the last command.
    status: Option<i32>,
    /// Why the last command was ended.
    fate: Option<&'static str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    line: Option<String>,
    /// No more commands.
    end: bool,
}

impl Terminal {
    fn ask(&mut self, question: &Question) -> Result<Answer> {
        self.questions += 1;
        let name = |kind: &str| self.folder.join(format!("{}.{kind}", self.questions));
        let text = serde_json::to_vec(question)?;
        // Whole or not at all: somebody looks for it all the time.
        fs::write(name("draft"), text)
            .and_then(|()| fs::rename(name("draft"), name("asked")))
            .attempt(|| "asking for a command".into())?;
        let answer = name("answer");
        self.post.wait_for(&format!("{}.answer", self.questions)).attempt(|| "waiting for a command".into())?;
        Ok(serde_json::from_str(&fs::read_to_string(&answer).attempt(|| "reading a command".into())?)?)
    }

    /// What the shell has said, in whole lines; nothing more to come: false.
    fn hear(&mut self) -> io::Result<(Vec<String>, bool)> {
        let mut piece = [0; 4096];
        let open = loop {
            match self.socket.read(&mut piece) {
                Ok(0) => break false,
                Ok(length) => self.said.extend_from_slice(&piece[..length]),
                Err(error) if error.raw_os_error() == Some(Errno::EAGAIN as i32) => break true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break false,
                Err(error) => return Err(error),
            }
        };
        let whole = self.said.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let lines = String::from_utf8_lossy(&self.said.drain(..whole).collect::<Vec<_>>()).into_owned();
        Ok((lines.lines().map(String::from).collect(), open))
    }

    /// How often has somebody pressed ^C since this command began?
    fn stops(&self, command: Command) -> usize {
        let next = command.stops + 1;
        let pressed = self.folder.join(format!("{}.stop{next}", command.question)).exists();
        if pressed { next } else { command.stops }
    }
}

impl Lab<'_> {
    /// The shell has been started.
    pub(super) fn open_terminal(&mut self, program: usize, socket: UnixStream, plan: TerminalPlan) -> Result<()> {
        socket.set_nonblocking(true).attempt(|| "making a socket non-blocking".into())?;
        let folder = self.folder.join("terminal");
        self.doors.watch(socket.as_raw_fd(), Door::Word)?;
        let (post, said) = (Listing::open(&folder).attempt(|| "opening the terminal's folder".into())?, Vec::new());
        self.company.terminal = Some(Terminal {
            plan,
            program,
            folder,
            post,
            socket,
            said,
            questions: 0,
            doing: Doing::Nothing,
            fate: None,
        });
        Ok(())
    }

    /// The shell is done with a command, or altogether.
    pub(super) fn hear_shell(&mut self) -> Result<()> {
        let Some(terminal) = &mut self.company.terminal else { return Ok(()) };
        let (lines, open) = terminal.hear().attempt(|| "listening to the shell".into())?;
        if !open {
            self.doors.forget(Door::Word)?;
        }
        for line in lines {
            match line.strip_prefix("exit ") {
                Some(status) => self.farewell(status)?,
                None => self.command_is_done(line.parse().ok())?,
            }
        }
        Ok(())
    }

    fn farewell(&mut self, status: &str) -> Result<()> {
        let Some(terminal) = &mut self.company.terminal else { return Ok(()) };
        terminal.doing = Doing::Nothing;
        fs::write(terminal.folder.join("bye"), status).attempt(|| "writing the shell's status".into())
    }

    fn command_is_done(&mut self, status: Option<i32>) -> Result<()> {
        let now_ns = self.now_ns();
        let Some(terminal) = &mut self.company.terminal else { return Ok(()) };
        terminal.doing = Doing::Waiting(status);
        // What the command said last comes before the question for the next one.
        for stream in 0..2 {
            self.company.running[terminal.program].hear(stream)?;
        }
        self.next_command(now_ns, status)
    }

    fn next_command(&mut self, now_ns: u64, status: Option<i32>) -> Result<()> {
        let Some(terminal) = &mut self.company.terminal else { return Ok(()) };
        let answer = terminal.ask(&Question { now_ns, idle: true, status, fate: terminal.fate })?;
        if answer.end {
            return terminal.socket.shutdown(Shutdown::Write).attempt(|| "telling the shell to end".into());
        }
        if let Some(line) = answer.line {
            terminal.fate = None;
            // The shell is idle, so there is room for the line; if not, it has just died.
            let _ = terminal.socket.write_all(&[line.as_bytes(), b"\0"].concat());
            let ends_ns = now_ns + terminal.plan.timeout_ns;
            terminal.doing = Doing::Busy(Command { question: terminal.questions, ends_ns, stops: 0, strikes: 0 });
        }
        self.care_later(now_ns);
        Ok(())
    }

    fn care_later(&mut self, now_ns: u64) {
        let Some(terminal) = &self.company.terminal else { return };
        let every_ns = terminal.plan.step_ns.unwrap_or(LOOK_NS);
        self.agenda.add(now_ns + every_ns, Kind::Care, terminal.questions);
    }

    /// It is time to look after the shell, unless it has asked since the `question` that this was meant for.
    pub(super) fn care(&mut self, now_ns: u64, question: usize) -> Result<()> {
        let Some(terminal) = &mut self.company.terminal else { return Ok(()) };
        if terminal.questions != question {
            return Ok(());
        }
        match terminal.doing {
            Doing::Nothing => Ok(()),
            Doing::Waiting(status) => self.next_command(now_ns, status),
            Doing::Busy(command) => self.care_for(command, now_ns),
        }
    }

    fn care_for(&mut self, mut command: Command, now_ns: u64) -> Result<()> {
        let Some(terminal) = &mut self.company.terminal else { return Ok(()) };
        let stops = terminal.stops(command);
        if stops > command.stops || now_ns >= command.ends_ns {
            terminal.fate = Some(if stops > command.stops { "interrupted" } else { "timeout" });
            if let Some(group) = self.company.running[terminal.program].group() {
                strike(group, command.strikes);
            }
            command.strikes += 1;
            command.stops = stops;
            command.ends_ns = command.ends_ns.max(now_ns + GRACE_NS);
            terminal.doing = Doing::Busy(command);
        }
        if terminal.plan.step_ns.is_some() {
            terminal.ask(&Question { now_ns, idle: false, status: None, fate: None })?;
        }
        self.care_later(now_ns);
        Ok(())
    }
}

/// As ^C does at first, then as nobody can refuse; the shell itself lives on.
fn strike(group: i32, strikes: usize) {
    if strikes == 0 {
        // Whoever has ended in the meantime needs no signal.
        let _ = killpg(Pid::from_raw(group), Signal::SIGINT);
        return;
    }
    let others = processes::grouped().into_iter().flatten().filter(|&(process, of)| of == group && process != group);
    for (process, _) in others.collect::<Vec<_>>() {
        let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
    }
    let _ = killpg(Pid::from_raw(group), Signal::SIGINT);
}
