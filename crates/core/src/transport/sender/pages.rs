//! The pages that an application's data lie in, and how they limit what goes into one skb.
//!
//! The application sends a file (`sendfile`), as the agent does: each call begins at the file's first page, and hands the
//! socket 16 pages at a time through a pipe (`splice_direct_to_actor`). An skb refers to pages and has places for 17
//! pieces of them (`skb_splice_from_iter`), so one that begins within a page, or whose data come from two calls, may be
//! full before it has as many bytes as it should.

use crate::packet::{Layout, PAGE_BYTES};
use alloc::collections::VecDeque;

/// Where the calls began whose data may still be sent.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    /// First sequence number of each call, the latest last; the first may lie before all that is asked for.
    calls: VecDeque<u64>,
}

impl Pages {
    /// A call begins at the first byte.
    pub fn new(first: u64) -> Self {
        Self { calls: VecDeque::from([first]) }
    }

    /// A call begins here; what lies before `una` was acknowledged, and nobody asks for it again.
    pub fn begin(&mut self, at: u64, una: u64) {
        while self.calls.get(1).is_some_and(|second| *second <= una) {
            self.calls.pop_front();
        }
        if self.latest() != at {
            self.calls.push_back(at);
        }
    }

    /// Bytes that can be appended at `end` to an skb that begins at `start`.
    pub fn room(&self, start: u64, end: u64) -> u64 {
        let rest = (end - self.latest()).wrapping_neg() % PAGE_BYTES;
        let pieces = self.pieces(start, end) + u64::from(start == end && rest > 0);
        rest + MOST_PIECES.saturating_sub(pieces) * PAGE_BYTES
    }

    /// Has one skb places for the bytes from `start` to `end`?
    pub fn fit(&self, start: u64, end: u64) -> bool {
        self.pieces(start, end) <= MOST_PIECES
    }

    /// Bytes of the pipe's load that have been handed over when `end` is written; 0 when a new one is due.
    pub fn handed_over(&self, end: u64) -> u64 {
        (end - self.latest()) % PIPE_BYTES
    }

    /// Bytes of the pipe's load that are left.
    pub fn left(&self, end: u64) -> u64 {
        PIPE_BYTES - self.handed_over(end)
    }

    /// Pieces of pages from `start` to `end`.
    fn pieces(&self, start: u64, end: u64) -> u64 {
        let mut pieces = 0;
        let mut until = end;
        for call in self.calls.iter().rev() {
            if until <= start {
                break;
            }
            let from = start.max(*call);
            if from < until {
                pieces += (until - call).div_ceil(PAGE_BYTES) - (from - call) / PAGE_BYTES;
                until = from;
            }
        }
        pieces
    }

    /// How the bytes from `start` to `end` lie.
    pub fn layout(&self, start: u64, end: u64) -> Layout {
        let mut turn = 0;
        for call in self.calls.iter().rev() {
            if *call <= start {
                return Layout::new(start - call, turn);
            }
            if *call < end {
                turn = call - start;
            }
        }
        Layout::new(0, turn)
    }

    fn latest(&self) -> u64 {
        self.calls.back().copied().unwrap_or_default()
    }
}

/// `PIPE_DEF_BUFFERS` pages.
const PIPE_BYTES: u64 = 16 * PAGE_BYTES;
/// `MAX_SKB_FRAGS`.
const MOST_PIECES: u64 = 17;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_skb_that_begins_within_a_page_is_full_before_it_has_seventeen_pages() {
        let pages = Pages::new(1);
        assert_eq!(pages.room(1, 1), 17 * 4_096);
        assert_eq!(pages.room(1, 1 + 65_160), 376 + 4_096, "a piece of the 16th page is open");
        assert_eq!(pages.room(65_161, 65_161), 376 + 16 * 4_096);
        assert_eq!((pages.left(65_161), pages.left(65_537), pages.handed_over(65_537)), (376, 65_536, 0));
    }

    /// Both skbs have room for what they hold, but not one of them for all of it: 12 pieces and 6.
    #[test]
    fn an_skb_takes_what_its_places_hold() {
        let mut pages = Pages::new(1);
        pages.begin(1_799_369, 1);
        pages.calls[0] = 1_278_089;
        assert_eq!(pages.pieces(1_756_425, 1_799_369), 12);
        assert!(pages.fit(1_756_425, 1_799_369 + 5 * PAGE_BYTES));
        assert!(!pages.fit(1_756_425, 1_799_369 + 22_216));
    }

    #[test]
    fn a_call_begins_a_page() {
        let mut pages = Pages::new(1);
        // The last 40,544 of 63,712 bytes: 11 pages, the first and the last in part.
        pages.begin(63_713, 1);
        assert_eq!(pages.pieces(23_169, 63_713), 11);
        assert_eq!(pages.room(23_169, 63_713), 6 * 4_096);
        assert_eq!(pages.room(23_169, 63_713 + 6 * 4_096), 0);
        assert_eq!(pages.pieces(63_712, 63_714), 2);
        assert_eq!(pages.layout(63_712, 63_714), Layout::new(63_711, 1));
        assert_eq!(pages.layout(63_713, 70_000), Layout::new(0, 0));
        pages.begin(100_000, 63_712);
        assert_eq!(pages.pieces(63_712, 63_714), 2);
        pages.begin(100_000, 63_713);
        assert_eq!(pages.calls, [63_713, 100_000]);
    }
}
