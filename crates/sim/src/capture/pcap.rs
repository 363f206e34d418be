//! Captures the packets at one device as a pcap file with nanosecond times, readable by tcpdump and tshark.
//!
//! Only headers are stored; a record contains the original length. A super-packet is one large frame, as on Linux.
//! [`super::frame`] encodes the headers.

use super::frame::{self, Senders};
use dumbbell_net::packet::Packet;
use dumbbell_net::time::Time;
use std::fmt;
use std::io::{self, Write};

/// Writes packets as they pass.
pub struct Tap {
    out: Out,
    senders: Senders,
    /// Bytes not yet passed to the writer.
    pending: Vec<u8>,
    error: Option<io::Error>,
}

enum Out {
    Memory,
    Writer(Box<dyn Write + Send>),
}

impl Tap {
    /// Buffers everything in memory until redirected.
    pub(crate) fn new(senders: Senders) -> Self {
        Self { out: Out::Memory, senders, pending: header(), error: None }
    }

    /// Sends further bytes to `writer`.
    pub(crate) fn redirect(&mut self, writer: Box<dyn Write + Send>) -> io::Result<()> {
        self.out = Out::Writer(writer);
        self.spill(0)
    }

    /// Records a packet.
    pub(crate) fn write(&mut self, now: Time, packet: &Packet) {
        let frame = frame::build(packet, &self.senders);
        for word in [seconds(now), nanos(now), bytes(frame.len()), original_bytes(packet)] {
            self.pending.extend_from_slice(&word.to_le_bytes());
        }
        self.pending.extend_from_slice(&frame);
        if let Err(error) = self.spill(PIECE_BYTES) {
            self.error.get_or_insert(error);
        }
    }

    /// Whether writing failed.
    pub(crate) fn check(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Writes buffered bytes.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.spill(0)?;
        if let Out::Writer(writer) = &mut self.out { writer.flush() } else { Ok(()) }
    }

    /// The bytes buffered in memory.
    pub(crate) fn into_bytes(self) -> Option<Vec<u8>> {
        matches!(self.out, Out::Memory).then_some(self.pending)
    }

    fn spill(&mut self, more_than: usize) -> io::Result<()> {
        if let Out::Writer(writer) = &mut self.out
            && self.pending.len() > more_than
        {
            writer.write_all(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tap").field("pending", &self.pending.len()).finish_non_exhaustive()
    }
}

/// File header (draft-ietf-opsawg-pcap section 4).
fn header() -> Vec<u8> {
    let mut header = Vec::with_capacity(24);
    header.extend_from_slice(&MAGIC_NANOSECONDS.to_le_bytes());
    header.extend_from_slice(&2u16.to_le_bytes());
    header.extend_from_slice(&4u16.to_le_bytes());
    for word in [0, 0, SNAP_BYTES, LINKTYPE_ETHERNET] {
        header.extend_from_slice(&word.to_le_bytes());
    }
    header
}

fn seconds(now: Time) -> u32 {
    u32::try_from(now.as_nanos() / 1_000_000_000).unwrap_or(u32::MAX)
}

fn nanos(now: Time) -> u32 {
    u32::try_from(now.as_nanos() % 1_000_000_000).expect("less than a second")
}

fn bytes(len: usize) -> u32 {
    u32::try_from(len).expect("headers are short")
}

/// Length of the frame: a super-packet has its headers once, though a qdisc counts them for each segment.
fn original_bytes(packet: &Packet) -> u32 {
    frame::frame_bytes(packet)
}

/// Magic number of files with nanosecond times.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINKTYPE_ETHERNET: u32 = 1;
/// Maximum frame length that readers must expect.
const SNAP_BYTES: u32 = 262_144;
/// Bytes are passed to the writer in blocks of this size.
const PIECE_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests;
