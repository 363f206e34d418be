//! A flow's throughput in packets per second, measured per round trip and smoothed, and its maximum since the last
//! loss.
//!
//! [`super::Htcp`] defines the rounds.

use crate::time::HZ;

/// In packets per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Throughput {
    /// Packets since the start of the measurement.
    packets: u32,
    /// The jiffy of the start.
    began: u64,
    smoothed: u32,
    maximum: u32,
    /// The maximum before the last loss.
    pub(super) old_max: u32,
}

impl Throughput {
    /// Starts a measurement.
    pub(super) const fn begin(&mut self, jiffy: u64) {
        (self.packets, self.began) = (0, jiffy);
    }

    /// Counts packets; returns whether the round is over, by packets and by time.
    pub(super) fn is_over(&mut self, acked: u32, round: u32, jiffy: u64, min_rtt: u32) -> bool {
        self.packets = self.packets.wrapping_add(acked);
        min_rtt > 0 && self.packets >= round && jiffy - self.began >= u64::from(min_rtt)
    }

    /// Adds the round's rate; just after a loss it replaces the average.
    pub(super) fn take(&mut self, jiffy: u64, is_first: bool) {
        let passed = jiffy - self.began;
        let now = u32::try_from(u64::from(self.packets) * HZ / passed).unwrap_or(u32::MAX);
        if is_first {
            (self.smoothed, self.maximum) = (now, now);
        } else {
            self.smoothed = self.smoothed.wrapping_mul(3).wrapping_add(now) / 4;
            self.maximum = self.maximum.max(self.smoothed);
        }
        self.begin(jiffy);
    }

    /// Is the maximum within a fifth of that at the last loss? Makes the current maximum the reference for the next
    /// call.
    pub(super) const fn is_steady(&mut self) -> bool {
        let (now, old) = (self.maximum as u64 * 5, self.old_max as u64);
        self.old_max = self.maximum;
        old * 4 <= now && now <= old * 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 packets in 25 jiffies: 1000 per second; then half as many more move the average by a quarter.
    #[test]
    fn a_round_is_measured_and_smoothed() {
        let mut throughput = Throughput::default();
        throughput.begin(100);
        assert!(!throughput.is_over(99, 100, 125, 25), "one packet short");
        assert!(!throughput.is_over(1, 100, 124, 25), "one jiffy short");
        assert!(throughput.is_over(0, 100, 125, 25));
        throughput.take(125, true);
        assert!(throughput.is_over(50, 50, 150, 25));
        throughput.take(150, false);
        assert_eq!((throughput.smoothed, throughput.maximum), (875, 1_000));
    }

    #[test]
    fn steady_is_within_a_fifth() {
        let verdicts = [799, 800, 1_200, 1_201]
            .map(|maximum| Throughput { maximum, old_max: 1_000, ..Throughput::default() }.is_steady());
        assert_eq!(verdicts, [false, true, true, false]);
    }
}
