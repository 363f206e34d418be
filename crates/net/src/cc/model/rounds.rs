//! Packet-timed rounds: from sending a packet to its ACK, counted in delivered packets instead of time.

use crate::cc::SenderState;

/// The number of rounds, and the end of the current one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    /// Rounds so far.
    pub(in crate::cc) count: u32,
    /// The round ends with the ACK of a packet that was sent when this many packets were delivered.
    pub(in crate::cc) end: u64,
    /// Did this ACK start a round?
    pub(in crate::cc) started: bool,
}

impl Rounds {
    pub(in crate::cc) fn new(tp: &SenderState) -> Self {
        Self { count: 0, end: tp.delivered, started: false }
    }

    /// Starts a round if the acknowledged packet was sent in this one; returns whether it did.
    pub(in crate::cc) fn advance(&mut self, tp: &SenderState, prior_delivered: u64) -> bool {
        self.started = prior_delivered >= self.end;
        if self.started {
            self.restart(tp);
            self.count += 1;
        }
        self.started
    }

    /// Makes the round end one round trip from now.
    pub(in crate::cc) fn restart(&mut self, tp: &SenderState) {
        self.end = tp.delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, tp};

    #[test]
    fn a_round_ends_with_a_packet_sent_in_it() {
        let (mut tp, _cc) = (tp(), cc());
        let mut rounds = Rounds::new(&tp);
        // Ten packets sent when 1 was delivered, then one for each ACK.
        tp.delivered = 2;
        assert!(rounds.advance(&tp, 1));
        for delivered in 3..12 {
            tp.delivered = delivered;
            assert!(!rounds.advance(&tp, 1), "{delivered}");
        }
        tp.delivered = 12;
        assert!(rounds.advance(&tp, 2));
        assert_eq!((rounds.count, rounds.end), (2, 12));
    }
}
