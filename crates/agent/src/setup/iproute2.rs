//! Commands that only the machine's own tc understands, and a record of them: a result then depends on the
//! version of the program.

use crate::error::{Attempt, Error, Result};
use dumbbell_plan::Step;
use dumbbell_records::end::MachineProgram;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::{Child, Stdio};

/// The machine's tc.
pub const TC: &str = "tc";

/// What programs of the machine ran, by name.
#[derive(Clone, Debug, Default)]
pub struct MachinePrograms(BTreeMap<String, Vec<String>>);

impl MachinePrograms {
    /// Runs a command.
    pub fn run(&mut self, step: &Step) -> Result<()> {
        self.record(step);
        let mut child = spawn(&step.host)?;
        let mut input = child.stdin.take().expect("stdin is piped");
        // The program may have exited; its message is more useful than EPIPE.
        let _ = input.write_all(batch_line(step).as_bytes());
        drop(input);
        let output = child.wait_with_output().attempt(|| format!("waiting for {TC}"))?;
        if output.status.success() {
            return Ok(());
        }
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_string();
        Err(Error::Refused { command: step.line(), reason })
    }

    /// The command runs in a program that is open already.
    pub fn record(&mut self, step: &Step) {
        self.0.entry(TC.into()).or_default().push(step.to_string());
    }

    /// Asks each program for its version: only at the end, so that it changes nothing.
    pub fn report(self) -> Vec<MachineProgram> {
        let version = |program: &str| {
            let output = command(program).arg("-V").stdin(Stdio::null()).output();
            output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()).unwrap_or_default()
        };
        let programs = self.0.into_iter();
        programs
            .map(|(program, commands)| MachineProgram { version: version(&program), program, commands, host: None })
            .collect()
    }
}

/// Starts `tc` in a host; it reads commands from its standard input.
pub fn spawn(host: &str) -> Result<Child> {
    let mut command = command(TC);
    if !host.is_empty() {
        command.args(["-n", host]);
    }
    command.args(["-batch", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    match command.spawn() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::Unfit(format!(
            "a command needs this machine's '{TC}', which is missing; install the package iproute2"
        ))),
        started => started.attempt(|| format!("starting {TC}")),
    }
}

fn command(program: &str) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

/// The command as a line of its standard input.
pub fn batch_line(step: &Step) -> String {
    format!("{}\n", step.operation.words()[1..].join(" "))
}
