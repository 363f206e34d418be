//! Columns of the packet trace.

use super::is_backward;
use super::records::TraceRecord;
use dumbbell_net::packet::{Body, ETHERNET_BYTES, IPV4_BYTES, Packet, UDP_HEADERS_BYTES};
use dumbbell_net::time::Time;
use dumbbell_table::{Cells, Names, columns};

columns! {
    /// One row per packet.
    TraceRows {
        flow: Names,
        kind: Names,
        direction: Names,
        sequence_bytes: Cells<i64>,
        size_bytes: Cells<i64>,
        retransmit: Cells<bool>,
        marked: Cells<bool>,
        sent_ns: Cells<i64>,
        queue: Names,
        queued_ns: Cells<i64>,
        dequeued_ns: Cells<i64>,
        departed_ns: Cells<i64>,
        received_ns: Cells<i64>,
        dropped_ns: Cells<i64>,
        dropped_at: Names,
    }
}

/// Codes of `kind`.
const KINDS: [&str; 4] = ["data", "ack", "control", "probe"];
/// Codes of `direction`.
const DIRECTIONS: [&str; 2] = ["forward", "backward"];

impl TraceRows {
    /// An empty table. `senders`: names by flow id; `locations`: names of queues, then of devices.
    pub fn of(senders: Vec<String>, locations: Vec<String>) -> Self {
        Self {
            flow: Names::of(senders),
            kind: Names::of(KINDS),
            direction: Names::of(DIRECTIONS),
            queue: Names::of(locations.clone()),
            dropped_at: Names::of(locations),
            ..Self::default()
        }
    }

    /// Adds one packet.
    pub fn push(&mut self, record: &TraceRecord) {
        let packet = &record.packet;
        let (kind, sequence) = content(packet);
        self.flow.push_code(packet.flow.0);
        self.kind.push_code(kind);
        self.direction.push_code(u32::from(is_backward(packet)));
        self.sequence_bytes.push(sequence.map(u64::cast_signed));
        self.size_bytes.push(i64::from(packet.bytes));
        self.retransmit.push(record.retransmit);
        self.marked.push(record.marked);
        self.sent_ns.push(nanos(record.sent));
        self.queue.push_code(record.queue.map(|(number, _)| number));
        self.queued_ns.push(record.queued.map(nanos));
        self.dequeued_ns.push(record.dequeued.map(nanos));
        // Links are modelled by shapers, which forward a packet completely at the time they release it.
        self.departed_ns.push(record.dequeued.map(nanos));
        self.received_ns.push(record.received.map(nanos));
        self.dropped_ns.push(record.dropped.map(|(at, _)| nanos(at)));
        self.dropped_at.push_code(record.dropped.map(|(_, location)| location));
    }
}

/// Code of its kind, and its first byte or the byte it acknowledges. SYN takes the number before the first byte.
fn content(packet: &Packet) -> (u32, Option<u64>) {
    match &packet.body {
        Body::Tcp(segment) if segment.len > 0 => (0, segment.seq.checked_sub(1)),
        Body::Tcp(segment) if segment.flags.syn || segment.flags.fin || !segment.flags.ack => (2, None),
        Body::Tcp(segment) => (1, segment.ack.checked_sub(1)),
        Body::Udp { seq, payload, .. } => {
            let offset = packet.offset_bytes().saturating_sub(UDP_HEADERS_BYTES - ETHERNET_BYTES - IPV4_BYTES);
            (0, Some(seq * u64::from(*payload) + u64::from(offset)))
        }
        Body::Probe { .. } => (3, None),
    }
}

const fn nanos(time: Time) -> i64 {
    time.as_nanos().cast_signed()
}
