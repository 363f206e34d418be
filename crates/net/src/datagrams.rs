//! When a UDP flow sends, and how much memory its packets take: for the simulator and for the agent.

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
}
