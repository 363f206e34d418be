//! How a payload lies on its sender's pages: the receiver's host gets the same pieces, and joins packets while their
//! pieces fit (Linux `skb_try_coalesce`). Where the pages begin is [`crate::transport`]'s.

/// Where a payload begins in its first page, and where it begins a page anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of the first page before it.
    offset: u16,
    /// Bytes after which a new call of the application goes on with a page of its own; 0 for none. Of several such
    /// places the first is kept.
    turn: u16,
}

impl Layout {
    /// Of a payload that begins `offset` bytes behind the first byte of some page; `turn` as above.
    #[must_use]
    pub fn new(offset: u64, turn: u64) -> Self {
        Self { offset: short(offset % PAGE_BYTES), turn: short(turn) }
    }

    /// How the part lies that begins after `skipped` bytes.
    #[must_use]
    pub fn behind(self, skipped: u32) -> Self {
        let (skipped, turn) = (u64::from(skipped), u64::from(self.turn));
        if turn > 0 && skipped >= turn {
            return Self::new(skipped - turn, 0);
        }
        Self::new(u64::from(self.offset) + skipped, turn.saturating_sub(skipped))
    }

    /// On how many pieces of pages the first `len` bytes lie.
    #[must_use]
    pub fn pieces(self, len: u32) -> u8 {
        let (len, turn) = (u64::from(len), u64::from(self.turn));
        let first = if turn > 0 { len.min(turn) } else { len };
        let pieces = (u64::from(self.offset) + first).div_ceil(PAGE_BYTES) + (len - first).div_ceil(PAGE_BYTES);
        u8::try_from(pieces).unwrap_or(u8::MAX >> 1)
    }
}

fn short(bytes: u64) -> u16 {
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

/// `PAGE_SIZE`.
pub const PAGE_BYTES: u64 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_lies_on_the_pages_that_it_touches() {
        assert_eq!(Layout::new(0, 0).pieces(4_096), 1);
        assert_eq!(Layout::new(0, 0).pieces(4_097), 2);
        assert_eq!(Layout::new(4_000, 0).pieces(1_448), 2);
        // 96 bytes on the first page, then a call that begins with a page.
        assert_eq!(Layout::new(4_000, 96).pieces(1_448), 2);
        assert_eq!(Layout::new(0, 96).pieces(1_448), 2);
    }

    proptest::proptest! {
        #[test]
        fn parts_lie_as_the_whole_does(offset in 0_u64..4_096, turn in 0_u64..8_000, at in 0_u32..8_000) {
            let (whole, part) = (Layout::new(offset, turn), Layout::new(offset, turn).behind(at));
            for len in [1, 500, 1_448, 5_000] {
                // The two parts share at most the page on which the second begins.
                let split = whole.pieces(at) + part.pieces(len);
                proptest::prop_assert!((0..=1).contains(&(split - whole.pieces(at + len))));
            }
        }
    }
}
