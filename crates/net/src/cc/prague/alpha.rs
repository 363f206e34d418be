//! alpha: the moving average of the share of marked packets, with rounding remainders carried over
//! (`prague_update_alpha`).

use crate::cc::SenderState;
use crate::time::Time;

/// The share, and the round in which it is being measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alpha {
    /// Sixteen times the share, in 2⁻²⁰.
    sixteenfold: u64,
    /// The round ends when this byte has been acknowledged.
    round_end: u64,
    /// `delivered` at the start of the round.
    delivered: u64,
    /// `delivered_ce` at the start of the round.
    delivered_ce: u64,
    /// Time of the last update.
    pub updated_at: Time,
    /// Was there ever a mark? Before the first, no queue on the path is known to mark.
    pub saw_mark: bool,
}

impl Default for Alpha {
    /// Starts at 1.
    fn default() -> Self {
        Self {
            sixteenfold: ONE << GAIN_SHIFT,
            round_end: 0,
            delivered: 0,
            delivered_ce: 0,
            updated_at: Time::ZERO,
            saw_mark: false,
        }
    }
}

impl Alpha {
    /// The connection is established.
    pub fn init(&mut self, tp: &SenderState) {
        self.updated_at = tp.now;
        self.saw_mark = tp.delivered_ce > 0;
        self.begin_round(tp);
    }

    /// In 2⁻²⁰.
    pub fn share(&self) -> u32 {
        u32::try_from(self.sixteenfold >> GAIN_SHIFT).unwrap_or(u32::MAX)
    }

    pub const fn is_round_over(&self, tp: &SenderState) -> bool {
        tp.snd_una >= self.round_end
    }

    /// Updates at the end of a round: replaces a sixteenth of the share by a sixteenth of the round's.
    pub fn update(&mut self, tp: &SenderState) {
        if self.saw_mark {
            let marks = tp.delivered_ce - self.delivered_ce;
            let delivered = (tp.delivered - self.delivered).max(1);
            let share = (marks << SHARE_BITS) / delivered;
            self.sixteenfold = (self.sixteenfold - (self.sixteenfold >> GAIN_SHIFT) + share).min(ONE << GAIN_SHIFT);
            self.updated_at = tp.now;
        }
        self.begin_round(tp);
    }

    const fn begin_round(&mut self, tp: &SenderState) {
        self.round_end = tp.snd_nxt;
        self.delivered = tp.delivered;
        self.delivered_ce = tp.delivered_ce;
    }
}

/// g = 1/16 (`PRAGUE_SHIFT_G`).
const GAIN_SHIFT: u32 = 4;
/// Fractional bits of a share (`PRAGUE_ALPHA_BITS`).
const SHARE_BITS: u32 = 20;
/// A share of 1.
const ONE: u64 = 1 << SHARE_BITS;
