//! Units of time, and slots and bits of the scoreboard's rings.

/// Microseconds per jiffy.
pub(super) const JIFFY_US: u64 = 1_000_000 / crate::time::HZ;

/// Microseconds in jiffies, rounded up (`usecs_to_jiffies`). They stay far below 2^63.
#[expect(clippy::manual_div_ceil, reason = "handling numbers near 2^64 costs more than the division")]
pub(super) const fn jiffies_from_us(micros: u64) -> u64 {
    (micros + (JIFFY_US - 1)) / JIFFY_US
}

/// A signed number as unsigned; negative numbers become zero.
#[expect(clippy::cast_sign_loss, reason = "negative numbers are excluded")]
pub(super) const fn unsigned(value: i64) -> u64 {
    if value < 0 { 0 } else { value as u64 }
}

/// The slot of a record's number in a ring with this mask.
#[expect(clippy::cast_possible_truncation, reason = "the mask fits a usize")]
pub(super) const fn slot(number: u64, mask: usize) -> usize {
    number as usize & mask
}

/// A slot as a link: rings have far fewer than 2^32 records.
#[expect(clippy::cast_possible_truncation, reason = "a ring of 2^32 records would take 256 GiB")]
pub(super) const fn link(slot: usize) -> u32 {
    slot as u32
}

/// The word of a bitmap that holds a slot.
pub(super) const fn word_of(slot: usize) -> usize {
    slot / 64
}

/// The slot's bit in that word.
pub(super) const fn bit_of(slot: usize) -> u64 {
    1 << (slot % 64)
}
