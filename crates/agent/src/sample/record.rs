//! Encoding and files of the records.
//!
//! Little-endian, fixed size, no uninitialised padding. `dumbbell.linux.agent_records` has the
//! same layouts as numpy types; a test there reads a run's files with both sizes.

use crate::error::{Attempt, Result};
use crate::sys::TCP_INFO_BYTES;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Bytes kept of congestion control info: `union tcp_cc_info` has 20.
pub const CC_INFO_BYTES: usize = 32;
/// Bytes kept of a qdisc's own statistics; the longest decoded one has 40.
pub const XSTATS_BYTES: usize = 64;
/// Bytes per write to the host: fewer calls, bounded memory.
const PIECE_BYTES: usize = 1 << 20;

/// One flow at one instant.
pub struct FlowSample<'a> {
    /// Since the experiment's start.
    pub time_ns: u64,
    /// Index in the plan.
    pub flow: u32,
    /// The sender's `struct tcp_info`, or its counters for UDP.
    pub sender: &'a [u8],
    /// Type of congestion control info: the netlink attribute's number, or 0.
    pub cc_kind: u16,
    /// The congestion control info.
    pub cc_info: &'a [u8],
    /// Bytes received in order.
    pub bytes_received: u64,
    /// The receiver's `rcv_space`.
    pub rcv_space: u32,
}

/// One queue at one instant.
pub struct QueueSample<'a> {
    /// Since the experiment's start.
    pub time_ns: u64,
    /// Index in the list of queues found.
    pub queue: u32,
    /// `qlen`, `backlog`, `drops`, `requeues`, `overlimits`.
    pub counts: [u32; 5],
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// The qdisc's own statistics.
    pub xstats: &'a [u8],
}

/// The times of one probe; `u64::MAX` if it did not arrive.
pub struct ProbeSample {
    /// Index in the plan.
    pub probe: u32,
    /// Sequence number.
    pub sequence: u32,
    /// When it was sent, since the experiment's start.
    pub sent_ns: u64,
    /// When it arrived at the receiver.
    pub arrived_ns: u64,
    /// When its answer arrived.
    pub answered_ns: u64,
}

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

    /// Adds a probe.
    pub fn probe(&mut self, sample: &ProbeSample) -> Result<()> {
        self.put(&sample.probe.to_le_bytes());
        self.put(&sample.sequence.to_le_bytes());
        for time in [sample.sent_ns, sample.arrived_ns, sample.answered_ns] {
            self.put(&time.to_le_bytes());
        }
        self.spill(PIECE_BYTES)
    }

    /// Adds an encoded record.
    pub fn bytes(&mut self, record: &[u8]) -> Result<()> {
        self.put(record);
        self.spill(PIECE_BYTES)
    }

    /// Writes the remaining bytes.
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
