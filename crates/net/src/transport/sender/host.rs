//! This host's own queue and its limit: TCP small queues (`tcp_small_queue_check`, `tcp_wfree`).
//!
//! Memory is counted by an skb's true size, as in Linux. A flow's packets leave their host in the order in which they
//! were sent, so the number of departures shows whether a transmission is still queued (`skb_still_in_host_queue`).

use crate::number::low;
use crate::packet::TCP_HEADERS_BYTES;

/// The socket's view of this host's queue.
#[derive(Clone, Debug)]
pub(super) struct HostQueue {
    /// True size of the queued packets (`sk_wmem_alloc`).
    bytes: u64,
    /// Packets queued and departed so far.
    sent: u64,
    departed: u64,
    /// Was something held back for it? Then the sender continues after a departure.
    throttled: bool,
    mss: u32,
}

impl HostQueue {
    /// An empty queue.
    pub const fn new(mss: u32) -> Self {
        Self { bytes: 0, sent: 0, departed: 0, throttled: false, mss }
    }

    /// Is it almost empty (`sk_wmem_alloc < SKB_TRUESIZE(1)`)?
    pub const fn is_empty(&self) -> bool {
        self.bytes <= SKB_OVERHEAD
    }

    /// Bytes in the queue.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The serial number for the next packet's records.
    pub const fn serial(&self) -> u32 {
        low(self.sent)
    }

    /// Queues a packet with this payload.
    pub const fn enqueue(&mut self, payload: u32) {
        self.bytes += true_size(payload as u64);
        self.sent += 1;
    }

    /// The last queued packet was segmented into `segments` packets, each with its own header (`tcp_gso_segment`).
    pub const fn cut(&mut self, segments: u16) {
        self.bytes += (segments as u64 - 1) * SKB_OVERHEAD;
    }

    /// A qdisc split the last queued packet into `pieces`, each of which departs by itself.
    pub const fn split(&mut self, pieces: u16) {
        self.cut(pieces);
        self.sent += pieces as u64 - 1;
    }

    /// A queued packet was refused.
    pub const fn take_back(&mut self, payload: u32) {
        self.bytes = self.bytes.saturating_sub(true_size(payload as u64));
        self.sent -= 1;
    }

    /// A packet of this size, as a queue counts it, has departed; it was the last of `pieces`. Returns whether the
    /// sender was waiting for that.
    #[inline]
    pub fn depart(&mut self, packet_bytes: u32, pieces: u16) -> bool {
        self.departed = self.sent.min(self.departed + 1);
        let others = u64::from(pieces - 1) * true_size(u64::from(self.mss));
        self.bytes = self.bytes.saturating_sub(others + true_size(u64::from(self.payload(packet_bytes))));
        if self.departed == self.sent {
            self.bytes = 0;
        }
        self.take_throttled()
    }

    /// Something is held back until a packet departs.
    pub const fn throttle(&mut self) {
        self.throttled = true;
    }

    /// Is there too much in the queue to add an skb of `payload` bytes, with `paced_bytes` in a millisecond at the pacing
    /// rate? Without pacing 4 MiB is the limit. The limit is doubled `factor` times
    /// (`tcp_small_queue_check`).
    pub fn is_full(&self, payload: u32, paced_bytes: u64, is_paced: bool, factor: u32) -> bool {
        let mut limit = paced_bytes.max(2 * true_size(u64::from(payload)));
        if !is_paced {
            limit = limit.min(LIMIT_OUTPUT_BYTES);
        }
        self.bytes >= limit.saturating_mul(1 << factor)
    }

    /// Was the sender waiting for a departure? From now on it is not.
    pub const fn take_throttled(&mut self) -> bool {
        core::mem::replace(&mut self.throttled, false)
    }

    /// Is the transmission with this number still queued?
    pub fn holds(&self, serial: u32) -> bool {
        let behind = low(self.sent).wrapping_sub(serial);
        behind != 0 && u64::from(behind) <= self.sent - self.departed
    }

    fn payload(&self, packet_bytes: u32) -> u32 {
        let segment = self.mss + TCP_HEADERS_BYTES;
        let segments = if packet_bytes <= segment { 1 } else { packet_bytes.div_ceil(segment) };
        packet_bytes.saturating_sub(segments * TCP_HEADERS_BYTES)
    }
}

/// Memory of an skb with this payload (`truesize`).
pub(super) const fn true_size(payload: u64) -> u64 {
    SKB_OVERHEAD + payload
}

