//! The probe of the tail, sent when no ACKs arrive for two round trips (TLP, RFC 8985 section 7).
//!
//! [`super::timer`] decides when, [`super::transmit`] sends it, [`super::recovery`] acts on the answer.

/// A loss probe that is not answered yet; one per episode.
#[derive(Clone, Debug, Default)]
pub(super) struct LossProbe {
    /// `snd_nxt` when it was sent, until it is answered.
    end: Option<u64>,
    /// Is it a retransmission?
    is_retransmission: bool,
}

/// What an ACK says about the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing, or nothing that matters.
    Nothing,
    /// The probe, a retransmission, repaired a loss.
    Repaired,
    /// It may have: the ACK goes up to the probe and no further.
    Ambiguous,
}

impl LossProbe {
    /// It is sent.
    pub const fn begin(&mut self, snd_nxt: u64, is_retransmission: bool) {
        *self = Self { end: Some(snd_nxt), is_retransmission };
    }

    /// The probe is answered, or no longer matters.
    pub const fn end(&mut self) {
        self.end = None;
    }

    /// Is a probe out?
    pub const fn is_out(&self) -> bool {
        self.end.is_some()
    }

    /// Is a probe out that is a retransmission?
    pub const fn is_retransmission_out(&self) -> bool {
        self.is_out() && self.is_retransmission
    }

    /// Does this sequence number end the probe?
    pub fn ends_at(&self, seq: u64) -> bool {
        self.end == Some(seq)
    }

    /// An ACK arrived (`tcp_process_tlp_ack`); it has the probe's DSACK, or is nothing but a duplicate.
    pub fn take_ack(&mut self, acked: u64, has_dsack: bool, is_pure_duplicate: bool) -> Answer {
        let Some(end) = self.end.filter(|end| acked >= *end) else { return Answer::Nothing };
        if !self.is_retransmission || has_dsack {
            self.end(); // New data, or both copies arrived.
            return Answer::Nothing;
        }
        if acked > end {
            self.end();
            return Answer::Repaired;
        }
        if is_pure_duplicate {
            self.end(); // The probe's own duplicate.
            return Answer::Nothing;
        }
        Answer::Ambiguous
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// RFC 8985 section 7.4.2: a loss is certain only if something beyond the probe, which was a retransmission, is
        /// acknowledged and no DSACK came before.
        #[test]
        fn only_an_ack_beyond_a_retransmission_shows_a_repair(
            is_retransmission in any::<bool>(),
            acks in prop::collection::vec((90_u64..110, any::<bool>(), any::<bool>()), 1..8),
        ) {
            let mut probe = LossProbe::default();
            prop_assert_eq!(probe.take_ack(200, false, false), Answer::Nothing);
            probe.begin(100, is_retransmission);
            let mut is_out = true;
            for (acked, has_dsack, is_pure_duplicate) in acks {
                let counts = is_out && acked >= 100;
                let is_certain = !is_retransmission || has_dsack;
                let answer = match () {
                    () if !counts || is_certain => Answer::Nothing,
                    () if acked > 100 => Answer::Repaired,
                    () if is_pure_duplicate => Answer::Nothing,
                    () => Answer::Ambiguous,
                };
                prop_assert_eq!(probe.take_ack(acked, has_dsack, is_pure_duplicate), answer);
                is_out &= !counts || answer == Answer::Ambiguous;
                prop_assert_eq!(probe.is_out(), is_out);
                prop_assert_eq!(probe.is_retransmission_out(), is_out && is_retransmission);
                prop_assert_eq!(probe.ends_at(100), is_out);
            }
        }
    }
}
