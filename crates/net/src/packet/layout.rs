//! Layout of a payload on its sender's pages. The receiving host gets the same fragments and coalesces packets while
//! the fragments fit (Linux `skb_try_coalesce`). [`crate::transport`] decides where pages begin.

/// Page offsets of a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of the first page before the payload.
    offset: u16,
    /// Bytes after which a new write of the application starts on its own page; 0 if none does. If several do, the
    /// first is kept.
    write_offset: u16,
}

impl Layout {
    /// Layout of a payload that begins `offset` bytes after some page boundary; `write_offset` as above.
    #[must_use]
    pub fn new(offset: u64, write_offset: u64) -> Self {
        Self { offset: short(offset % PAGE_BYTES), write_offset: short(write_offset) }
    }

    /// Layout of the remainder after `skipped` bytes.
    #[must_use]
    pub fn after(self, skipped: u32) -> Self {
        let (skipped, write_offset) = (u64::from(skipped), u64::from(self.write_offset));
        if write_offset > 0 && skipped >= write_offset {
            return Self::new(skipped - write_offset, 0);
        }
        Self::new(u64::from(self.offset) + skipped, write_offset.saturating_sub(skipped))
    }

    /// Number of page fragments that the first `len` bytes occupy.
    #[must_use]
    pub fn pieces(self, len: u32) -> u8 {
        let (len, write_offset) = (u64::from(len), u64::from(self.write_offset));
        let first = if write_offset > 0 { len.min(write_offset) } else { len };
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
    fn a_payload_occupies_the_pages_it_touches() {
        assert_eq!(Layout::new(0, 0).pieces(4_096), 1);
        assert_eq!(Layout::new(0, 0).pieces(4_097), 2);
        assert_eq!(Layout::new(4_000, 0).pieces(1_448), 2);
        // 96 bytes on the first page, then a write that starts on a new page.
        assert_eq!(Layout::new(4_000, 96).pieces(1_448), 2);
        assert_eq!(Layout::new(0, 96).pieces(1_448), 2);
    }

    proptest::proptest! {
        #[test]
        fn a_split_layout_matches_the_original(offset in 0_u64..4_096, write_offset in 0_u64..8_000, at in 0_u32..8_000) {
            let (full, rest) = (Layout::new(offset, write_offset), Layout::new(offset, write_offset).after(at));
            for len in [1, 500, 1_448, 5_000] {
                // The two parts share at most the page at which the second begins.
                let split = full.pieces(at) + rest.pieces(len);
                proptest::prop_assert!((0..=1).contains(&(split - full.pieces(at + len))));
            }
        }
    }
}
