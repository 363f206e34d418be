//! The ACE field of AccECN (RFC 9768 section 3.2.2): three bits of a TCP header that count marked packets.
//!
//! In the handshake it says how the other side's SYN arrived instead. What is counted, and what follows from it, is
//! [`crate::transport`]'s.

use super::Ecn;
use core::num::NonZeroU8;

/// The field, in a header that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ace(NonZeroU8);

impl Ace {
    /// A SYN that asks for AccECN has all three bits set (section 3.1.1).
    pub const ASKS: Self = Self::counting(7);

    /// The lowest three bits of a count of marked packets.
    #[must_use]
    pub const fn counting(marked: u32) -> Self {
        match NonZeroU8::new(PRESENT | (marked & 7) as u8) {
            Some(bits) => Self(bits),
            None => unreachable!(),
        }
    }

    /// How a SYN arrived (section 3.1.2, table 3).
    #[must_use]
    pub const fn heard(ecn: Ecn) -> Self {
        Self::counting(match ecn {
            Ecn::NotEct => 0b010,
            Ecn::Ect1 => 0b011,
            Ecn::Ect0 => 0b100,
            Ecn::Ce => 0b110,
        })
    }

    /// AE, CWR and ECE, from the highest bit down.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0.get() & 7
    }
}

/// Set in every field that is there, so that none takes no room.
const PRESENT: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_three_bits_and_costs_one_byte() {
        assert_eq!(Ace::counting(13).bits(), 5);
        assert_eq!((Ace::ASKS.bits(), Ace::heard(Ecn::Ce).bits(), Ace::heard(Ecn::NotEct).bits()), (7, 6, 2));
        assert_eq!(size_of::<Option<Ace>>(), 1);
    }
}
