//! The packet on its way out: handed out whole, or segment by segment when the device cuts super-packets.

use super::Transmission;

/// What was polled last, and what is left of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outgoing {
    rest: Transmission,
    last: Transmission,
    mss: u32,
    cuts: bool,
}

impl Outgoing {
    /// For a device that cuts packets into segments of `mss` bytes, or one that doesn't.
    pub fn new(mss: u32, cuts: bool) -> Self {
        Self { mss, cuts, ..Self::default() }
    }

    /// Are packets cut?
    pub const fn cuts(&self) -> bool {
        self.cuts
    }

    /// Is anything left of the packet that was polled last?
    pub const fn has_rest(&self) -> bool {
        self.rest.segments > 0
    }

    /// Hands out a packet, or its first segment.
    pub fn emit(&mut self, packet: Transmission) -> Transmission {
        self.last = packet;
        if packet.segments == 1 || !self.cuts {
            return packet;
        }
        self.rest = packet;
        self.next().unwrap_or(packet)
    }

    /// The next segment of a packet that is being cut: CWR is on the first, PSH and FIN on the last (`tcp_gso_segment`).
    pub fn next(&mut self) -> Option<Transmission> {
        let rest = &mut self.rest;
        if rest.segments == 0 {
            return None;
        }
        let mut segment = *rest;
        segment.len = rest.len.min(self.mss);
        segment.segments = 1;
        if rest.segments > 1 {
            (segment.fin, segment.psh) = (false, false);
        }
        rest.seq += u64::from(segment.len);
        rest.len -= segment.len;
        rest.segments -= 1;
        rest.cwr = false;
        self.last = segment;
        Some(segment)
    }

    /// Takes back what was polled last and all that is left of it, as one transmission.
    pub fn retract(&mut self) -> Transmission {
        let rest = core::mem::take(&mut self.rest);
        let len = self.last.len + rest.len;
        Transmission { len, segments: self.last.segments + rest.segments, ..core::mem::take(&mut self.last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_packet_keeps_its_bytes_and_its_flags_at_the_right_ends() {
        let mut outgoing = Outgoing::new(1_000, true);
        let whole = Transmission { seq: 1, len: 2_500, segments: 3, psh: true, cwr: true, ..Transmission::default() };
        let first = outgoing.emit(whole);
        assert_eq!((first.seq, first.len, first.psh, first.cwr), (1, 1_000, false, true));
        let second = outgoing.next().unwrap();
        assert_eq!((second.seq, second.len, second.psh, second.cwr), (1_001, 1_000, false, false));
        let mut refused = outgoing;
        let back = refused.retract();
        assert_eq!((back.seq, back.len, back.segments), (1_001, 1_500, 2));
        assert_eq!(refused.next(), None);
        let third = outgoing.next().unwrap();
        assert_eq!((third.seq, third.len, third.psh), (2_001, 500, true));
        assert_eq!(outgoing.next(), None);
    }
}
