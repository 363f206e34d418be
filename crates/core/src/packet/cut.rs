//! Cuts a super-packet into the segments that it stands for (Linux `skb_gso_segment`).
//!
//! A device without TSO does so with what its discipline gives it, and some disciplines with what is too large for them.

use super::{Body, Flags, Packet, Segment};

/// The single segments of a super-packet, in order; nothing when there is only one, or when it is not TCP's.
#[must_use]
pub fn cut(packet: Packet) -> Option<impl Iterator<Item = Packet>> {
    let Body::Tcp(whole) = packet.body else { return None };
    let count = u32::from(packet.segments);
    if count < 2 || packet.bytes < whole.len {
        return None;
    }
    let headers = (packet.bytes - whole.len) / count;
    Some((0..count).map(move |number| {
        let segment = part(&whole, number, count);
        Packet { segments: 1, bytes: segment.len + headers, body: Body::Tcp(segment), ..packet }
    }))
}

/// Segment `number` of `count`: FIN and PSH stay on the last, CWR on the first (`tcp_gso_segment`).
fn part(whole: &Segment, number: u32, count: u32) -> Segment {
    let mss = u32::from(whole.mss);
    let (first, last) = (number == 0, number + 1 == count);
    let offset = (mss * number).min(whole.len);
    let len = if last { whole.len - offset } else { mss.min(whole.len - offset) };
    let flags = Flags {
        fin: whole.flags.fin && last,
        psh: whole.flags.psh && last,
        cwr: whole.flags.cwr && first,
        ..whole.flags
    };
    let layout = whole.layout.map(|layout| layout.behind(offset));
    Segment { seq: whole.seq + u64::from(offset), len, flags, layout, ..*whole }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Layout;
    use crate::queue::tests::tcp;
    use alloc::vec::Vec;

    #[test]
    fn segments_carry_the_whole_and_keep_the_marks_of_its_ends() {
        let mut packet = tcp(0, 3 * 1_514, 3, 1_000);
        let Body::Tcp(segment) = &mut packet.body else { unreachable!() };
        segment.flags = Flags { fin: true, cwr: true, ack: true, ..Flags::default() };
        segment.layout = Some(Layout::new(4_000, 2_000));
        let parts: Vec<Packet> = cut(packet).expect("it is a super-packet").collect();
        let seen: Vec<_> = parts
            .iter()
            .map(|part| match part.body {
                Body::Tcp(segment) => (segment.seq, segment.len, part.bytes, segment.flags.fin, segment.flags.cwr),
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
        for (part, layout) in parts.iter().zip(layouts) {
            assert!(matches!(part.body, Body::Tcp(segment) if segment.layout == Some(layout)));
        }
    }

    #[test]
    fn a_single_segment_is_not_cut() {
        assert!(cut(tcp(0, 1_514, 1, 0)).is_none());
    }
}
