//! Random values from a string of bytes: the same bytes give the same value, fewer or smaller bytes a simpler one.
//!
//! So changing the bytes is a search (a fuzzer, a shrinking property test), and a seed is bytes, too.

/// The bytes that are left.
#[derive(Debug)]
pub struct Draw<'a> {
    bytes: &'a [u8],
    /// Keys that are not drawn.
    omitted: &'a [&'a str],
}

impl<'a> Draw<'a> {
    /// Draws from these bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, omitted: &[] }
    }

    /// The same without some keys, such as `programs`.
    #[must_use]
    pub const fn without(self, omitted: &'a [&'a str]) -> Self {
        Self { omitted, ..self }
    }

    /// Whether a key is drawn.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        !self.omitted.contains(&key)
    }

    fn byte(&mut self) -> u8 {
        self.bytes.split_off_first().copied().unwrap_or(0)
    }

    /// A number below `limit`, which is above 0; 0 when no bytes are left.
    pub fn below(&mut self, limit: u64) -> u64 {
        let mut number = 0_u64;
        let mut covered = 1_u64;
        while covered < limit {
            number = number.wrapping_mul(256).wrapping_add(u64::from(self.byte()));
            covered = covered.saturating_mul(256);
        }
        number % limit
    }

    /// One of these; the first when no bytes are left.
    ///
    /// # Panics
    ///
    /// There are none.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let index = self.below(choices.len() as u64);
        choices[usize::try_from(index).unwrap_or(0)]
    }

    /// True in one of `rarity` cases; false when no bytes are left.
    pub fn is_rare(&mut self, rarity: u64) -> bool {
        self.below(rarity) == rarity - 1
    }
}

/// Bytes of a seed (`SplitMix64`; Steele, Lea, Flood 2014).
#[must_use]
pub fn bytes_of_seed(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bytes.extend((mixed ^ (mixed >> 31)).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
