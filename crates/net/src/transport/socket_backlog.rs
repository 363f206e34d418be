//! Packets that arrive while a program uses their socket (`sk_backlog`): processed when the program releases it. Adjacent
//! segments are merged, so that one ACK answers several of them (`tcp_add_backlog`).

use crate::packet::{Body, Packet, Segment};
use crate::time::Time;
use crate::transport::receiver::{MAX_PAGES, OVERHEAD, pieces};
use alloc::collections::VecDeque;

/// A socket's backlog.
#[derive(Debug, Default)]
pub struct SocketBacklog {
    packets: VecDeque<Packet>,
    /// Page fragments of the last packet.
    pages: u8,
    memory: u32,
}

impl SocketBacklog {
    /// Adds a packet, or merges it into the last one.
    pub fn add(&mut self, packet: &Packet) {
        let Body::Tcp(segment) = &packet.body else { return };
        let pages = pieces(segment);
        self.memory += segment.len + OVERHEAD;
        if self.pages + pages <= MAX_PAGES && self.packets.back_mut().is_some_and(|last| merge(last, packet)) {
            self.pages += pages;
            self.memory -= OVERHEAD;
        } else {
            self.packets.push_back(*packet);
            self.pages = pages;
        }
    }

    /// Memory of all packets since it was last empty.
    #[must_use]
    pub const fn memory(&self) -> u32 {
        self.memory
    }

    /// The next packet to be processed.
    pub fn take(&mut self) -> Option<Packet> {
        let next = self.packets.pop_front();
        if next.is_none() {
            self.memory = 0;
        }
        next
    }
}

/// Appends `next` to `last` if its header differs in nothing but sequence numbers, window, PSH and FIN.
fn merge(last: &mut Packet, next: &Packet) -> bool {
    let (same_ecn, segments) = (last.ecn == next.ecn, last.segments.saturating_add(next.segments));
    let (Body::Tcp(tail), Body::Tcp(head)) = (&mut last.body, &next.body) else { return false };
    if !same_ecn || !follows(tail, head) {
        return false;
    }
    tail.len += head.len;
    (tail.ack, tail.window) = (head.ack, head.window);
    tail.flags.fin |= head.flags.fin;
    tail.flags.psh |= head.flags.psh;
    last.segments = segments;
    last.bytes += next.bytes;
    true
}

fn follows(tail: &Segment, head: &Segment) -> bool {
    let kinds = |segment: &Segment| (segment.flags.ece, segment.flags.cwr, segment.flags.ace);
    let stamps = |segment: &Segment| (millis(segment.sent_at), millis(segment.echo));
    tail.end() == head.seq
        && !(tail.flags.syn || head.flags.syn || tail.flags.fin)
        && tail.flags.ack
        && head.flags.ack
        && kinds(tail) == kinds(head)
        && tail.sack == head.sack
        && stamps(tail) == stamps(head)
}

/// A time as in TSval.
const fn millis(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use crate::queue::tests::tcp;
    use crate::time::Span;
    use alloc::vec::Vec;

    fn data(number: u64) -> Packet {
        let mut packet = tcp(0, 1_514, 1, 1 + number * 1_448);
        let Body::Tcp(segment) = &mut packet.body else { unreachable!() };
        segment.flags = Flags { ack: true, ..Flags::default() };
        packet
    }

    fn change(mut packet: Packet, edit: impl FnOnce(&mut Segment)) -> Packet {
        let Body::Tcp(segment) = &mut packet.body else { unreachable!() };
        edit(segment);
        packet
    }

    fn merged(packets: &[Packet]) -> Vec<u16> {
        let mut backlog = SocketBacklog::default();
        for packet in packets {
            backlog.add(packet);
        }
        core::iter::from_fn(|| backlog.take()).map(|packet| packet.segments).collect()
    }

    /// 1448-byte segments on contiguous pages have 17 fragments after the thirteenth.
    #[test]
    fn adjacent_segments_are_merged_while_their_fragments_fit() {
        assert_eq!(merged(&(0..15).map(data).collect::<Vec<_>>()), [13, 2]);
    }

    #[test]
    fn a_gap_or_another_header_ends_a_merge() {
        let late = |segment: &mut Segment| segment.sent_at += Span::from_millis(1);
        assert_eq!(merged(&[data(0), data(2)]), [1, 1]);
        assert_eq!(merged(&[data(0), change(data(1), late)]), [1, 1]);
        assert_eq!(merged(&[data(0), change(data(1), |segment| segment.flags.cwr = true)]), [1, 1]);
        assert_eq!(merged(&[data(0), change(data(1), |segment| segment.flags.psh = true), data(2)]), [3]);
    }
}
