//! The size of a packet on the link behind cake (`cake_overhead`).

use crate::packet::{ETHERNET_BYTES, Packet, cut};
use crate::queue::config::{Framing, Link};

impl Link {
    /// Bytes of a packet on the link; a super-packet counts as its separate segments.
    pub(super) fn bytes(&self, packet: &Packet) -> u32 {
        if packet.segments > 1
            && let Some(segments) = cut(*packet)
        {
            return segments.map(|segment| self.framed(segment.bytes)).sum();
        }
        self.framed(packet.bytes)
    }

    fn framed(&self, bytes: u32) -> u32 {
        let counted = if self.raw { bytes } else { bytes.saturating_sub(ETHERNET_BYTES) };
        let counted_bytes = counted.saturating_add_signed(self.overhead).max(self.least);
        match self.framing {
            Framing::Plain => counted_bytes,
            Framing::Atm => counted_bytes.div_ceil(ATM_PAYLOAD) * ATM_CELL,
            Framing::Ptm => counted_bytes + counted_bytes.div_ceil(PTM_BLOCK),
        }
    }
}

const ATM_CELL: u32 = 53;
const ATM_PAYLOAD: u32 = 48;
/// PTM adds one byte for every this many bytes.
const PTM_BLOCK: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::tcp;

    fn link(overhead: i32, least: u32, framing: Framing) -> Link {
        Link { overhead, raw: false, least, framing }
    }

    #[test]
    fn a_packet_has_its_size_on_the_link() {
        let full = tcp(0, 1_514, 1, 0);
        let table = [
            (Link { raw: true, ..link(0, 0, Framing::Plain) }, 1_514),
            (Link { raw: true, ..link(10, 0, Framing::Plain) }, 1_524),
            (link(0, 0, Framing::Plain), 1_500),
            (link(38, 84, Framing::Plain), 1_538),
            (link(48, 0, Framing::Atm), 33 * 53),
            (link(30, 0, Framing::Ptm), 1_530 + 24),
            (link(-64, 0, Framing::Plain), 1_436),
        ];
        for (link, bytes) in table {
            assert_eq!(link.bytes(&full), bytes, "{link:?}");
        }
        assert_eq!(link(38, 84, Framing::Plain).bytes(&tcp(0, 54, 1, 0)), 84);
    }

    #[test]
    fn a_super_packet_counts_each_of_its_segments() {
        let three = tcp(0, 3 * 1_514, 3, 0);
        assert_eq!(link(48, 0, Framing::Atm).bytes(&three), 3 * 33 * 53);
    }
}
