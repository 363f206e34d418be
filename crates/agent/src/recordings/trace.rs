//! Records kernel trace events (tracefs) from time zero on: `trace.txt` in the kernel's format.
//!
//! Needs a kernel with `CONFIG_EVENT_TRACING`; `dumbbell.engines.agent_engine` refuses others before the start.

use crate::error::{Attempt, Error, Result};
use nix::fcntl::OFlag;
use nix::mount::{MsFlags, mount};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const FOLDER: &str = "/sys/kernel/tracing";
/// Trace buffer size.
const BUFFER_KIB: &str = "32768";
/// Bytes per read; tracefs returns at most a page.
const BUFFER_BYTES: usize = 64 << 10;
/// Bytes per write to the host.
const PIECE_BYTES: usize = 1 << 20;

/// The open trace pipe.
pub struct Trace {
    pipe: File,
    out: File,
    pending: Vec<u8>,
}

impl Trace {
    /// Mounts tracefs and enables the events.
    pub fn open(events: &[String], folder: &Path) -> Result<Self> {
        let none: Option<&str> = None;
        mount(Some("none"), FOLDER, Some("tracefs"), MsFlags::empty(), none)
            .attempt(|| format!("mounting tracefs at {FOLDER}"))?;
        set("trace_clock", "mono")?;
        set("buffer_size_kb", BUFFER_KIB)?;
        events.iter().try_for_each(|event| switch_on(event))?;
        let pipe = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path("trace_pipe"));
        Ok(Self {
            pipe: pipe.attempt(|| "opening trace_pipe".into())?,
            out: File::create(folder.join("trace.txt")).attempt(|| "creating trace.txt".into())?,
            pending: Vec::with_capacity(2 * PIECE_BYTES),
        })
    }

    /// Reads the events since the last call.
    pub fn record(&mut self) -> Result<()> {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match self.pipe.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(length) => self.pending.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).attempt(|| "reading trace_pipe".into()),
            }
            if self.pending.len() >= PIECE_BYTES {
                self.spill()?;
            }
        }
    }

    /// Writes the remaining events; returns how many were lost.
    pub fn finish(mut self) -> Result<u64> {
        self.spill()?;
        let stats =
            fs::read_to_string(path("per_cpu/cpu0/stats")).attempt(|| "reading the trace's statistics".into())?;
        Ok(counted(&stats, "overrun") + counted(&stats, "dropped events"))
    }

    fn spill(&mut self) -> Result<()> {
        self.out.write_all(&self.pending).attempt(|| "writing trace.txt".into())?;
        self.pending.clear();
        Ok(())
    }
}

fn path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

fn set(name: &str, value: &str) -> Result<()> {
    fs::write(path(name), value).attempt(|| format!("writing {value} to {FOLDER}/{name}"))
}

fn switch_on(event: &str) -> Result<()> {
    // Append: a plain write would disable the events enabled before.
    let opened = OpenOptions::new().append(true).open(path("set_event"));
    opened.and_then(|mut file| writeln!(file, "{event}")).map_err(|error| Error::Refused {
        command: format!("--trace {event}"),
        reason: match error.kind() {
            io::ErrorKind::InvalidInput => "this kernel has no such event".into(),
            _ => error.to_string(),
        },
    })
}

fn counted(stats: &str, key: &str) -> u64 {
    let line = stats.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix(':'));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_events_are_parsed_by_name() {
        let stats = "entries: 5\noverrun: 12\ncommit overrun: 3\nbytes: 9\ndropped events: 2\nread events: 7\n";
        assert_eq!((counted(stats, "overrun"), counted(stats, "dropped events")), (12, 2));
    }
}
