//! What holds for every discipline and every tree of them.

use crate::packet::{Body, Packet, Segment, Direction, Ecn, FlowId};
use crate::time::Time;

/// A TCP packet.
pub(super) fn tcp(flow: u32, bytes: u32, segments: u16, seq: u64) -> Packet {
    let len = bytes.saturating_sub(u32::from(segments) * 66);
    Packet {
        flow: FlowId(flow),
        direction: Direction::Forward,
        ecn: Ecn::NotEct,
        segments,
        bytes,
        port: 5_201,
        mark: 0,
        queued_at: Time::ZERO,
        body: Body::Tcp(Segment { seq, len, ..Segment::default() }),
    }
}
