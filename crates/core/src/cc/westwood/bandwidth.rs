//! The rate at which data is acknowledged: bytes a jiffy, over a round trip or 50 ms, smoothed twice.
//!
//! What is made of it is [`super::Westwood`]'s.

use crate::cc::Vitals;
use crate::time::HZ;

/// The estimate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bandwidth {
    /// Bytes a jiffy, smoothed once and twice.
    once: u32,
    twice: u32,
    /// The jiffy at which the sample began.
    began: u64,
    /// Bytes since then.
    bytes: u32,
    /// `snd_una` as of the last ACK.
    una: u64,
    /// Bytes that duplicates were counted for, which the next cumulative ACK tells of again.
    counted: u32,
    saw_ack: bool,
}

impl Bandwidth {
    /// Begins now.
    pub(super) fn new(vitals: &Vitals) -> Self {
        Self { began: vitals.now.jiffies(), una: vitals.snd_una, ..Self::default() }
    }

    /// The estimate.
    pub(super) const fn bytes_a_jiffy(&self) -> u32 {
        self.twice
    }

    /// An ACK came; a plain one says nothing but how far.
    pub(super) fn on_ack(&mut self, vitals: &Vitals, rtt: u32, is_plain: bool) {
        self.close_sample(vitals, rtt);
        let advance = u32::try_from(vitals.snd_una - self.una).unwrap_or(u32::MAX);
        self.una = vitals.snd_una;
        let bytes = if is_plain { advance } else { self.newly_received(advance, vitals.mss) };
        self.bytes = self.bytes.wrapping_add(bytes);
    }

    /// After a round trip the sample goes into the filter, with the bytes up to the last ACK.
    fn close_sample(&mut self, vitals: &Vitals, rtt: u32) {
        let jiffy = vitals.now.jiffies();
        if !self.saw_ack {
            self.una = vitals.snd_una;
            self.saw_ack = true;
        }
        let passed = u32::try_from(jiffy - self.began).unwrap_or(u32::MAX);
        if rtt > 0 && passed > rtt.max(LEAST_SAMPLE) {
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

    /// A duplicate stands for a packet that arrived; the cumulative ACK that follows tells of it again
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
const LEAST_SAMPLE: u32 = HZ as u32 / 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ms, vitals};

    /// An ACK of this many bytes at this time.
    fn ack(bandwidth: &mut Bandwidth, millis: u64, una: u64, is_plain: bool) {
        bandwidth.on_ack(&Vitals { now: ms(millis), snd_una: una, ..vitals() }, 10, is_plain);
    }

    /// From 1 s: the first ACK only sets the start. 52 ms are 13 jiffies, more than 12: 13000 bytes are 1000 a jiffy; then 26000 in
    /// 13: (7000 + 2000)/8 = 1125, and (7000 + 1125)/8 = 1015.
    #[test]
    fn a_sample_takes_more_than_50_ms_and_is_smoothed_twice() {
        let mut bandwidth = Bandwidth::new(&Vitals { now: ms(1_000), ..vitals() });
        ack(&mut bandwidth, 1_000, 1, true);
        ack(&mut bandwidth, 1_048, 13_001, true);
        assert_eq!(bandwidth.bytes_a_jiffy(), 0);
        ack(&mut bandwidth, 1_052, 39_001, true);
        assert_eq!((bandwidth.once, bandwidth.twice), (1_000, 1_000));
        ack(&mut bandwidth, 1_104, 39_001, true);
        assert_eq!((bandwidth.once, bandwidth.twice), (1_125, 1_015));
    }

    /// Three duplicates count three packets; the ACK of five brings the other two, a later one all of its own.
    #[test]
    fn duplicates_are_not_counted_twice() {
        let mut bandwidth = Bandwidth::new(&vitals());
        let counted = [0, 0, 0, 5 * 1_448, 2 * 1_448].map(|advance| bandwidth.newly_received(advance, 1_448) / 1_448);
        assert_eq!(counted, [1, 1, 1, 2, 2]);
    }

    /// A partial ACK of less than was counted stands for one packet.
    #[test]
    fn a_partial_ack_counts_one() {
        let mut bandwidth = Bandwidth { counted: 10 * 1_448, ..Bandwidth::new(&vitals()) };
        assert_eq!((bandwidth.newly_received(4 * 1_448, 1_448), bandwidth.counted), (1_448, 6 * 1_448));
    }
}
