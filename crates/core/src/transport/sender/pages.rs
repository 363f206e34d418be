//! The pages that an skb shares with the application's file: when there are too many, it is closed early.
//!
//! The agent writes by `sendfile`: each call begins at the file's first page, and the socket takes pages, not copies
//! (`skb_splice_from_iter`). An skb holds 17 pieces of pages (`MAX_SKB_FRAGS`), and one that is continued by a new call
//! has one more begun page than its length needs. What is in the socket is [`super::supply`]'s affair.

use alloc::vec::Vec;

/// Where the calls began whose bytes may still be sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    calls: Vec<u64>,
}

impl Pages {
    /// A call begins with the byte of this number; nobody will ask for those below `una`.
    pub fn begin(&mut self, at: u64, una: u64) {
        let passed = self.calls.iter().skip(1).take_while(|next| **next <= una).count();
        self.calls.drain(..passed);
        if self.calls.last() != Some(&at) {
            self.calls.push(at);
        }
    }

    /// How many bytes more an skb takes that lies from `start` to `end`.
    pub fn room(&self, start: u64, end: u64) -> u64 {
        let call = self.calls.last().copied().unwrap_or(start);
        // A piece goes on to the end of its page (`skb_can_coalesce`).
        let begun = if end > start.max(call) { (end - call).next_multiple_of(PAGE_BYTES) - (end - call) } else { 0 };
        MOST_PIECES.saturating_sub(self.pieces(start, end)) * PAGE_BYTES + begun
    }

    /// On how many pieces of pages the bytes from `start` to `end` lie.
    #[inline]
    pub fn pieces(&self, start: u64, end: u64) -> u64 {
        let (mut pieces, mut until) = (0, end);
        for &call in self.calls.iter().rev() {
            if call <= start {
                return pieces + within(call, start, until);
            }
            if call < until {
                pieces += within(call, call, until);
                until = call;
            }
        }
        pieces
    }
}

/// The same inside of one call.
const fn within(call: u64, start: u64, end: u64) -> u64 {
    if start < end { (end - call).div_ceil(PAGE_BYTES) - (start - call) / PAGE_BYTES } else { 0 }
}

/// `PAGE_SIZE`.
const PAGE_BYTES: u64 = 4_096;
/// `MAX_SKB_FRAGS`.
const MOST_PIECES: u64 = 17;

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured in a guest: a tail of 11,584 bytes in four pages took 13 pages more, not the 53,576 bytes that lacked.
    #[test]
    fn an_skb_that_a_new_call_goes_on_with_is_closed_by_its_pages() {
        let mut pages = Pages::default();
        pages.begin(1, 1);
        pages.begin(1 + 3 * 65_160, 1);
        let tail = 1 + 3 * 65_160 - 11_584;
        assert_eq!(pages.pieces(tail, tail + 11_584), 4);
        assert_eq!(pages.room(tail, tail + 11_584), 13 * 4_096);
        assert_eq!(pages.room(tail, tail + 11_584 + 50_000), 13 * 4_096 - 50_000);
    }

    /// Whatever page an skb of 65,160 bytes begins in, 17 pieces hold it.
    #[test]
    fn an_skb_of_one_call_is_closed_by_its_size() {
        let mut pages = Pages::default();
        pages.begin(1, 1);
        for start in (1..200_000).step_by(1_448) {
            assert!(pages.room(start, start) >= 65_160);
        }
    }
}
