//! The reading application: reads each segment, or infrequently, as the agent's does.
//!
//! A read takes everything in order. An infrequent reader sets `SO_RCVLOWAT` to a quarter of autotuning's bytes per
//! round trip (limits: an eighth of the buffer, 1 MiB, the rest of the flow), and repeats this at reads 1, 2, 4, 8 ...
//! and every 256th. The receiver handles a read's effect on window and ACKs.

use super::holes::Packet;
use super::space::Space;

/// The application and its unread data.
#[derive(Debug)]
pub(super) struct Reader {
    /// Next sequence number to be read (`copied_seq`).
    pub copied: u64,
    /// End of the first unread packet; autotuning runs after the first packet of a read.
    first_end: u64,
    /// Bytes that the application will read in total.
    pub expected: u64,
    /// Memory of unread data.
    pub held: u32,
    /// Unread bytes that wake it (`SO_RCVLOWAT`).
    lowat: u32,
    reads: u32,
    /// The last unread packet.
    last: Packet,
    /// Reads each segment as it arrives.
    prompt: bool,
    state: State,
}

/// Does it run?
///
/// ```text
///   Asleep --enough data--> Woken --take_request--> Scheduled --read--> Asleep
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asleep,
    Woken,
    Scheduled,
}

impl Reader {
    pub const fn new(prompt: bool) -> Self {
        Self {
            copied: 1,
            first_end: 1,
            expected: u64::MAX,
            held: 0,
            lowat: 1,
            reads: 0,
            last: Packet { start: 1, end: 1, memory: 0, pages: 0 },
            prompt,
            state: State::Asleep,
        }
    }

    /// Enough data have arrived.
    pub fn wake(&mut self) {
        if self.state == State::Asleep {
            self.state = State::Woken;
        }
    }

    /// Was it woken, and has not read since?
    pub fn is_awake(&self) -> bool {
        self.state != State::Asleep
    }

    /// True once after it was woken.
    #[inline]
    pub fn take_request(&mut self) -> bool {
        let is_new = self.state == State::Woken;
        if is_new {
            self.state = State::Scheduled;
        }
        is_new
    }

    /// It waits for more data.
    pub fn sleep(&mut self) {
        self.state = State::Asleep;
    }

    /// Unread bytes.
    pub fn waiting(&self, rcv_nxt: u64) -> u64 {
        rcv_nxt - self.copied
    }

    /// Are there fewer unread bytes than it wakes for?
    pub fn sleeps(&self, rcv_nxt: u64) -> bool {
        self.waiting(rcv_nxt) < u64::from(self.lowat)
    }

    /// Queues a packet, from the network or from behind a hole (`tcp_queue_rcv`).
    #[inline]
    pub fn queue(&mut self, packet: Packet) {
        let (alone, is_first) = (self.held == 0, self.first_end == self.last.end);
        let before = self.last.memory;
        if !alone && self.last.merge(&packet) {
            self.held += self.last.memory - before;
            if is_first {
                self.first_end = packet.end;
            }
            return;
        }
        self.held += packet.memory;
        self.last = packet;
        if alone {
            self.first_end = packet.end;
        }
    }

    /// End of the first packet of the read that starts now.
    pub fn first_end(&self) -> u64 {
        self.first_end
    }

    /// Reads everything.
    pub fn take_all(&mut self, rcv_nxt: u64) {
        self.copied = rcv_nxt;
        self.held = 0;
        self.reads += 1;
    }

    /// Does it set `SO_RCVLOWAT` again after this read?
    pub fn reconsiders(&self) -> bool {
        !self.prompt && (self.reads.is_power_of_two() || self.reads.is_multiple_of(256))
    }

    /// Sets `SO_RCVLOWAT`; `seen` is autotuning's space, `read` the bytes read so far.
    pub fn reconsider(&mut self, space: &Space, seen: i64, read: u64) {
        if self.prompt {
            return;
        }
        let round_trip = u32::try_from(seen).unwrap_or(u32::MAX) / 4;
        let left = u32::try_from(self.expected.saturating_sub(read)).unwrap_or(u32::MAX);
        self.lowat = (space.rcvbuf() / 8).min(round_trip).min(MAX_UNREAD).min(left).max(1);
    }
}

/// The agent's maximum of unread bytes.
const MAX_UNREAD: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::receiver::holes::pages;
    use crate::transport::receiver::space::OVERHEAD;

    fn packet(start: u64, len: u32) -> Packet {
        Packet { start, end: start + u64::from(len), memory: len + OVERHEAD, pages: pages(start, len) }
    }

    /// Segments of 1448 bytes are merged while they have at most 17 page fragments: here thirteen, then the next packet
    /// begins.
    #[test]
    fn unread_segments_share_a_packet_while_their_pages_fit() {
        let mut reader = Reader::new(false);
        let mut rcv_nxt = 1;
        for _ in 0..30 {
            reader.queue(packet(rcv_nxt, 1_448));
            rcv_nxt += 1_448;
        }
        assert_eq!(reader.first_end(), 1 + 13 * 1_448);
        assert_eq!(reader.held, 30 * 1_448 + 3 * OVERHEAD);
        reader.take_all(rcv_nxt);
        assert_eq!((reader.waiting(rcv_nxt), reader.held), (0, 0));
    }

    /// A hole is filled: a packet behind it joins the packet that filled it, if their pages fit (`tcp_ofo_queue`).
    #[test]
    fn data_behind_a_hole_is_merged_with_the_packet_that_fills_it() {
        let mut reader = Reader::new(false);
        reader.queue(packet(1, 1_448));
        reader.queue(packet(1_449, 1_448));
        assert_eq!((reader.first_end(), reader.held), (2_897, 2 * 1_448 + OVERHEAD));
        let full = Packet { start: 2_897, end: 20_001, memory: 17_104 + OVERHEAD, pages: 16 };
        reader.queue(full);
        assert_eq!((reader.first_end(), reader.held), (2_897, 20_000 + 2 * OVERHEAD));
    }
}
