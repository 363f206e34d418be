//! A bitmap, least significant bit first, as Arrow stores validity.

/// A growing bitmap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    /// This many equal bits.
    #[must_use]
    pub fn repeat(bit: bool, len: usize) -> Self {
        let mut bytes = vec![if bit { 0xff } else { 0 }; len.div_ceil(8)];
        if let (Some(last), true) = (bytes.last_mut(), bit && !len.is_multiple_of(8)) {
            *last = (1 << (len % 8)) - 1;
        }
        Self { bytes, len }
    }

    /// Appends a bit.
    pub fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(8) {
            self.bytes.push(0);
        }
        self.bytes[self.len / 8] |= u8::from(bit) << (self.len % 8);
        self.len += 1;
    }

    /// The bit at an index.
    ///
    /// # Panics
    ///
    /// If the index is out of range.
    #[must_use]
    pub fn get(&self, at: usize) -> bool {
        assert!(at < self.len, "bit {at} of {}", self.len);
        self.bytes[at / 8] >> (at % 8) & 1 == 1
    }

    /// Number of bits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes; unused bits of the last are zero.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, moved out.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Allocated bytes.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_read_back(ones in 0usize..20, more in prop::collection::vec(any::<bool>(), 0..40)) {
            let mut bits = Bits::repeat(true, ones);
            for &bit in &more {
                bits.push(bit);
            }
            let all: Vec<_> = std::iter::repeat_n(true, ones).chain(more).collect();
            prop_assert_eq!(bits.len(), all.len());
            prop_assert_eq!((0..bits.len()).map(|at| bits.get(at)).collect::<Vec<_>>(), all.clone());
            prop_assert_eq!(bits.as_bytes().len(), all.len().div_ceil(8));
        }
    }
}
