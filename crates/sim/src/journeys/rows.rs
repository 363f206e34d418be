//! The columns of the table of journeys, and how a trip becomes a row.

use super::is_backward;
use super::trips::Trip;
use crate::table::{Cells, Names, columns};
use dumbbell_core::packet::{Body, Packet};
use dumbbell_core::time::Time;

columns! {
    /// One packet a row.
    JourneyRows {
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

impl JourneyRows {
    /// An empty table. `talkers`: names by flow ids; `places`: of queues, then of devices.
    pub fn of(talkers: Vec<String>, places: Vec<String>) -> Self {
        Self {
            flow: Names::of(talkers),
            kind: Names::of(KINDS),
            direction: Names::of(DIRECTIONS),
            queue: Names::of(places.clone()),
            dropped_at: Names::of(places),
            ..Self::default()
        }
    }

    /// One packet's.
    pub fn push(&mut self, trip: &Trip) {
        let packet = &trip.packet;
        let (kind, sequence) = content(packet);
        self.flow.push_code(packet.flow.0);
        self.kind.push_code(kind);
        self.direction.push_code(u32::from(is_backward(packet)));
        self.sequence_bytes.push(sequence.map(u64::cast_signed));
        self.size_bytes.push(i64::from(packet.bytes));
        self.retransmit.push(trip.retransmit);
        self.marked.push(trip.marked);
        self.sent_ns.push(nanos(trip.sent));
        self.queue.push_code(trip.queue.map(|(number, _)| number));
        self.queued_ns.push(trip.queued.map(nanos));
        self.dequeued_ns.push(trip.dequeued.map(nanos));
        // Links are shapers: they hand a packet on whole at the instant at which they let it go.
        self.departed_ns.push(trip.dequeued.map(nanos));
        self.received_ns.push(trip.received.map(nanos));
        self.dropped_ns.push(trip.dropped.map(|(at, _)| nanos(at)));
        self.dropped_at.push_code(trip.dropped.map(|(_, place)| place));
    }
}

/// The code of its kind, and its first byte or what it acknowledges; SYN takes a number before the first byte.
fn content(packet: &Packet) -> (u32, Option<u64>) {
    match &packet.body {
        Body::Tcp(segment) if segment.len > 0 => (0, segment.seq.checked_sub(1)),
        Body::Tcp(segment) if segment.flags.syn || segment.flags.fin || !segment.flags.ack => (2, None),
        Body::Tcp(segment) => (1, segment.ack.checked_sub(1)),
        Body::Udp { seq, payload, .. } => (0, Some(seq * u64::from(*payload))),
        Body::Probe { .. } => (3, None),
    }
}

const fn nanos(time: Time) -> i64 {
    time.as_nanos().cast_signed()
}
