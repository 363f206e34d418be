//! Builds packets: headers, sizes, ECN marks.

use super::Endpoint;
use crate::packet::{Body, Damage, Ecn, Flags, Packet, Segment, TCP_HEADERS_BYTES};
use crate::time::Time;
use crate::transport::sender::Transmission;

impl Endpoint {
    /// An ACK without payload. It is not ECN-capable (RFC 3168 section 6.1.4), unless the controller needs ECN.
    pub(super) fn bare_ack(&mut self, now: Time) -> Packet {
        let seq = self.next_seq();
        let departs_at = self.sender.as_ref().map_or(Time::ZERO, |sender| sender.next_send_at());
        self.pack(now, Transmission { seq, segments: 1, departs_at, ..Transmission::default() })
    }

    pub(super) fn pack(&mut self, now: Time, sent: Transmission) -> Packet {
        let flags = Flags { fin: sent.fin, psh: sent.psh, cwr: sent.cwr, ..Flags::default() };
        let mss = self.sender.as_ref().map_or(self.mss, |sender| sender.mss());
        let mut segment = Segment { seq: sent.seq, len: sent.len, flags, mss, ..Segment::default() };
        self.receiver.fill(now, &mut segment);
        segment.sent_at = sent.departs_at.max(segment.sent_at);
        if sent.len > 0 {
            segment.layout = self.sender.as_ref().map(|sender| sender.layout(sent.seq, sent.len));
            self.receiver.on_data_sent(now);
        }
        let headers = TCP_HEADERS_BYTES + segment.sack.bytes();
        // A super-packet counts the headers of each of its segments (`qdisc_pkt_len_init`).
        let bytes = sent.len + headers * u32::from(sent.segments);
        self.address(segment, self.marks.of(sent.ect), sent.segments, bytes)
    }

    #[inline]
    pub(super) fn address(&mut self, segment: Segment, ecn: Ecn, segments: u16, bytes: u32) -> Packet {
        self.segs_out += u32::from(segments);
        Packet {
            flow: self.identity.flow,
            direction: self.identity.direction,
            ecn,
            segments,
            bytes,
            port: self.identity.port,
            mark: self.identity.mark,
            rehashes: self.rehashes(),
            damage: Damage::None,
            queued_at: Time::ZERO,
            body: Body::Tcp(segment),
        }
    }

    fn rehashes(&self) -> u16 {
        let of_sender = self.sender.as_ref().map_or(0, |sender| sender.rehashes());
        of_sender.wrapping_add(self.handshake.rehashes())
    }
}
