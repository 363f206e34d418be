//! The application that reads: at each segment, or rarely, as the agent's does.
//!
//! A read takes all that is in order. A rare reader sets `SO_RCVLOWAT` to a quarter of what autotuning saw in a round
//! trip (an eighth of the buffer, 1 MiB, what is left of the flow), anew at its reads number 1, 2, 4, 8 ... and each
//! 256th. What a read means to the window and to ACKs is the receiver's affair.

use super::holes::{Drained, MOST_PAGES};
use super::space::{OVERHEAD, Space};

/// An application and what waits for it.
#[derive(Debug)]
pub(super) struct Reader {
    /// Next sequence number to be read (`copied_seq`).
    pub copied: u64,
    /// Where the first waiting packet ends; autotuning looks after the first packet of a read.
    first_end: u64,
    /// Bytes that the application will read in all.
    pub expected: u64,
    /// Memory that waits.
    pub held: u32,
    /// Waiting bytes for which it wakes (`SO_RCVLOWAT`).
    lowat: u32,
    reads: u32,
    /// Page fragments of the last waiting packet.
    pages: u8,
    /// Reads each segment as it comes.
    prompt: bool,
    /// It has been woken and has not read yet.
    pub awake: bool,
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
            pages: 0,
            prompt,
            awake: false,
        }
    }

    /// Bytes that wait.
    pub fn waiting(&self, rcv_nxt: u64) -> u64 {
        rcv_nxt - self.copied
    }

    /// Does less wait than it wakes for?
    pub fn sleeps(&self, rcv_nxt: u64) -> bool {
        self.waiting(rcv_nxt) < u64::from(self.lowat)
    }

    /// A packet joins what waits: `rcv_nxt` was the end before, `end` is the new one;
    /// an `exact` one begins where the last ended.
    ///
    /// Linux joins a packet to the one before while its page fragments fit (`tcp_try_coalesce`), which saves its header.
    #[inline]
    pub fn queue(&mut self, rcv_nxt: u64, end: u64, len: u32, pages: u8, exact: bool) {
        let alone = self.copied == rcv_nxt;
        let joins = !alone && exact && self.pages + pages <= MOST_PAGES;
        if alone || (joins && self.first_end == rcv_nxt) {
            self.first_end = end;
        }
        self.pages = if joins { self.pages + pages } else { pages };
        self.held += if joins { len } else { len + OVERHEAD };
    }

    /// What was held behind a hole waits now too; one packet joins the last one like any other.
    pub fn append(&mut self, piece: Drained) {
        let joins = piece.is_one && self.pages + piece.pages <= MOST_PAGES;
        if joins && self.first_end == piece.after {
            self.first_end = piece.end;
        }
        self.pages = if joins { self.pages + piece.pages } else { piece.pages };
        self.held += if joins { piece.memory - OVERHEAD } else { piece.memory };
    }

    /// Where the first packet of the read that begins now ends.
    pub fn first_end(&self) -> u64 {
        self.first_end
    }

    /// A read takes everything.
    pub fn take_all(&mut self, rcv_nxt: u64) {
        self.copied = rcv_nxt;
        self.held = 0;
        self.reads += 1;
    }

    /// Does it set anew when to wake after this read?
    pub fn reconsiders(&self) -> bool {
        !self.prompt && (self.reads.is_power_of_two() || self.reads.is_multiple_of(256))
    }

    /// Decides when to wake; `seen` is autotuning's space, `read` what was read so far.
    pub fn reconsider(&mut self, space: &Space, seen: i64, read: u64) {
        if self.prompt {
            return;
        }
        let round_trip = u32::try_from(seen).unwrap_or(u32::MAX) / 4;
        let left = u32::try_from(self.expected.saturating_sub(read)).unwrap_or(u32::MAX);
        self.lowat = (space.rcvbuf() / 8).min(round_trip).min(MOST_UNREAD).min(left).max(1);
    }
}

/// What the agent lets wait at most.
const MOST_UNREAD: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::receiver::holes::pages;

    /// Segments of 1448 bytes join while their pages are 17 at most: here thirteen, then the next packet begins.
    #[test]
    fn waiting_segments_share_a_packet_while_their_pages_fit() {
        let mut reader = Reader::new(false);
        let mut rcv_nxt = 1;
        for _ in 0..30 {
            reader.queue(rcv_nxt, rcv_nxt + 1_448, 1_448, pages(rcv_nxt, 1_448), true);
            rcv_nxt += 1_448;
        }
        assert_eq!(reader.first_end(), 1 + 13 * 1_448);
        assert_eq!(reader.held, 30 * 1_448 + 3 * OVERHEAD);
        reader.take_all(rcv_nxt);
        assert_eq!((reader.waiting(rcv_nxt), reader.held), (0, 0));
    }

    /// A hole is filled: what lay behind it shares the packet that filled it, if it is one packet (`tcp_ofo_queue`).
    #[test]
    fn what_waited_behind_a_hole_joins_what_filled_it() {
        let mut reader = Reader::new(false);
        reader.queue(1, 1_449, 1_448, 1, true);
        let piece = Drained { after: 1_449, end: 2_897, memory: 1_448 + OVERHEAD, pages: 1, is_one: true };
        reader.append(piece);
        assert_eq!((reader.first_end(), reader.held), (2_897, 2 * 1_448 + OVERHEAD));
        reader.append(Drained { after: 2_897, end: 5_793, memory: 2_896 + 2 * OVERHEAD, pages: 1, is_one: false });
        assert_eq!((reader.first_end(), reader.held), (2_897, 4 * 1_448 + 3 * OVERHEAD));
    }
}
