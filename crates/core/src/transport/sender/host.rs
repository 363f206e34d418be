//! What stands in this host's own queue, and how much may: TCP small queues (`tcp_small_queue_check`, `tcp_wfree`).
//!
//! Memory is counted as Linux does, by an skb's true size. Packets of a flow leave their host in the order in which
//! they were sent, so counting departures tells whether a transmission still stands there (`skb_still_in_host_queue`).

use super::number::low;
use crate::packet::TCP_HEADERS_BYTES;

/// This host's queue as the socket sees it.
#[derive(Clone, Debug)]
pub(super) struct HostQueue {
    /// True size of what stands there (`sk_wmem_alloc`).
    bytes: u64,
    /// Packets handed over and departed so far.
    sent: u64,
    departed: u64,
    /// Was something held back for it? Then a departure makes the sender go on.
    pub throttled: bool,
    /// Does it hold packets back until they depart (`SK_PACING_FQ`)?
    pub paces: bool,
    mss: u32,
}

impl HostQueue {
    /// Nothing stands there.
    pub const fn new(mss: u32, paces: bool) -> Self {
        Self { bytes: 0, sent: 0, departed: 0, throttled: false, paces, mss }
    }

    /// Is next to nothing there (`sk_wmem_alloc < SKB_TRUESIZE(1)`)?
    pub const fn is_empty(&self) -> bool {
        self.bytes <= SKB_OVERHEAD
    }

    /// Bytes there.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number that the next packet's records get.
    pub const fn serial(&self) -> u32 {
        low(self.sent)
    }

    /// A packet with this payload is handed over.
    pub const fn hand_over(&mut self, payload: u32) {
        self.bytes += true_size(payload as u64);
        self.sent += 1;
    }

    /// The packet that was handed over last was cut into `segments` packets, each with a head of its own (`tcp_gso_segment`).
    pub const fn cut(&mut self, segments: u16) {
        self.bytes += (segments as u64 - 1) * SKB_OVERHEAD;
    }

    /// A packet that was handed over was refused.
    pub const fn take_back(&mut self, payload: u32) {
        self.bytes = self.bytes.saturating_sub(true_size(payload as u64));
        self.sent -= 1;
    }

    /// A packet of this size, as a queue counts it, is gone, the last of so many pieces. Says whether the sender waited
    /// for that.
    #[inline]
    pub fn depart(&mut self, packet_bytes: u32, pieces: u16) -> bool {
        self.departed = self.sent.min(self.departed + 1);
        let others = u64::from(pieces - 1) * true_size(u64::from(self.mss));
        self.bytes = self.bytes.saturating_sub(others + true_size(u64::from(self.payload(packet_bytes))));
        if self.departed == self.sent {
            self.bytes = 0;
        }
        core::mem::take(&mut self.throttled)
    }

    /// Does the transmission with this number still stand in the queue?
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

/// Memory that an skb with this payload takes (`truesize`).
pub(super) const fn true_size(payload: u64) -> u64 {
    SKB_OVERHEAD + payload
}

/// Room for headers in an skb (`MAX_TCP_HEADER`) of a kernel without wireless and tunnels, as the lab builds it.
/// Distributions with both have 320, and 896 below.
pub(super) const MAX_TCP_HEADER: u64 = 192;
/// `struct skb_shared_info`, aligned.
pub(super) const SHARED_INFO: u64 = 320;
/// `struct sk_buff`, aligned.
pub(super) const SK_BUFF: u64 = 256;
/// An skb without payload: its head comes from a cache of 576 bytes.
pub(super) const SKB_OVERHEAD: u64 = SK_BUFF + 576;
/// No more than this without pacing (`tcp_limit_output_bytes`).
pub(super) const LIMIT_OUTPUT_BYTES: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_are_told_in_order() {
        let mut host = HostQueue::new(1448, false);
        let serials = [0, 1, 2].map(|_| {
            let serial = host.serial();
            host.hand_over(1448);
            serial
        });
        assert_eq!(host.bytes(), 3 * 2280);
        assert!(!host.depart(1514, 1));
        assert_eq!(serials.map(|serial| host.holds(serial)), [false, true, true]);
        host.throttled = true;
        assert!(host.depart(1514, 1) && !host.depart(1514, 1));
        assert!(host.is_empty() && !host.holds(serials[2]));
    }

    #[test]
    fn a_super_packet_gives_back_what_it_took() {
        let mut host = HostQueue::new(1448, false);
        host.hand_over(100);
        host.hand_over(3 * 1448 + 7);
        host.depart(3 * 1448 + 7 + 4 * TCP_HEADERS_BYTES, 1);
        assert_eq!(host.bytes(), true_size(100));
    }

    #[test]
    fn what_was_cut_departs_with_its_last_piece() {
        let mut host = HostQueue::new(1448, false);
        host.hand_over(100);
        let serial = host.serial();
        host.hand_over(2 * 1448 + 7);
        host.cut(3);
        assert_eq!(host.bytes(), true_size(100) + 2 * true_size(1448) + true_size(7));
        host.depart(100 + TCP_HEADERS_BYTES, 1);
        assert!(host.bytes() == 2 * true_size(1448) + true_size(7) && host.holds(serial));
        host.depart(7 + TCP_HEADERS_BYTES, 3);
        assert!(host.is_empty() && !host.holds(serial));
    }
}
