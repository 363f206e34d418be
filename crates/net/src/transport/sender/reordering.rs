//! How far the network has reordered packets (`tcp_check_sack_reordering`).
//!
//! RACK waits longer once reordering was seen ([`super::rack`]), and with much of it the window also grows on SACKs
//! ([`super::ack`]).

use crate::number::narrow;

/// The reordering metric.
#[derive(Clone, Debug)]
pub(super) struct Reordering {
    /// Packets by which reordering may displace a segment.
    packets: u32,
    /// Number of reordering events.
    seen: u32,
}

impl Reordering {
    /// None seen.
    pub const fn new() -> Self {
        Self { packets: DEFAULT, seen: 0 }
    }

    /// Packets by which reordering may displace a segment.
    pub const fn packets(&self) -> u32 {
        self.packets
    }

    /// Number of reordering events.
    pub const fn seen(&self) -> u32 {
        self.seen
    }

    /// Is the metric above the default?
    pub const fn is_high(&self) -> bool {
        self.packets > DEFAULT
    }

    /// `lowest`, which was sent once, was delivered after something that ends at `highest`, if that is higher.
    pub fn delivered_late(&mut self, lowest: u64, highest: u64, mss: u32) {
        if lowest < highest {
            let distance = narrow((highest - lowest).div_ceil(u64::from(mss)));
            self.packets = self.packets.max(distance.min(MAXIMUM));
            self.seen += 1;
        }
    }

    /// A timeout with this many packets SACKed: at the default or above, so much arrived that reordering was
    /// overestimated (`tcp_enter_loss`).
    pub fn timed_out(&mut self, sacked: u32) {
        if sacked >= DEFAULT {
            self.packets = self.packets.min(DEFAULT);
        }
    }
}

/// `tcp_reordering`.
const DEFAULT: u32 = 3;
/// `tcp_max_reordering`.
const MAXIMUM: u32 = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        /// The metric is the longest displacement in packets, at least the default and at most the maximum.
        #[test]
        fn the_metric_is_the_longest_displacement(
            events in prop::collection::vec((2_u64..2_000_000, prop_oneof![-2_i64..3, 0_i64..400_000]), 0..20),
            mss in 100_u32..9_000,
        ) {
            let mut reordering = Reordering::new();
            let events: Vec<(u64, u64)> =
                events.iter().map(|(lowest, above)| (*lowest, lowest.saturating_add_signed(*above))).collect();
            for (lowest, highest) in &events {
                reordering.delivered_late(*lowest, *highest, mss);
            }
            let late: Vec<u64> =
                events.iter().filter(|event| event.0 < event.1).map(|event| (event.1 - event.0).div_ceil(u64::from(mss))).collect();
            let longest = late.iter().copied().max().unwrap_or(0).clamp(3, 300);
            prop_assert_eq!((u64::from(reordering.packets()), reordering.seen() as usize), (longest, late.len()));
            prop_assert_eq!(reordering.is_high(), longest > 3);
            reordering.timed_out(2);
            prop_assert_eq!(u64::from(reordering.packets()), longest);
            reordering.timed_out(3);
            prop_assert_eq!((reordering.packets(), reordering.seen() as usize), (3, late.len()));
        }
    }
}
