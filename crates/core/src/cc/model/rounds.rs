//! Rounds: the time from sending a packet to its ACK, counted in packets delivered, not by a clock.

use crate::cc::Vitals;

/// How many rounds there were, and where this one ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cc) struct Rounds {
    /// Rounds so far.
    pub(in crate::cc) count: u32,
    /// A packet sent when so much was delivered ends the round by its ACK.
    pub(in crate::cc) end: u64,
    /// Did this ACK start a round?
    pub(in crate::cc) started: bool,
}

impl Rounds {
    pub(in crate::cc) fn new(vitals: &Vitals) -> Self {
        Self { count: 0, end: vitals.delivered, started: false }
    }

    /// Starts a round if the packet acknowledged was sent in this one; says so.
    pub(in crate::cc) fn advance(&mut self, vitals: &Vitals, prior_delivered: u64) -> bool {
        self.started = prior_delivered >= self.end;
        if self.started {
            self.restart(vitals);
            self.count += 1;
        }
        self.started
    }

    /// Lets the round end one round trip from now.
    pub(in crate::cc) fn restart(&mut self, vitals: &Vitals) {
        self.end = vitals.delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::vitals;

    #[test]
    fn a_round_ends_with_a_packet_that_was_sent_in_it() {
        let mut vitals = vitals();
        let mut rounds = Rounds::new(&vitals);
        // Ten packets sent when 1 was delivered, then one for each ACK.
        vitals.delivered = 2;
        assert!(rounds.advance(&vitals, 1));
        for delivered in 3..12 {
            vitals.delivered = delivered;
            assert!(!rounds.advance(&vitals, 1), "{delivered}");
        }
        vitals.delivered = 12;
        assert!(rounds.advance(&vitals, 2));
        assert_eq!((rounds.count, rounds.end), (2, 12));
    }
}
