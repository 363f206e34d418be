//! The SACK option (RFC 2018), kept small: every packet has room for one, and hardly any has one.
//!
//! What the blocks mean is the transport's affair.

use core::ops::Deref;

/// Most SACK blocks that fit beside timestamps (RFC 2018 section 3).
pub const MOST_SACK_BLOCKS: usize = 3;

/// The SACK option; the first block may be a DSACK (RFC 2883).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    starts: [u64; MOST_SACK_BLOCKS],
    lengths: [u32; MOST_SACK_BLOCKS],
    count: u8,
}

/// The blocks of a SACK option, each `[start, end)`.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    blocks: [(u64, u64); MOST_SACK_BLOCKS],
    count: u8,
}

impl Sack {
    /// Appends a block `[start, end)` while there is room; says whether there was. A header's sequence numbers of 32 bits
    /// can't tell of a longer one than `u32::MAX` bytes: it has no room for that.
    pub fn push(&mut self, start: u64, end: u64) -> bool {
        let place = usize::from(self.count);
        let Ok(length) = u32::try_from(end.saturating_sub(start)) else { return false };
        if place == MOST_SACK_BLOCKS {
            return false;
        }
        (self.starts[place], self.lengths[place]) = (start, length);
        self.count += 1;
        true
    }

    /// Is there no block?
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The blocks, as they stand in the header.
    #[must_use]
    pub fn blocks(&self) -> Blocks {
        let block = |place| (self.starts[place], self.starts[place] + u64::from(self.lengths[place]));
        Blocks { blocks: core::array::from_fn(block), count: self.count }
    }

    /// Bytes that the option takes, padding included.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> u32 {
        if self.is_empty() { 0 } else { 4 + 8 * u32::from(self.count) }
    }
}

impl Deref for Blocks {
    type Target = [(u64, u64)];

    fn deref(&self) -> &Self::Target {
        &self.blocks[..usize::from(self.count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_as_they_were_told_while_there_is_room() {
        let mut sack = Sack::default();
        assert!(sack.is_empty());
        let told = [(7, 9), (1 << 40, (1 << 40) + 1_448), (1, 2)];
        assert!(told.iter().all(|&(start, end)| sack.push(start, end)));
        assert!(!sack.push(3, 4));
        assert_eq!(*sack.blocks(), told);
        assert_eq!(sack.bytes(), 28);
    }

    #[test]
    fn a_block_that_no_header_could_tell_of_has_no_room() {
        let mut sack = Sack::default();
        assert!(!sack.push(0, 1 << 32));
        assert!(sack.is_empty());
        assert!(sack.push(0, (1 << 32) - 1));
    }
}
