//! Commands that only the machine's own ip and tc understand, and a record of them: a result then depends on the
//! version of the program.

use crate::error::{Attempt, Error, Result};
use dumbbell_plan::Command;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::{Child, Stdio};

/// What programs of the machine ran, by name.
#[derive(Clone, Debug, Default)]
pub struct MachinePrograms(BTreeMap<String, Vec<String>>);

/// One program, as reported in `end.json`.
#[derive(Clone, Debug, Serialize)]
pub struct MachineProgram {
    program: String,
    /// As it prints it.
    version: String,
    /// The commands that it ran.
    commands: Vec<String>,
}

impl MachinePrograms {
    /// Runs a command.
    pub fn run(&mut self, command: &Command) -> Result<()> {
        self.record(command);
        let program = &command.argv[0];
        let mut child = spawn(program, &command.host)?;
        let mut input = child.stdin.take().expect("stdin is piped");
        // The program may have exited; its message is more useful than EPIPE.
        let _ = input.write_all(batch_line(command).as_bytes());
        drop(input);
        let output = child.wait_with_output().attempt(|| format!("waiting for {program}"))?;
        if output.status.success() {
            return Ok(());
        }
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_string();
        Err(Error::Refused { command: command.line(), reason })
    }

    /// The command runs in a program that is open already.
    pub fn record(&mut self, command: &Command) {
        let line =
            if command.host.is_empty() { command.line() } else { format!("[{}] {}", command.host, command.line()) };
        self.0.entry(command.argv[0].clone()).or_default().push(line);
    }

    /// Asks each program for its version: only at the end, so that it changes nothing.
    pub fn report(self) -> Vec<MachineProgram> {
        let version = |program: &str| {
            let output = command(program).arg("-V").stdin(Stdio::null()).output();
            output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()).unwrap_or_default()
        };
        let programs = self.0.into_iter();
        programs.map(|(program, commands)| MachineProgram { version: version(&program), program, commands }).collect()
    }
}

/// Starts `ip` or `tc` in a host; it reads commands from its standard input.
pub fn spawn(program: &str, host: &str) -> Result<Child> {
    let mut command = command(program);
    if !host.is_empty() {
        command.args(["-n", host]);
    }
    command.args(["-batch", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    match command.spawn() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::Unfit(format!(
            "a command needs this machine's '{program}', which is missing; install the package iproute2"
        ))),
        started => started.attempt(|| format!("starting {program}")),
    }
}

fn command(program: &str) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

/// The command as a line of its standard input.
pub fn batch_line(command: &Command) -> String {
    format!("{}\n", command.argv[1..].join(" "))
}
