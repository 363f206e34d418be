//! Datagrams at a constant rate, and the receiver's byte count.

use dumbbell_core::packet::{Body, Damage, Ecn, Fragment, Packet, UDP_HEADERS_BYTES};
use dumbbell_core::seen::Seen;
use dumbbell_core::time::{Span, Time};
use dumbbell_core::transport::Identity;

/// One UDP flow, both ends.
#[derive(Clone, Debug)]
pub struct Datagrams {
    identity: Identity,
    payload: u32,
    /// Largest IP packet; a larger datagram leaves in fragments.
    pub mtu: u32,
    /// Time between datagrams.
    pub interval: Span,
    next: u64,
    seen: Seen,
    /// Payload bytes sent so far.
    pub sent_bytes: u64,
    /// Payload bytes received so far.
    pub received_bytes: u64,
}

impl Datagrams {
    /// A flow that has not started.
    pub fn new(identity: Identity, payload: u32, mtu: u32, interval: Span) -> Self {
        Self { identity, payload, mtu, interval, next: 0, seen: Seen::default(), sent_bytes: 0, received_bytes: 0 }
    }

    /// The next datagram. A drop by the sender's own queue counts as loss, as in Linux.
    pub fn send(&mut self, now: Time) -> Packet {
        let seq = self.next;
        self.next += 1;
        self.sent_bytes += u64::from(self.payload);
        let Identity { flow, direction, port, mark } = self.identity;
        Packet {
            flow,
            direction,
            ecn: Ecn::NotEct,
            segments: 1,
            bytes: self.payload + UDP_HEADERS_BYTES,
            port,
            mark,
            rehashes: 0,
            damage: Damage::None,
            queued_at: now,
            body: Body::Udp { sent_at: now, seq, payload: self.payload, fragment: Fragment::WHOLE },
        }
    }

    /// A datagram arrived; a duplicate does not count.
    pub fn receive(&mut self, seq: u64, payload: u32) {
        if self.seen.add(seq) {
            self.received_bytes += u64::from(payload);
        }
    }
}
