//! Files of the agent's records, whose layouts `crates/records` declares.

use crate::error::{Attempt, Result};
use dumbbell_records::{FlowRecord, ProbeRecord, QueueRecord};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Bytes per write to the host: fewer calls, bounded memory.
const PIECE_BYTES: usize = 1 << 20;

/// A file of records, written in large pieces.
pub struct Records {
    name: &'static str,
    file: File,
    pending: Vec<u8>,
}

impl Records {
    /// Creates the file.
    pub fn create(folder: &Path, name: &'static str) -> Result<Self> {
        let path = folder.join(name);
        let file = File::create(&path).attempt(|| format!("creating {}", path.display()))?;
        Ok(Self { name, file, pending: Vec::with_capacity(2 * PIECE_BYTES) })
    }

    /// Adds a flow's sample.
    pub fn flow(&mut self, record: &FlowRecord<'_>) -> Result<()> {
        record.put(&mut self.pending);
        self.spill(PIECE_BYTES)
    }

    /// Adds a queue's sample.
    pub fn queue(&mut self, record: &QueueRecord) -> Result<()> {
        record.put(&mut self.pending);
        self.spill(PIECE_BYTES)
    }

    /// Adds a probe.
    pub fn probe(&mut self, record: &ProbeRecord) -> Result<()> {
        record.put(&mut self.pending);
        self.spill(PIECE_BYTES)
    }

    /// Adds an encoded record.
    pub fn bytes(&mut self, record: &[u8]) -> Result<()> {
        self.pending.extend_from_slice(record);
        self.spill(PIECE_BYTES)
    }

    /// Writes the remaining bytes.
    pub fn finish(mut self) -> Result<()> {
        self.spill(1)
    }

    fn spill(&mut self, at_least: usize) -> Result<()> {
        if self.pending.len() >= at_least {
            self.file.write_all(&self.pending).attempt(|| format!("writing {}", self.name))?;
            self.pending.clear();
        }
        Ok(())
    }
}
