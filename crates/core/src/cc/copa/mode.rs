//! Copa's two modes: alone it keeps δ, beside flows that fill the buffer 1/δ grows and halves as Reno's window does.
//!
//! 1/δ is the number of packets that a flow is after in the queue, kept in 1/256 packets.

/// One packet of 1/δ.
pub(super) const PACKET: u64 = 256;

/// What the flow is after now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    default: u64,
    inverse_delta: u64,
    competes: bool,
    lost: bool,
}

impl Mode {
    /// Begins in the default mode with 1/δ of `inverse_delta` 1/256 packets.
    pub(super) const fn new(inverse_delta: u64) -> Self {
        Self { default: inverse_delta, inverse_delta, competes: false, lost: false }
    }

    /// 1/δ in 1/256 packets.
    pub(super) const fn inverse_delta(&self) -> u64 {
        self.inverse_delta
    }

    /// Is it the competitive one?
    pub(super) const fn competes(&self) -> bool {
        self.competes
    }

    /// Packets were lost.
    pub(super) const fn note_loss(&mut self) {
        self.lost = true;
    }

    /// A round trip is over: AIMD on 1/δ where the queue is never empty, δ's default where it is (section 2.2).
    pub(super) fn end_round(&mut self, was_nearly_empty: bool) {
        let lost = core::mem::take(&mut self.lost);
        self.competes = !was_nearly_empty;
        self.inverse_delta = match (self.competes, lost) {
            (false, _) => self.default,
            (true, false) => (self.inverse_delta + PACKET).min(MOST),
            (true, true) => (self.inverse_delta / 2).max(self.default),
        };
    }
}

/// A million packets: no arithmetic overflows.
const MOST: u64 = PACKET << 20;

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
        assert_eq!(packets(&mode), 7, "halved once, and one more");
        mode.end_round(true);
        assert_eq!((packets(&mode), mode.competes()), (2, false));
    }

    #[test]
    fn loss_alone_is_no_reason_to_change() {
        let mut mode = Mode::new(2 * PACKET);
        mode.note_loss();
        mode.end_round(true);
        assert_eq!(mode, Mode::new(2 * PACKET));
    }
}
