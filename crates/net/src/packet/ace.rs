//! The ACE field of AccECN (RFC 9768 section 3.2.2): three header bits that count marked packets.
//!
//! During the handshake the field reports how the peer's SYN arrived. [`crate::transport`] counts and interprets.

use super::Ecn;
use core::num::NonZeroU8;

/// The ACE field of a header that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ace(NonZeroU8);

impl Ace {
    /// A SYN that requests AccECN sets all three bits (section 3.1.1).
    pub const ASKS: Self = Self::counting(7);

    /// The low three bits of a count of marked packets.
    #[must_use]
    pub const fn counting(marked: u32) -> Self {
        match NonZeroU8::new(PRESENT | (marked & 7) as u8) {
            Some(bits) => Self(bits),
            None => unreachable!(),
        }
    }

    /// How a SYN arrived (section 3.1.2, table 3).
    #[must_use]
    pub const fn received(ecn: Ecn) -> Self {
        Self::counting(match ecn {
            Ecn::NotEct => 0b010,
            Ecn::Ect1 => 0b011,
            Ecn::Ect0 => 0b100,
            Ecn::Ce => 0b110,
        })
    }

    /// AE, CWR and ECE, from the highest bit.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0.get() & 7
    }
}

/// Set in every present field, so that `Option` needs no extra byte.
const PRESENT: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_has_three_bits_and_option_fits_one_byte() {
        assert_eq!(Ace::counting(13).bits(), 5);
        assert_eq!((Ace::ASKS.bits(), Ace::received(Ecn::Ce).bits(), Ace::received(Ecn::NotEct).bits()), (7, 6, 2));
        assert_eq!(size_of::<Option<Ace>>(), 1);
    }
}
