//! The records' bytes, and the files that they go to.
//!
//! Little-endian, fixed size, no padding that isn't written. `dumbbell.engine.decode` has the
//! same layouts as numpy types; a test there reads a run's files with both sizes.

use crate::error::{Attempt, Result};
use crate::sys::TCP_INFO_BYTES;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Bytes kept of a controller's own info: `union tcp_cc_info` has 20.
pub const CC_INFO_BYTES: usize = 32;
/// Bytes kept of a qdisc's own statistics; the longest that is decoded has 40.
pub const XSTATS_BYTES: usize = 64;
/// Written to the host in pieces of this size: a call costs, memory is bounded.
const PIECE_BYTES: usize = 1 << 20;

/// One flow at one instant.
pub struct FlowSample<'a> {
    /// Since the experiment's start.
    pub time_ns: u64,
    /// Position in the plan.
    pub flow: u32,
    /// The sender's `struct tcp_info`, or its counters for UDP.
    pub sender: &'a [u8],
    /// Which controller info follows: the netlink attribute's number, or 0.
    pub cc_kind: u16,
    /// The controller's own info.
    pub cc_info: &'a [u8],
    /// In-order bytes at the receiver.
    pub bytes_received: u64,
    /// The receiver's `rcv_space`.
    pub rcv_space: u32,
}

/// One queue at one instant.
pub struct QueueSample<'a> {
    /// Since the experiment's start.
    pub time_ns: u64,
    /// Position in the list of queues found.
    pub queue: u32,
    /// `qlen`, `backlog`, `drops`, `requeues`, `overlimits`.
    pub counts: [u32; 5],
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// The discipline's own statistics.
    pub xstats: &'a [u8],
}

/// One probe's fate; a time of `u64::MAX` never came.
pub struct ProbeSample {
    /// Position in the plan.
    pub probe: u32,
    /// Its number.
    pub sequence: u32,
    /// When it was sent, since the experiment's start.
    pub sent_ns: u64,
    /// When it arrived at the receiver.
    pub arrived_ns: u64,
    /// When its answer came back.
    pub answered_ns: u64,
}

/// A file of records, written in large pieces.
pub struct Records {
    name: &'static str,
    file: File,
    pending: Vec<u8>,
}

impl Records {
    /// Makes the file.
    pub fn create(folder: &Path, name: &'static str) -> Result<Self> {
        let path = folder.join(name);
        let file = File::create(&path).attempt(|| format!("making {}", path.display()))?;
        Ok(Self { name, file, pending: Vec::with_capacity(2 * PIECE_BYTES) })
    }

    /// Adds a flow's sample.
    pub fn flow(&mut self, sample: &FlowSample<'_>) -> Result<()> {
        self.put(&sample.time_ns.to_le_bytes());
        self.put(&sample.flow.to_le_bytes());
        self.put(&u16::try_from(sample.sender.len().min(TCP_INFO_BYTES)).expect("256 fits").to_le_bytes());
        self.put(&sample.cc_kind.to_le_bytes());
        self.put(&sample.bytes_received.to_le_bytes());
        self.put(&sample.rcv_space.to_le_bytes());
        self.put(&[0; 4]);
        self.put_exactly(sample.cc_info, CC_INFO_BYTES);
        self.put_exactly(sample.sender, TCP_INFO_BYTES);
        self.spill(PIECE_BYTES)
    }

    /// Adds a queue's sample.
    pub fn queue(&mut self, sample: &QueueSample<'_>) -> Result<()> {
        self.put(&sample.time_ns.to_le_bytes());
        self.put(&sample.queue.to_le_bytes());
        for count in sample.counts {
            self.put(&count.to_le_bytes());
        }
        self.put(&sample.sent_bytes.to_le_bytes());
        self.put(&sample.sent_packets.to_le_bytes());
        self.put_exactly(sample.xstats, XSTATS_BYTES);
        self.spill(PIECE_BYTES)
    }

    /// Adds a probe's fate.
    pub fn probe(&mut self, sample: &ProbeSample) -> Result<()> {
        self.put(&sample.probe.to_le_bytes());
        self.put(&sample.sequence.to_le_bytes());
        for time in [sample.sent_ns, sample.arrived_ns, sample.answered_ns] {
            self.put(&time.to_le_bytes());
        }
        self.spill(PIECE_BYTES)
    }

    /// Adds bytes that are a record already.
    pub fn bytes(&mut self, record: &[u8]) -> Result<()> {
        self.put(record);
        self.spill(PIECE_BYTES)
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Result<()> {
        self.spill(1)
    }

    fn put(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    fn put_exactly(&mut self, bytes: &[u8], size: usize) {
        let kept = &bytes[..bytes.len().min(size)];
        self.put(kept);
        self.pending.resize(self.pending.len() + size - kept.len(), 0);
    }

    fn spill(&mut self, at_least: usize) -> Result<()> {
        if self.pending.len() >= at_least {
            self.file.write_all(&self.pending).attempt(|| format!("writing {}", self.name))?;
            self.pending.clear();
        }
        Ok(())
    }
}
