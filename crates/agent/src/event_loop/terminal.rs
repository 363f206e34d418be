//! An interactive shell in a host. Virtual time stops while the user types.
//!
//! The shell is a program of the experiment. It reads commands from a socket and answers each with its exit status.
//! When the shell is idle, the agent requests the next command and busy-waits for it: virtual time advances only
//! during sleep. `dumbbell.engines.shell_session` answers, and stops the guest until the user has typed a command.
//!
//! ```text
//! terminal/N.asked    from the agent: the N-th request, with the time and the last command's result
//! terminal/N.answer   to the agent: the next command, the end, or only permission to continue
//! terminal/N.stop1 …  to the agent: ^C was pressed during the command of request N
//! terminal/bye        from the agent: the shell's exit status
//! ```

use super::EventLoop;
use super::event_queue::Kind;
use super::poller::Token;
use crate::error::{Attempt, Result};
use crate::programs::processes;
use crate::sys::listing::Listing;
use dumbbell_plan::TerminalPlan;
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

/// How often to check a running command for ^C and its timeout.
const CHECK_INTERVAL_NS: u64 = 100_000_000;
/// Time between SIGINT and SIGKILL.
const GRACE_NS: u64 = 1_000_000_000;

/// The agent's end of the shell's socket, and the shell's state.
pub struct Terminal {
    plan: TerminalPlan,
    program: usize,
    folder: PathBuf,
    /// A listing of `folder`.
    listing: Listing,
    socket: UnixStream,
    input: Vec<u8>,
    queries: usize,
    shell_state: ShellState,
    /// Why the last command was stopped.
    end_reason: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum ShellState {
    /// Not started, or exited.
    Nothing,
    /// Idle; the last command's exit status.
    Waiting(Option<i32>),
    Busy(Command),
}

/// A running command.
#[derive(Clone, Copy)]
struct Command {
    /// The request that it answers.
    request: usize,
    ends_ns: u64,
    /// How many times the user has pressed ^C.
    interrupts: usize,
    /// How many signals it was sent.
    signals_sent: usize,
}

#[derive(Serialize)]
struct CommandRequest {
    now_ns: u64,
    /// True: requests a command. False: requests permission to continue.
    idle: bool,
    /// Exit status of the last command.
    status: Option<i32>,
    /// Why the last command was stopped.
    #[serde(rename = "fate")]
    end_reason: Option<&'static str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    line: Option<String>,
    /// The user has closed the shell.
    end: bool,
}

impl Terminal {
    fn exchange(&mut self, request: &CommandRequest) -> Result<Answer> {
        self.queries += 1;
        let name = |kind: &str| self.folder.join(format!("{}.{kind}", self.queries));
        let text = serde_json::to_vec(request)?;
        // Renamed into place: the reader polls for the file.
        fs::write(name("draft"), text)
            .and_then(|()| fs::rename(name("draft"), name("asked")))
            .attempt(|| "requesting a command".into())?;
        let answer = name("answer");
        self.listing.wait_for(&format!("{}.answer", self.queries)).attempt(|| "waiting for a command".into())?;
        Ok(serde_json::from_str(&fs::read_to_string(&answer).attempt(|| "reading a command".into())?)?)
    }

    /// Complete lines that the shell has written; false at the end of the stream.
    fn read_lines(&mut self) -> io::Result<(Vec<String>, bool)> {
        let mut piece = [0; 4096];
        let open = loop {
            match self.socket.read(&mut piece) {
                Ok(0) => break false,
                Ok(length) => self.input.extend_from_slice(&piece[..length]),
                Err(error) if error.raw_os_error() == Some(Errno::EAGAIN as i32) => break true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break false,
                Err(error) => return Err(error),
            }
        };
        let complete = self.input.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let lines = String::from_utf8_lossy(&self.input.drain(..complete).collect::<Vec<_>>()).into_owned();
        Ok((lines.lines().map(String::from).collect(), open))
    }

    /// How many times has the user pressed ^C during this command?
    fn interrupts(&self, command: Command) -> usize {
        let next = command.interrupts + 1;
        let pressed = self.folder.join(format!("{}.stop{next}", command.request)).exists();
        if pressed { next } else { command.interrupts }
    }
}

impl EventLoop<'_> {
    /// The shell has started.
    pub(super) fn open_terminal(&mut self, program: usize, socket: UnixStream, plan: TerminalPlan) -> Result<()> {
        socket.set_nonblocking(true).attempt(|| "setting a socket to non-blocking".into())?;
        let folder = self.folder.join("terminal");
        self.poller.watch(socket.as_raw_fd(), Token::Word)?;
        let (listing, input) = (Listing::open(&folder).attempt(|| "opening the terminal's folder".into())?, Vec::new());
        self.programs.terminal = Some(Terminal {
            plan,
            program,
            folder,
            listing,
            socket,
            input,
            queries: 0,
            shell_state: ShellState::Nothing,
            end_reason: None,
        });
        Ok(())
    }