/// Room for headers in an skb (`MAX_TCP_HEADER`) in a kernel without wireless and tunnels, as the `kernel` engine
/// builds it. Distributions with both have 320, and 896 below.
pub(super) const MAX_TCP_HEADER: u64 = 192;
/// `struct skb_shared_info`, aligned.
pub(super) const SHARED_INFO: u64 = 320;
/// `struct sk_buff`, aligned.
pub(super) const SK_BUFF: u64 = 256;
/// An skb without payload: its header comes from a cache of 576 bytes.
pub(super) const SKB_OVERHEAD: u64 = SK_BUFF + 576;
/// Limit without pacing (`tcp_limit_output_bytes`).
const LIMIT_OUTPUT_BYTES: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    #[test]
    fn departures_are_reported_in_order() {
        let mut host = HostQueue::new(1448);
        let serials = [0, 1, 2].map(|_| {
            let serial = host.serial();
            host.enqueue(1448);
            serial
        });
        assert_eq!(host.bytes(), 3 * 2280);
        assert!(!host.depart(1514, 1));
        assert_eq!(serials.map(|serial| host.holds(serial)), [false, true, true]);
        host.throttle();
        assert!(host.depart(1514, 1) && !host.depart(1514, 1));
        assert!(host.is_empty() && !host.holds(serials[2]));
    }

    #[test]
    fn a_super_packet_frees_the_memory_it_used() {
        let mut host = HostQueue::new(1448);
        host.enqueue(100);
        host.enqueue(3 * 1448 + 7);
        host.depart(3 * 1448 + 7 + 4 * TCP_HEADERS_BYTES, 1);
        assert_eq!(host.bytes(), true_size(100));
    }

    #[test]
    fn a_segmented_packet_departs_with_its_last_piece() {
        let mut host = HostQueue::new(1448);
        host.enqueue(100);
        let serial = host.serial();
        host.enqueue(2 * 1448 + 7);
        host.cut(3);
        assert_eq!(host.bytes(), true_size(100) + 2 * true_size(1448) + true_size(7));
        host.depart(100 + TCP_HEADERS_BYTES, 1);
        assert!(host.bytes() == 2 * true_size(1448) + true_size(7) && host.holds(serial));
        host.depart(7 + TCP_HEADERS_BYTES, 3);
        assert!(host.is_empty() && !host.holds(serial));
    }

    /// A socket that is not paced has 4 MiB, whatever its rate (`tcp_limit_output_bytes`).
    #[test]
    fn without_pacing_four_mebibytes_are_the_limit() {
        let mut host = HostQueue::new(1_000);
        while !host.is_full(1_000, u64::MAX, false, 0) {
            assert!(host.bytes() < 4 << 20);
            host.enqueue(65_000);
        }
        assert!(host.bytes() >= 4 << 20 && !host.is_full(1_000, u64::MAX, true, 0));
    }

    proptest! {
        /// The queue's memory is that of the packets that have not departed, in order; a transmission is held until it
        /// departs or is refused.
        #[test]
        fn the_queue_holds_what_has_not_departed(
            steps in prop::collection::vec((0_u8..4, 1_u32..10_000), 1..100),
        ) {
            let mut host = HostQueue::new(1_000);
            let mut model = VecDeque::new();
            let mut gone = VecDeque::new();
            for (what, payload) in steps {
                match what {
                    0 | 1 => {
                        model.push_back((host.serial(), payload));
                        host.enqueue(payload);
                    }
                    2 => {
                        if let Some((serial, payload)) = model.pop_front() {
                            let bytes = payload + payload.div_ceil(1_000) * TCP_HEADERS_BYTES;
                            prop_assert!(!host.depart(bytes, 1));
                            gone.push_back(serial);
                        }
                    }
                    _ => {
                        if let Some((_, payload)) = model.pop_back() {
                            host.take_back(payload);
                        }
                    }
                }
                let bytes: u64 = model.iter().map(|packet| true_size(u64::from(packet.1))).sum();
                prop_assert_eq!((host.bytes(), host.is_empty()), (bytes, model.is_empty()));
                prop_assert!(model.iter().all(|packet| host.holds(packet.0)));
                prop_assert!(gone.iter().all(|serial| !host.holds(*serial)));
                let is_full = |paced_bytes, factor| host.is_full(1_000, paced_bytes, true, factor);
                prop_assert_eq!(is_full(0, 0), bytes >= 2 * true_size(1_000));
                prop_assert_eq!(is_full(30_000, 1), bytes >= 60_000);
            }
        }
    }
}
