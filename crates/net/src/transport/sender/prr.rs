//! Proportional rate reduction (RFC 6937 with Linux's changes; `tcp_cwnd_reduction`).
//!
//! The window follows the delivered packets, so that it reaches the threshold after a round trip instead of stopping the
//! sender for half of one.

use super::number::unsigned;
use crate::number::narrow;

/// One reduction.
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    /// Packets delivered in this reduction.
    delivered: u32,
    /// Packets sent in this reduction.
    out: u32,
}

/// What an ACK changed, and where the window goes. Packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// The window before the reduction.
    pub prior_cwnd: u32,
    /// The window after it.
    pub ssthresh: u32,
    /// In flight now.
    pub in_flight: u32,
    /// Delivered by this ACK.
    pub delivered: u32,
    /// Found lost by this ACK.
    pub losses: u32,
    /// Does this ACK advance `snd_una`?
    pub advances: bool,
}

impl Prr {
    /// A reduction begins.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// Counts packets sent in the reduction.
    pub const fn sent(&mut self, packets: u32) {
        self.out += packets;
    }

    /// The window after an ACK; None if it does not change.
    pub fn cwnd(&mut self, ack: &Progress) -> Option<u32> {
        let prior_cwnd = u64::from(ack.prior_cwnd);
        if ack.delivered == 0 || prior_cwnd == 0 {
            return None;
        }
        self.delivered += ack.delivered;
        let (ssthresh, in_flight) = (u64::from(ack.ssthresh), u64::from(ack.in_flight));
        let (delivered, out) = (i64::from(self.delivered), i64::from(self.out));
        let send = if in_flight > ssthresh {
            (ssthresh * u64::from(self.delivered)).div_ceil(prior_cwnd).cast_signed() - out
        } else {
            let conserve = (delivered - out).max(i64::from(ack.delivered));
            let grow = i64::from(ack.advances && ack.losses == 0);
            (conserve + grow).min((ssthresh - in_flight).cast_signed())
        };
        // The first retransmission of a recovery is sent at once.
        let send = send.max(i64::from(out == 0));
        Some(narrow(unsigned(in_flight.cast_signed() + send)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A round trip of a reduction: `cwnd` packets are out and the first `lost` of them are lost, which the first ACK
        /// shows; the others are delivered one by one. What the window allows is sent at once.
        #[test]
        fn a_round_trip_reaches_the_threshold(cwnd in 4_u32..400, lost in 1_u32..40, percent in 30_u32..90) {
            prop_assume!(lost < cwnd);
            let ssthresh = (cwnd * percent / 100).max(2);
            let mut prr = Prr { delivered: 3, out: 5 };
            prr.restart();
            let mut in_flight = cwnd - lost;
            let mut sent = 0;
            for delivered in 1..=cwnd - lost {
                in_flight -= 1;
                let losses = if delivered == 1 { lost } else { 0 };
                let ack = Progress { prior_cwnd: cwnd, ssthresh, in_flight, delivered: 1, losses, advances: false };
                let window = prr.cwnd(&ack).unwrap();
                if delivered == 1 {
                    prop_assert!(window > in_flight, "the first retransmission is sent at once");
                }
                let allowed = window.saturating_sub(in_flight);
                // RFC 6937 section 3: above the threshold in proportion, below it one for one, never beyond it.
                if in_flight > ssthresh {
                    let share = u64::from(ssthresh) * u64::from(delivered);
                    prop_assert_eq!(u64::from(sent + allowed), share.div_ceil(u64::from(cwnd)).max(u64::from(sent)).max(1));
                } else {
                    prop_assert!(window <= ssthresh.max(in_flight + 1));
                    prop_assert!(allowed >= u32::from(in_flight < ssthresh), "conserves packets");
                }
                prr.sent(allowed);
                sent += allowed;
                in_flight += allowed;
            }
            // Everything sent before the reduction has left: what is in flight was sent in it.
            prop_assert_eq!(in_flight, sent);
            prop_assert!(in_flight <= ssthresh.max(1), "{in_flight} of {ssthresh}");
            prop_assert!(in_flight + lost >= ssthresh.min(cwnd - lost), "{in_flight} of {ssthresh}");
        }

        /// Below the threshold the window grows by what is delivered, by one more if the ACK advances without a loss, and
        /// makes up for what was delivered but not sent before.
        #[test]
        fn below_the_threshold_packets_are_conserved(
            before in 0_u32..50,
            out in 1_u32..50,
            delivered in 1_u32..20,
            losses in 0_u32..3,
            advances in any::<bool>(),
            room in prop_oneof![Just(0), 0_u32..100],
        ) {
            let (ssthresh, in_flight) = (200, 200 - room);
            let mut prr = Prr::default();
            let ack = |delivered| Progress { prior_cwnd: 400, ssthresh, in_flight, delivered, losses, advances };
            prop_assert_eq!(prr.cwnd(&ack(0)), None);
            prop_assert_eq!(prr.cwnd(&Progress { prior_cwnd: 0, ..ack(1) }), None);
            prr.cwnd(&ack(before));
            prr.sent(out);
            let owed = (before + delivered).saturating_sub(out).max(delivered) + u32::from(advances && losses == 0);
            prop_assert_eq!(prr.cwnd(&ack(delivered)), Some(in_flight + owed.min(room)));
        }
    }
}