    /// The shell has finished a command, or exited.
    pub(super) fn read_shell(&mut self) -> Result<()> {
        let Some(terminal) = &mut self.programs.terminal else { return Ok(()) };
        let (lines, open) = terminal.read_lines().attempt(|| "reading from the shell".into())?;
        if !open {
            self.poller.remove(Token::Word)?;
        }
        for line in lines {
            match line.strip_prefix("exit ") {
                Some(status) => self.shell_exited(status)?,
                None => self.command_is_done(line.parse().ok())?,
            }
        }
        Ok(())
    }

    fn shell_exited(&mut self, status: &str) -> Result<()> {
        let Some(terminal) = &mut self.programs.terminal else { return Ok(()) };
        terminal.shell_state = ShellState::Nothing;
        fs::write(terminal.folder.join("bye"), status).attempt(|| "writing the shell's status".into())
    }

    fn command_is_done(&mut self, status: Option<i32>) -> Result<()> {
        let now_ns = self.now_ns();
        let Some(terminal) = &mut self.programs.terminal else { return Ok(()) };
        terminal.shell_state = ShellState::Waiting(status);
        // Read the command's last output before requesting the next command.
        for stream in 0..2 {
            self.programs.running[terminal.program].read_stream(stream)?;
        }
        self.next_command(now_ns, status)
    }

    fn next_command(&mut self, now_ns: u64, status: Option<i32>) -> Result<()> {
        let Some(terminal) = &mut self.programs.terminal else { return Ok(()) };
        let answer =
            terminal.exchange(&CommandRequest { now_ns, idle: true, status, end_reason: terminal.end_reason })?;
        if answer.end {
            return terminal.socket.shutdown(Shutdown::Write).attempt(|| "closing the shell's socket".into());
        }
        if let Some(line) = answer.line {
            terminal.end_reason = None;
            // An idle shell has buffer space for the line; if the write fails, it has just exited.
            let _ = terminal.socket.write_all(&[line.as_bytes(), b"\0"].concat());
            let ends_ns = now_ns + terminal.plan.timeout_ns;
            terminal.shell_state =
                ShellState::Busy(Command { request: terminal.queries, ends_ns, interrupts: 0, signals_sent: 0 });
        }
        self.schedule_command_check(now_ns);
        Ok(())
    }

    fn schedule_command_check(&mut self, now_ns: u64) {
        let Some(terminal) = &self.programs.terminal else { return };
        let every_ns = terminal.plan.step_ns.unwrap_or(CHECK_INTERVAL_NS);
        self.event_queue.add(now_ns + every_ns, Kind::CheckCommand, terminal.queries);
    }

    /// Checks on the shell, unless it has sent a request after `request`.
    pub(super) fn check_shell(&mut self, now_ns: u64, request: usize) -> Result<()> {
        let Some(terminal) = &mut self.programs.terminal else { return Ok(()) };
        if terminal.queries != request {
            return Ok(());
        }
        match terminal.shell_state {
            ShellState::Nothing => Ok(()),
            ShellState::Waiting(status) => self.next_command(now_ns, status),
            ShellState::Busy(command) => self.check_command(command, now_ns),
        }
    }

    fn check_command(&mut self, mut command: Command, now_ns: u64) -> Result<()> {
        let Some(terminal) = &mut self.programs.terminal else { return Ok(()) };
        let interrupts = terminal.interrupts(command);
        if interrupts > command.interrupts || now_ns >= command.ends_ns {
            terminal.end_reason = Some(if interrupts > command.interrupts { "interrupted" } else { "timeout" });
            if let Some(group) = self.programs.running[terminal.program].group() {
                signal_command(group, command.signals_sent);
            }
            command.signals_sent += 1;
            command.interrupts = interrupts;
            command.ends_ns = command.ends_ns.max(now_ns + GRACE_NS);
            terminal.shell_state = ShellState::Busy(command);
        }
        if terminal.plan.step_ns.is_some() {
            terminal.exchange(&CommandRequest { now_ns, idle: false, status: None, end_reason: None })?;
        }
        self.schedule_command_check(now_ns);
        Ok(())
    }
}

/// SIGINT first; then SIGKILL for every process of the group but the shell.
fn signal_command(group: i32, signals_sent: usize) {
    if signals_sent == 0 {
        // The group may have exited.
        let _ = killpg(Pid::from_raw(group), Signal::SIGINT);
        return;
    }
    let others = processes::grouped().into_iter().flatten().filter(|&(process, of)| of == group && process != group);
    for (process, _) in others.collect::<Vec<_>>() {
        let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
    }
    let _ = killpg(Pid::from_raw(group), Signal::SIGINT);
}
