//! The window that the peer offers (`tcp_ack_update_window`).

use crate::packet::Segment;

/// The peer's window.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer {
    /// Bytes from `snd_una` on.
    window: u32,
    /// The largest window so far.
    largest: u32,
    /// Sequence number of the segment that updated it (`snd_wl1`).
    updated_by: u64,
}

/// What a segment did to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Update {
    /// It is too old, or repeats what is known.
    No,
    /// It confirms the window.
    Same,
    /// It changes the window.
    Changed,
    /// It changes the window to the largest so far.
    Largest,
}

impl Peer {
    /// The handshake's window.
    pub const fn new(window: u32) -> Self {
        Self { window, largest: window, updated_by: 0 }
    }

    /// Bytes from `snd_una` on.
    pub const fn window(&self) -> u32 {
        self.window
    }

    /// The largest window so far.
    pub const fn largest(&self) -> u32 {
        self.largest
    }

    /// Takes the window of a segment that acknowledges `snd_una` or more, which is before that.
    #[inline]
    pub fn take(&mut self, segment: &Segment, snd_una: u64) -> Update {
        let updates = segment.ack > snd_una
            || segment.seq > self.updated_by
            || (segment.seq == self.updated_by && (segment.window > self.window || segment.window == 0));
        if !updates {
            return Update::No;
        }
        self.updated_by = segment.seq;
        if segment.window == self.window {
            return Update::Same;
        }
        self.window = segment.window;
        if segment.window <= self.largest {
            return Update::Changed;
        }
        self.largest = segment.window;
        Update::Largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// RFC 9293 section 3.10.7.4: a segment older than the last update changes nothing, so a reordered ACK cannot
        /// bring an old window back; a window only shrinks by a segment that is newer, or that closes it.
        #[test]
        fn an_old_segment_does_not_change_the_window(
            segments in prop::collection::vec((0_u64..6, 0_u64..6, 0_u32..5), 1..40),
        ) {
            let mut peer = Peer::new(3);
            let (mut una, mut newest, mut window, mut largest) = (0, 0, 3, 3);
            for (seq, ack, offered) in segments {
                let segment = Segment { seq, ack: ack.max(una), window: offered, ..Segment::default() };
                let update = peer.take(&segment, una);
                let is_newer = segment.ack > una || seq > newest;
                let counts = is_newer || (seq == newest && (offered > window || offered == 0));
                prop_assert_eq!(update != Update::No, counts);
                prop_assert_eq!(matches!(update, Update::Changed | Update::Largest), counts && offered != window);
                prop_assert_eq!(update == Update::Largest, counts && offered > largest);
                if counts {
                    (newest, window) = (seq, offered);
                    largest = largest.max(offered);
                }
                una = segment.ack;
                prop_assert_eq!((peer.window(), peer.largest()), (window, largest));
            }
        }
    }
}
