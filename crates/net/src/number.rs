//! Conversions between integer widths, each with the reason why nothing is lost.

/// Saturates at 32 bits.
pub(crate) const fn narrow(value: u64) -> u32 {
    if value > u32::MAX as u64 { u32::MAX } else { low(value) }
}

/// The low half: for values of checked width, or where wrapping is intended.
#[expect(clippy::cast_possible_truncation, reason = "only the low half is used")]
pub(crate) const fn low(value: u64) -> u32 {
    value as u32
}

/// The high half.
pub(crate) const fn high(value: u64) -> u32 {
    (value >> 32) as u32
}
