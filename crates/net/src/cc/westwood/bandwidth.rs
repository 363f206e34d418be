//! The rate of acknowledged data in bytes per jiffy, over a round trip or 50 ms, smoothed twice.
//!
//! [`super::Westwood`] uses it.

use crate::cc::SenderState;
use crate::time::HZ;

/// The bandwidth estimate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bandwidth {
    /// Bytes per jiffy, smoothed once and twice.
    once: u32,
    twice: u32,
    /// The jiffy at which the sample began.
    began: u64,
    /// Bytes since then.
    bytes: u32,
    /// `snd_una` as of the last ACK.
    una: u64,
    /// Bytes counted for duplicate ACKs, which the next cumulative ACK covers again.
    counted: u32,
    saw_ack: bool,
}

impl Bandwidth {
    /// Starts measuring.
    pub(super) fn new(tp: &SenderState) -> Self {
        Self { began: tp.now.jiffies(), una: tp.snd_una, ..Self::default() }
    }

    /// The estimate.
    pub(super) const fn bytes_per_jiffy(&self) -> u32 {
        self.twice
    }

    /// Processes an ACK; a plain one only advances.
    pub(super) fn on_ack(&mut self, tp: &SenderState, rtt: u32, is_plain: bool) {
        self.close_sample(tp, rtt);
        let advance = u32::try_from(tp.snd_una - self.una).unwrap_or(u32::MAX);
        self.una = tp.snd_una;
        let bytes = if is_plain { advance } else { self.newly_received(advance, tp.mss) };
        self.bytes = self.bytes.wrapping_add(bytes);
    }

    /// After a round trip the sample goes into the filter, with the bytes up to the last ACK.
    fn close_sample(&mut self, tp: &SenderState, rtt: u32) {
        let jiffy = tp.now.jiffies();
        if !self.saw_ack {
            self.una = tp.snd_una;
            self.saw_ack = true;
        }
        let passed = u32::try_from(jiffy - self.began).unwrap_or(u32::MAX);
        if rtt > 0 && passed > rtt.max(MIN_SAMPLE) {
            self.filter(self.bytes / passed);
            (self.bytes, self.began) = (0, jiffy);
        }
    }

    fn filter(&mut self, sample: u32) {
        if self.once == 0 && self.twice == 0 {
            (self.once, self.twice) = (sample, sample);
        } else {
            self.once = smooth(self.once, sample);
            self.twice = smooth(self.twice, self.once);
        }
    }

    /// A duplicate ACK counts as a packet that arrived; the cumulative ACK that follows covers it again
    /// (`westwood_acked_count`).
    const fn newly_received(&mut self, advance: u32, mss: u32) -> u32 {
        if advance == 0 {
            self.counted += mss;
            return mss;
        }
        if advance <= mss {
            return advance;
        }
        if self.counted >= advance {
            self.counted -= advance;
            return mss;
        }
        let new = advance - self.counted;
        self.counted = 0;
        new
    }
}

/// Seven eighths old, one eighth new.
const fn smooth(old: u32, new: u32) -> u32 {
    old.wrapping_mul(7).wrapping_add(new) >> 3
}

/// 50 ms in jiffies (`TCP_WESTWOOD_RTT_MIN`).
#[expect(clippy::cast_possible_truncation, reason = "12")]
const MIN_SAMPLE: u32 = HZ as u32 / 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ms, tp};

    /// An ACK of this many bytes at this time.
    fn ack(bandwidth: &mut Bandwidth, millis: u64, una: u64, is_plain: bool) {
        bandwidth.on_ack(&SenderState { now: ms(millis), snd_una: una, ..tp() }, 10, is_plain);
    }

    /// From 1 s: the first ACK only sets the start. 52 ms are 13 jiffies, more than 12: 13000 bytes are 1000 per jiffy;
    /// then 26000 in 13: (7000 + 2000)/8 = 1125, and (7000 + 1125)/8 = 1015.
    #[test]
    fn a_sample_takes_more_than_50_ms_and_is_smoothed_twice() {
        let mut bandwidth = Bandwidth::new(&SenderState { now: ms(1_000), ..tp() });
        ack(&mut bandwidth, 1_000, 1, true);
        ack(&mut bandwidth, 1_048, 13_001, true);
        assert_eq!(bandwidth.bytes_per_jiffy(), 0);
        ack(&mut bandwidth, 1_052, 39_001, true);
        assert_eq!((bandwidth.once, bandwidth.twice), (1_000, 1_000));
        ack(&mut bandwidth, 1_104, 39_001, true);
        assert_eq!((bandwidth.once, bandwidth.twice), (1_125, 1_015));
    }

    /// Three duplicates count three packets; the ACK of five adds the other two, a later one all of its own.
    #[test]
    fn duplicates_are_not_counted_twice() {
        let mut bandwidth = Bandwidth::new(&tp());
        let counted = [0, 0, 0, 5 * 1_448, 2 * 1_448].map(|advance| bandwidth.newly_received(advance, 1_448) / 1_448);
        assert_eq!(counted, [1, 1, 1, 2, 2]);
    }

    /// A partial ACK of fewer bytes than were counted adds one packet.
    #[test]
    fn a_partial_ack_counts_one() {
        let mut bandwidth = Bandwidth { counted: 10 * 1_448, ..Bandwidth::new(&tp()) };
        assert_eq!((bandwidth.newly_received(4 * 1_448, 1_448), bandwidth.counted), (1_448, 6 * 1_448));
    }
}
