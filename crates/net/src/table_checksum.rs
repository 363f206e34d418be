//! A checksum of a table, for tests: a table that we compute is compared with Linux's without copying Linux's.

/// The sum of all entries, each times a power of 31 (modulo 2^64); the last entry's factor is 1.
pub fn table_checksum<T: Into<u64>>(entries: impl IntoIterator<Item = T>) -> u64 {
    entries.into_iter().fold(0, |sum, entry| sum.wrapping_mul(31).wrapping_add(entry.into()))
}
