//! The pages of an application's data, and how they limit the size of an skb.
//!
//! The application sends a file (`sendfile`), as the agent does: each call starts at the file's first page, and passes
//! 16 pages at a time to the socket through a pipe (`splice_direct_to_actor`). An skb has 17 fragment slots that refer
//! to parts of pages (`skb_splice_from_iter`), so one that starts within a page, or whose data come from two calls, may
//! be full before it reaches its size.

use crate::packet::{Layout, PAGE_BYTES};
use alloc::collections::VecDeque;

/// Start of the calls whose data may still be sent.
#[derive(Clone, Debug)]
pub(super) struct Fragments {
    /// First sequence number of each call, the latest last; the first may precede all data of interest.
    calls: VecDeque<u64>,
}

impl Fragments {
    /// A call starts at the first byte.
    pub fn new(first: u64) -> Self {
        Self { calls: VecDeque::from([first]) }
    }

    /// A call starts here; data before `una` was acknowledged and is no longer of interest.
    pub fn begin(&mut self, at: u64, una: u64) {
        while self.calls.get(1).is_some_and(|second| *second <= una) {
            self.calls.pop_front();
        }
        if self.latest() != at {
            self.calls.push_back(at);
        }
    }

    /// Bytes that can be appended at `end` to an skb that starts at `start`.
    pub fn free_bytes(&self, start: u64, end: u64) -> u64 {
        let rest = (end - self.latest()).wrapping_neg() % PAGE_BYTES;
        let pieces = self.pieces(start, end) + u64::from(start == end && rest > 0);
        rest + MAX_FRAGMENTS.saturating_sub(pieces) * PAGE_BYTES
    }

    /// Do the bytes from `start` to `end` fit the fragment slots of one skb?
    pub fn fit(&self, start: u64, end: u64) -> bool {
        self.pieces(start, end) <= MAX_FRAGMENTS
    }

    /// Bytes of the pipe's load already passed on when `end` is written; 0 when a new load starts.
    pub fn handed_over(&self, end: u64) -> u64 {
        (end - self.latest()) % PIPE_BYTES
    }

    /// Remaining bytes of the pipe's load.
    pub fn left(&self, end: u64) -> u64 {
        PIPE_BYTES - self.handed_over(end)
    }

    /// Page fragments from `start` to `end`.
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

    /// Layout of the bytes from `start` to `end`.
    pub fn layout(&self, start: u64, end: u64) -> Layout {
        let mut offset = 0;
        for call in self.calls.iter().rev() {
            if *call <= start {
                return Layout::new(start - call, offset);
            }
            if *call < end {
                offset = call - start;
            }
        }
        Layout::new(0, offset)
    }

    fn latest(&self) -> u64 {
        self.calls.back().copied().unwrap_or_default()
    }
}

/// `PIPE_DEF_BUFFERS` pages.
const PIPE_BYTES: u64 = 16 * PAGE_BYTES;
/// `MAX_SKB_FRAGS`.
const MAX_FRAGMENTS: u64 = 17;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_skb_that_begins_within_a_page_is_full_before_it_has_seventeen_pages() {
        let fragments = Fragments::new(1);
        assert_eq!(fragments.free_bytes(1, 1), 17 * 4_096);
        assert_eq!(fragments.free_bytes(1, 1 + 65_160), 376 + 4_096, "a part of the 16th page remains");
        assert_eq!(fragments.free_bytes(65_161, 65_161), 376 + 16 * 4_096);
        assert_eq!((fragments.left(65_161), fragments.left(65_537), fragments.handed_over(65_537)), (376, 65_536, 0));
    }

    /// Each skb has slots for its own data, but neither for all of it: 12 fragments and 6.
    #[test]
    fn an_skb_takes_what_its_slots_hold() {
        let mut fragments = Fragments::new(1);
        fragments.begin(1_799_369, 1);
        fragments.calls[0] = 1_278_089;
        assert_eq!(fragments.pieces(1_756_425, 1_799_369), 12);
        assert!(fragments.fit(1_756_425, 1_799_369 + 5 * PAGE_BYTES));
        assert!(!fragments.fit(1_756_425, 1_799_369 + 22_216));
    }

    #[test]
    fn a_call_starts_a_page() {
        let mut fragments = Fragments::new(1);
        // The last 40,544 of 63,712 bytes: 11 pages, the first and the last in part.
        fragments.begin(63_713, 1);
        assert_eq!(fragments.pieces(23_169, 63_713), 11);
        assert_eq!(fragments.free_bytes(23_169, 63_713), 6 * 4_096);
        assert_eq!(fragments.free_bytes(23_169, 63_713 + 6 * 4_096), 0);
        assert_eq!(fragments.pieces(63_712, 63_714), 2);
        assert_eq!(fragments.layout(63_712, 63_714), Layout::new(63_711, 1));
        assert_eq!(fragments.layout(63_713, 70_000), Layout::new(0, 0));
        fragments.begin(100_000, 63_712);
        assert_eq!(fragments.pieces(63_712, 63_714), 2);
        fragments.begin(100_000, 63_713);
        assert_eq!(fragments.calls, [63_713, 100_000]);
    }
}
