//! What a flow achieves: packets a second, measured over a round trip, smoothed, and its largest since the last loss.
//!
//! [`super::Htcp`] says when a round is one; here is only what follows from it.

use crate::time::HZ;

/// In packets a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Throughput {
    /// Packets since the measurement began.
    packets: u32,
    /// The jiffy when it did.
    began: u64,
    smoothed: u32,
    most: u32,
    /// The largest before the last loss.
    pub(super) old_most: u32,
}

impl Throughput {
    /// Begins to measure.
    pub(super) const fn begin(&mut self, jiffy: u64) {
        (self.packets, self.began) = (0, jiffy);
    }

    /// Counts packets; is a round over, by their number and by time?
    pub(super) fn is_over(&mut self, acked: u32, round: u32, jiffy: u64, least_rtt: u32) -> bool {
        self.packets = self.packets.wrapping_add(acked);
        least_rtt > 0 && self.packets >= round && jiffy - self.began >= u64::from(least_rtt)
    }

    /// Takes the round in; just after a loss it is the only one that counts.
    pub(super) fn take(&mut self, jiffy: u64, is_first: bool) {
        let passed = jiffy - self.began;
        let now = u32::try_from(u64::from(self.packets) * HZ / passed).unwrap_or(u32::MAX);
        if is_first {
            (self.smoothed, self.most) = (now, now);
        } else {
            self.smoothed = self.smoothed.wrapping_mul(3).wrapping_add(now) / 4;
            self.most = self.most.max(self.smoothed);
        }
        self.begin(jiffy);
    }

    /// Is the largest within a fifth of what it was at the last loss? From now on this one is the last.
    pub(super) const fn is_steady(&mut self) -> bool {
        let (now, old) = (self.most as u64 * 5, self.old_most as u64);
        self.old_most = self.most;
        old * 4 <= now && now <= old * 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 packets in 25 jiffies: 1000 a second; then a half as many move the mean by a quarter.
    #[test]
    fn a_round_is_measured_and_smoothed() {
        let mut throughput = Throughput::default();
        throughput.begin(100);
        assert!(!throughput.is_over(99, 100, 125, 25), "a packet is missing");
        assert!(!throughput.is_over(1, 100, 124, 25), "a jiffy is missing");
        assert!(throughput.is_over(0, 100, 125, 25));
        throughput.take(125, true);
        assert!(throughput.is_over(50, 50, 150, 25));
        throughput.take(150, false);
        assert_eq!((throughput.smoothed, throughput.most), (875, 1_000));
    }

    #[test]
    fn steady_is_within_a_fifth() {
        let verdicts = [799, 800, 1_200, 1_201]
            .map(|most| Throughput { most, old_most: 1_000, ..Throughput::default() }.is_steady());
        assert_eq!(verdicts, [false, true, true, false]);
    }
}
