//! Totals that `tcp_info` reports. Counts of segments wrap at 32 bits, as in Linux.

use crate::transport::Info;

/// Totals.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    /// Segments sent.
    segs_out: u32,
    /// Segments with payload sent.
    data_segs_out: u32,
    /// Payload bytes sent.
    bytes_sent: u64,
    /// Sequence numbers acknowledged.
    bytes_acked: u64,
    /// Payload bytes retransmitted.
    bytes_retrans: u64,
    /// Segments retransmitted.
    total_retrans: u32,
    /// Segments that arrived twice.
    dsack_dups: u32,
}

impl Counters {
    /// The handshake needed so many retransmissions.
    pub const fn after_handshake(&mut self, retransmissions: u32) {
        self.total_retrans = retransmissions;
    }

    /// A packet with this payload is sent in so many segments.
    pub const fn sent(&mut self, payload: u32, segments: u32) {
        if payload > 0 {
            self.data_segs_out = self.data_segs_out.wrapping_add(segments);
            self.bytes_sent += payload as u64;
        }
        self.segs_out = self.segs_out.wrapping_add(segments);
    }

    /// It is a retransmission.
    pub const fn retransmitted(&mut self, payload: u32, segments: u32) {
        self.total_retrans = self.total_retrans.wrapping_add(segments);
        self.bytes_retrans += payload as u64;
    }

    /// `snd_una` advances.
    pub const fn acked(&mut self, bytes: u64) {
        self.bytes_acked += bytes;
    }

    /// Segments arrived twice. Returns whether that is possible: not more than were retransmitted.
    pub const fn duplicated(&mut self, segments: u32) -> bool {
        self.dsack_dups += segments;
        self.dsack_dups <= self.total_retrans
    }

    /// Segments with payload sent.
    pub const fn data_segs_out(&self) -> u32 {
        self.data_segs_out
    }

    /// Sequence numbers acknowledged.
    pub const fn bytes_acked(&self) -> u64 {
        self.bytes_acked
    }

    /// Fills in the totals.
    pub const fn fill(&self, info: &mut Info) {
        info.total_retrans = self.total_retrans;
        info.bytes_sent = self.bytes_sent;
        // The SYN's sequence number counts (`tcp_snd_una_update`).
        info.bytes_acked = self.bytes_acked + 1;
        info.bytes_retrans = self.bytes_retrans;
        info.segs_out = self.segs_out;
        info.data_segs_out = self.data_segs_out;
        info.dsack_dups = self.dsack_dups;
    }
}
