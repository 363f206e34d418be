//! alpha: the running share of marked packets, with what integers would lose carried on (`prague_update_alpha`).

use crate::cc::Vitals;
use crate::time::Time;

/// The share, and the round in which it is being measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alpha {
    /// Sixteen times the share, in 2⁻²⁰.
    sixteenfold: u64,
    /// The round is over when this byte has been acknowledged.
    round_end: u64,
    /// `delivered` when it began.
    delivered: u64,
    /// `delivered_ce` then.
    delivered_ce: u64,
    /// When it was last updated.
    pub updated_at: Time,
    /// Was there ever a mark? Before, no queue on the path is known to make any.
    pub saw_mark: bool,
}

impl Default for Alpha {
    /// All are marked, until it is known better.
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
    pub fn start(&mut self, vitals: &Vitals) {
        self.updated_at = vitals.now;
        self.saw_mark = vitals.delivered_ce > 0;
        self.begin_round(vitals);
    }

    /// In 2⁻²⁰.
    pub fn share(&self) -> u32 {
        u32::try_from(self.sixteenfold >> GAIN_SHIFT).unwrap_or(u32::MAX)
    }

    pub const fn is_round_over(&self, vitals: &Vitals) -> bool {
        vitals.snd_una >= self.round_end
    }

    /// A round is over: a sixteenth of its share comes in the place of a sixteenth of what was known.
    pub fn update(&mut self, vitals: &Vitals) {
        if self.saw_mark {
            let marks = vitals.delivered_ce - self.delivered_ce;
            let delivered = (vitals.delivered - self.delivered).max(1);
            let share = (marks << SHARE_BITS) / delivered;
            self.sixteenfold = (self.sixteenfold - (self.sixteenfold >> GAIN_SHIFT) + share).min(ONE << GAIN_SHIFT);
            self.updated_at = vitals.now;
        }
        self.begin_round(vitals);
    }

    const fn begin_round(&mut self, vitals: &Vitals) {
        self.round_end = vitals.snd_nxt;
        self.delivered = vitals.delivered;
        self.delivered_ce = vitals.delivered_ce;
    }
}

/// g = 1/16 (`PRAGUE_SHIFT_G`).
const GAIN_SHIFT: u32 = 4;
/// Bits behind a share's point (`PRAGUE_ALPHA_BITS`).
const SHARE_BITS: u32 = 20;
/// All are marked.
const ONE: u64 = 1 << SHARE_BITS;
