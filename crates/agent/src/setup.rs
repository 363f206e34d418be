//! Runs the plan's commands: `ip` and `tc` in batches; sysctls, module parameters and offloads directly.
//!
//! Starting a process in a guest takes milliseconds, so consecutive commands of one program in one
//! host run as one `ip -batch` or `tc -batch`. `dumbbell.plan` generates the commands.

use crate::error::{Attempt, Error, Result};
use crate::plan::{Change, Command};
use crate::sys;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Stdio};

/// Runs all commands in order; stops at the first failure.
pub fn run(commands: &[Command]) -> Result<()> {
    for batch in commands.chunk_by(|a, b| batches(a) && a.host == b.host && a.argv[0] == b.argv[0]) {
        match batch[0].argv[0].as_str() {
            "ip" | "tc" => run_batch(batch)?,
            "sysctl" => batch.iter().try_for_each(set_sysctl)?,
            "write" => batch.iter().try_for_each(set_parameter)?,
            "ethtool" => batch.iter().try_for_each(set_offloads)?,
            other => panic!("the plan contains a forbidden program: {other}"),
        }
    }
    Ok(())
}

fn batches(command: &Command) -> bool {
    matches!(command.argv[0].as_str(), "ip" | "tc")
}

fn run_batch(batch: &[Command]) -> Result<()> {
    let program = &batch[0].argv[0];
    let mut child = spawn(program, &batch[0].host)?;
    let mut input = child.stdin.take().expect("stdin is piped");
    let lines: String = batch.iter().map(batch_line).collect();
    // The program may stop reading at the failed line; its message is more useful than EPIPE.
    let _ = input.write_all(lines.as_bytes());
    drop(input);
    let output = child.wait_with_output().attempt(|| format!("waiting for {program}"))?;
    if output.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&output.stderr).into_owned();
    let command = refused_line(&reason).and_then(|line| batch.get(line - 1)).unwrap_or(&batch[0]);
    Err(Error::Refused { command: command.line(), reason: reason.trim().into() })
}

/// `ip` and `tc` end their error message with "Command failed -:LINE".
fn refused_line(complaint: &str) -> Option<usize> {
    complaint.lines().rev().find_map(|line| line.strip_prefix("Command failed -:")?.trim().parse().ok())
}

fn batch_line(command: &Command) -> String {
    format!("{}\n", command.argv[1..].join(" "))
}

fn spawn(program: &str, host: &str) -> Result<Child> {
    let mut command = std::process::Command::new(program);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    if !host.is_empty() {
        command.args(["-n", host]);
    }
    command.args(["-batch", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().attempt(|| format!("starting {program} (package iproute2)"))
}

fn set_sysctl(command: &Command) -> Result<()> {
    let setting = command.argv.last().expect("sysctl -w KEY=VALUE");
    let (key, value) = setting.split_once('=').expect("sysctl -w KEY=VALUE");
    let path = sys::sysctl_file(key);
    sys::within(&command.host, || fs::write(&path, value)).map_err(|error| Error::Refused {
        command: command.line(),
        reason: match error.kind() {
            io::ErrorKind::NotFound if !command.host.is_empty() && fs::exists(&path).unwrap_or(false) => {
                format!("{key} is system-wide on this kernel, not per host")
            }
            io::ErrorKind::NotFound if !fs::exists(HOST_WIDE_SYSCTL).unwrap_or(false) => {
                format!("{key} does not exist in a host: this kernel lacks it, or it is system-wide")
            }
            io::ErrorKind::NotFound => format!("this kernel has no {key}"),
            _ => error.to_string(),
        },
    })
}

/// Exists on every kernel, system-wide: where it is invisible, other system-wide sysctls are invisible, too.
const HOST_WIDE_SYSCTL: &str = "/proc/sys/net/core/netdev_max_backlog";

/// Sets a parameter of a congestion control module; no other file is ever written.
fn set_parameter(command: &Command) -> Result<()> {
    let [_, path, value] = command.argv.as_slice() else { panic!("write FILE TEXT") };
    assert!(path.starts_with("/sys/module/tcp_") && !path.contains(".."), "the plan writes a forbidden file");
    let written = fs::OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(|error| Error::Refused {
        command: command.line(),
        reason: match error.kind() {
            io::ErrorKind::NotFound => "this kernel's controller has no such parameter".into(),
            io::ErrorKind::PermissionDenied => "the parameter is read-only after boot".into(),
            _ => error.to_string(),
        },
    })
}

/// The features of `ethtool -K DEVICE FEATURE on|off …` that plans use, as ioctl numbers.
const OFFLOADS: [(&str, u32); 3] = [("tso", 0x1f), ("gso", 0x24), ("gro", 0x2c)];

fn set_offloads(command: &Command) -> Result<()> {
    let device = &command.argv[2];
    for pair in command.argv[3..].chunks_exact(2) {
        let number = OFFLOADS.iter().find(|(name, _)| *name == pair[0]).expect("an offload of the plan").1;
        sys::within(&command.host, || Ok(sys::features::set(device, number, pair[1] == "on")?))
            .attempt(|| command.line())?;
    }
    Ok(())
}

/// A `tc` or `ip` process that stays open for later changes: starting one takes milliseconds.
pub struct Standby {
    host: String,
    program: String,
    child: Child,
    input: ChildStdin,
    sent: Vec<Command>,
}

impl Standby {
    /// Starts one for each program and host of the changes.
    pub fn for_all(changes: &[Change]) -> Result<Vec<Self>> {
        let mut standbys: Vec<Self> = Vec::new();
        for change in changes {
            if !standbys.iter().any(|standby| standby.serves(&change.command)) {
                standbys.push(Self::start(&change.command)?);
            }
        }
        Ok(standbys)
    }

    /// Starts the program in a host.
    fn start(command: &Command) -> Result<Self> {
        let mut child = spawn(&command.argv[0], &command.host)?;
        let input = child.stdin.take().expect("stdin is piped");
        Ok(Self { host: command.host.clone(), program: command.argv[0].clone(), child, input, sent: Vec::new() })
    }

    /// Its host and netlink port: Linux chooses iproute2's port: the PID.
    pub fn port(&self) -> (&str, u32) {
        (&self.host, self.child.id())
    }

    /// Does it run this command's program in the same host?
    pub fn serves(&self, command: &Command) -> bool {
        self.host == command.host && self.program == command.argv[0]
    }

    /// Sends the command; the program runs it before virtual time advances.
    pub fn send(&mut self, command: &Command) -> Result<()> {
        self.sent.push(command.clone());
        self.input.write_all(batch_line(command).as_bytes()).attempt(|| command.line())
    }

    /// Waits for the program to exit and reports a failed change.
    pub fn finish(self) -> Result<()> {
        // A program of the experiment may have stopped it with a signal.
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGCONT);
        drop(self.input);
        let output = self.child.wait_with_output().attempt(|| format!("waiting for {}", self.program))?;
        if output.status.success() {
            return Ok(());
        }
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_string();
        let command = refused_line(&reason).and_then(|line| self.sent.get(line - 1)).map(Command::line);
        Err(Error::Refused { command: command.unwrap_or_default(), reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failed_line_is_parsed() {
        assert_eq!(refused_line("What is \"limt\"?\nCommand failed -:3\n"), Some(3));
        assert_eq!(refused_line("Cannot find device \"x\""), None);
    }
}
