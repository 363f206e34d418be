//! Copa's two modes: δ is constant by default; next to buffer-filling flows 1/δ grows and halves like Reno's window.
//!
//! 1/δ is a flow's target number of packets in the queue, in 1/256 packets.

/// One packet in the unit of 1/δ.
pub(super) const PACKET: u64 = 256;

/// The current mode and 1/δ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    default: u64,
    inverse_delta: u64,
    competes: bool,
    lost: bool,
}

impl Mode {
    /// Starts in the default mode with 1/δ of `inverse_delta` 1/256 packets.
    pub(super) const fn new(inverse_delta: u64) -> Self {
        Self { default: inverse_delta, inverse_delta, competes: false, lost: false }
    }

    /// 1/δ in 1/256 packets.
    pub(super) const fn inverse_delta(&self) -> u64 {
        self.inverse_delta
    }

    /// Is it the competitive mode?
    pub(super) const fn competes(&self) -> bool {
        self.competes
    }

    /// Packets were lost.
    pub(super) const fn note_loss(&mut self) {
        self.lost = true;
    }

    /// Ends a round trip: AIMD on 1/δ if the queue is never empty, else the default δ (section 2.2).
    pub(super) fn end_round(&mut self, was_nearly_empty: bool) {
        let lost = core::mem::take(&mut self.lost);
        self.competes = !was_nearly_empty;
        self.inverse_delta = match (self.competes, lost) {
            (false, _) => self.default,
            (true, false) => (self.inverse_delta + PACKET).min(MAX),
            (true, true) => (self.inverse_delta / 2).max(self.default),
        };
    }
}

/// A million packets: no arithmetic overflows.
const MAX: u64 = PACKET << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_competes_like_reno_and_returns_to_its_default() {
        let mut mode = Mode::new(2 * PACKET);
        let packets = |mode: &Mode| mode.inverse_delta() / PACKET;
        for _ in 0..10 {
            mode.end_round(false);
        }
        assert_eq!((packets(&mode), mode.competes()), (12, true));
        mode.note_loss();
        mode.end_round(false);
        mode.end_round(false);
        assert_eq!(packets(&mode), 7, "halved once, plus one");
        mode.end_round(true);
        assert_eq!((packets(&mode), mode.competes()), (2, false));
    }

    #[test]
    fn loss_alone_does_not_change_the_mode() {
        let mut mode = Mode::new(2 * PACKET);
        mode.note_loss();
        mode.end_round(true);
        assert_eq!(mode, Mode::new(2 * PACKET));
    }
}
