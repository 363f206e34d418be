//! When a UDP flow sends, and how much memory its packets take: for the simulator and for the agent.

use crate::seen::Seen;

/// Memory of `struct sk_buff` and `struct skb_shared_info`, aligned (64 bits).
const SK_BUFF: u64 = 256;
const SHARED_INFO: u64 = 320;
const ALIGNMENT: u64 = 64;
/// IPv4 and UDP headers, and the room in front of them: `LL_RESERVED_SPACE` of Ethernet and 15 bytes
/// (`__ip_append_data`).
const IN_FRONT: u64 = 20 + 8 + 16 + 15;
/// Objects of the cache for small heads (`SKB_SMALL_HEAD_CACHE_SIZE`).
const SMALL_HEAD: u64 = 576;

/// `net.core.wmem_default` and `rmem_default`: a UDP socket's buffers are not tuned.
pub const DEFAULT_BUFFER: u64 = 212_992;

/// Times at which a flow sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Time between packets, in nanoseconds.
    interval: u64,
    /// Sends for the first time, pauses for the second.
    on_off: Option<(u64, u64)>,
    /// Start of this time of sending.
    began: u64,
}

impl Schedule {
    /// Of a flow that starts at this time.
    #[must_use]
    pub const fn new(start: u64, interval: u64, on_off: Option<(u64, u64)>) -> Self {
        Self { interval, on_off, began: start }
    }

    /// The time after a packet at `now`: an interval later, or when the next time of sending begins.
    pub fn next(&mut self, now: u64) -> u64 {
        let next = now.saturating_add(self.interval);
        let Some((on, off)) = self.on_off else { return next };
        if next < self.began.saturating_add(on) {
            return next;
        }
        self.began = self.began.saturating_add(on).saturating_add(off);
        self.began
    }
}

/// Memory of a packet with this payload (`skb->truesize`): Linux takes its head from the slab that fits.
#[must_use]
pub fn true_size(payload: u32) -> u64 {
    let head = (u64::from(payload) + IN_FRONT).next_multiple_of(ALIGNMENT) + SHARED_INFO;
    SK_BUFF + if head <= SMALL_HEAD { SMALL_HEAD } else { head.next_power_of_two() }
}

/// What the receiver of a flow counts: datagrams by their number, each once, and the jitter of their transit.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    seen: Seen,
    /// Different numbers that arrived.
    count: u64,
    /// The largest number plus one.
    end: u64,
    /// Arrival minus sending of the last datagram, in nanoseconds; the clocks' difference is in it.
    transit: Option<i64>,
    /// Sixteen times the jitter in nanoseconds.
    jitter_16: u64,
}

impl Arrivals {
    /// A datagram arrived; returns whether it is new. One that the network duplicated changes nothing.
    pub fn add(&mut self, number: u64, sent: u64, now: u64) -> bool {
        if !self.seen.add(number) {
            return false;
        }
        self.count += 1;
        self.end = self.end.max(number.saturating_add(1));
        let transit = now.wrapping_sub(sent).cast_signed();
        if let Some(last) = self.transit.replace(transit) {
            // RFC 3550, A.8: the estimate in integers.
            let change = transit.wrapping_sub(last).unsigned_abs();
            self.jitter_16 = (self.jitter_16 + change).saturating_sub((self.jitter_16 + 8) >> 4);
        }
        true
    }

    /// Numbers below the largest that have not arrived: lost, or later than one sent after them.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.end.saturating_sub(self.count)
    }

    /// One-way delay of the last datagram in nanoseconds; unknown before the first, and where the clocks differ so much that
    /// it is negative.
    #[must_use]
    pub fn delay(&self) -> Option<u64> {
        self.transit.and_then(|transit| u64::try_from(transit).ok())
    }

    /// Interarrival jitter (RFC 3550, 6.4.1) in nanoseconds; unknown before two datagrams.
    #[must_use]
    pub fn jitter(&self) -> Option<u64> {
        (self.count > 1).then_some(self.jitter_16 >> 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn times(mut schedule: Schedule, count: usize) -> Vec<u64> {
        let after = |now: &u64| Some(schedule.next(*now));
        core::iter::successors(Some(10), after).take(count).collect()
    }

    #[test]
    fn a_flow_pauses_between_its_times_of_sending() {
        assert_eq!(times(Schedule::new(10, 4, None), 4), [10, 14, 18, 22]);
        assert_eq!(times(Schedule::new(10, 4, Some((10, 30))), 7), [10, 14, 18, 50, 54, 58, 90]);
        assert_eq!(times(Schedule::new(10, 4, Some((4, 0))), 3), [10, 14, 18]);
    }

    #[test]
    fn a_packet_takes_the_memory_of_its_slab() {
        assert_eq!([16, 197, 198, 1_200, 1_472, 8_900].map(true_size), [832, 832, 1_280, 2_304, 2_304, 16_640]);
    }

    #[test]
    fn a_gap_is_lost_until_it_is_filled_and_a_duplicate_changes_nothing() {
        let mut arrivals = Arrivals::default();
        assert!(arrivals.add(0, 0, 100) && arrivals.jitter().is_none());
        assert!(arrivals.add(3, 30, 130) && arrivals.lost() == 2);
        assert!(!arrivals.add(3, 30, 190));
        assert_eq!(arrivals.jitter(), Some(0));
        assert!(arrivals.add(1, 10, 140) && arrivals.lost() == 1);
    }

    #[test]
    fn jitter_nears_the_difference_of_transits_whatever_the_clocks() {
        let mut arrivals = Arrivals::default();
        for number in 0..2_000 {
            let sent = number * 1_000;
            arrivals.add(number, sent, sent.wrapping_sub(1 << 40) + 160 * (number % 2));
        }
        assert!(arrivals.jitter().is_some_and(|jitter| (155..=160).contains(&jitter)), "{:?}", arrivals.jitter());
    }
}
