//! The SACK option (RFC 2018), kept small: every packet has space for one, few have one.
//!
//! [`crate::transport`] interprets the blocks.

use core::ops::Deref;

/// Maximum SACK blocks next to timestamps (RFC 2018 section 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// The SACK option; the first block may be a DSACK (RFC 2883).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    starts: [u64; MAX_SACK_BLOCKS],
    lengths: [u32; MAX_SACK_BLOCKS],
    count: u8,
}

/// The blocks of a SACK option, each `[start, end)`.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    blocks: [(u64, u64); MAX_SACK_BLOCKS],
    count: u8,
}

impl Sack {
    /// Appends a block `[start, end)` if there is space; returns whether it did. A block longer than `u32::MAX` bytes
    /// does not fit the header's 32-bit sequence numbers.
    pub fn push(&mut self, start: u64, end: u64) -> bool {
        let index = usize::from(self.count);
        let Ok(length) = u32::try_from(end.saturating_sub(start)) else { return false };
        if index == MAX_SACK_BLOCKS {
            return false;
        }
        (self.starts[index], self.lengths[index]) = (start, length);
        self.count += 1;
        true
    }

    /// Whether there are no blocks.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The blocks in header order.
    #[must_use]
    pub fn blocks(&self) -> Blocks {
        let block = |index| (self.starts[index], self.starts[index] + u64::from(self.lengths[index]));
        Blocks { blocks: core::array::from_fn(block), count: self.count }
    }

    /// Bytes of the option, padding included.
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
    fn blocks_read_back_in_order_up_to_the_maximum() {
        let mut sack = Sack::default();
        assert!(sack.is_empty());
        let appended = [(7, 9), (1 << 40, (1 << 40) + 1_448), (1, 2)];
        assert!(appended.iter().all(|&(start, end)| sack.push(start, end)));
        assert!(!sack.push(3, 4));
        assert_eq!(*sack.blocks(), appended);
        assert_eq!(sack.bytes(), 28);
    }

    #[test]
    fn a_block_longer_than_32_bits_is_refused() {
        let mut sack = Sack::default();
        assert!(!sack.push(0, 1 << 32));
        assert!(sack.is_empty());
        assert!(sack.push(0, (1 << 32) - 1));
    }
}
