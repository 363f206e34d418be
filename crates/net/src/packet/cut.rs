//! Splits a super-packet into its segments (Linux `skb_gso_segment`).
//!
//! Used by devices without TSO, and by qdiscs for packets larger than they accept.

use super::{Body, Flags, Packet, Segment};

/// The segments of a super-packet, in order; None if there is only one or the packet is not TCP.
#[must_use]
pub fn cut(packet: Packet) -> Option<impl Iterator<Item = Packet>> {
    let Body::Tcp(super_packet) = packet.body else { return None };
    let count = u32::from(packet.segments);
    if count < 2 || packet.bytes < super_packet.len {
        return None;
    }
    let headers = (packet.bytes - super_packet.len) / count;
    Some((0..count).map(move |number| {
        let segment = segment_at(&super_packet, number, count);
        Packet { segments: 1, bytes: segment.len + headers, body: Body::Tcp(segment), ..packet }
    }))
}

/// Segment `number` of `count`: FIN and PSH stay on the last, CWR on the first (`tcp_gso_segment`).
fn segment_at(super_packet: &Segment, number: u32, count: u32) -> Segment {
    let mss = u32::from(super_packet.mss);
    let (first, last) = (number == 0, number + 1 == count);
    let offset = (mss * number).min(super_packet.len);
    let len = if last { super_packet.len - offset } else { mss.min(super_packet.len - offset) };
    let flags = Flags {
        fin: super_packet.flags.fin && last,
        psh: super_packet.flags.psh && last,
        cwr: super_packet.flags.cwr && first,
        ..super_packet.flags
    };
    let layout = super_packet.layout.map(|layout| layout.after(offset));
    Segment { seq: super_packet.seq + u64::from(offset), len, flags, layout, ..*super_packet }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Layout;
    use crate::queue::tests::tcp;
    use alloc::vec::Vec;

    #[test]
    fn segments_cover_the_payload_and_keep_its_flags() {
        let mut packet = tcp(0, 3 * 1_514, 3, 1_000);
        let Body::Tcp(segment) = &mut packet.body else { unreachable!() };
        segment.flags = Flags { fin: true, cwr: true, ack: true, ..Flags::default() };
        segment.layout = Some(Layout::new(4_000, 2_000));
        let parts: Vec<Packet> = cut(packet).expect("it is a super-packet").collect();
        let seen: Vec<_> = parts
            .iter()
            .map(|segment_at| match segment_at.body {
                Body::Tcp(segment) => {
                    (segment.seq, segment.len, segment_at.bytes, segment.flags.fin, segment.flags.cwr)
                }
                _ => unreachable!(),
            })
            .collect();
        assert_eq!(
            seen,
            [
                (1_000, 1_448, 1_514, false, true),
                (2_448, 1_448, 1_514, false, false),
                (3_896, 1_448, 1_514, true, false)
            ]
        );
        let layouts = [Layout::new(4_000, 2_000), Layout::new(5_448, 552), Layout::new(896, 0)];
        for (segment_at, layout) in parts.iter().zip(layouts) {
            assert!(matches!(segment_at.body, Body::Tcp(segment) if segment.layout == Some(layout)));
        }
    }

    #[test]
    fn a_single_segment_is_not_cut() {
        assert!(cut(tcp(0, 1_514, 1, 0)).is_none());
    }
}
