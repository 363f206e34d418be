//! Whether a reduction may be undone because the loss turned out to be spurious.
//!
//! Two kinds of evidence: DSACKs for every retransmission, and an echo older than the first retransmission (Eifel, RFC
//! 3522). [`super::timeouts`] has the third, F-RTO; [`super::recovery`] undoes.

/// What an undo needs to know about the reduction.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// `snd_una` when the window was reduced, while that may still be undone.
    marker: Option<u64>,
    /// Retransmissions not yet answered by a DSACK; -1 when there was none.
    retrans: i64,
    /// The previous threshold; 0 if it must not be restored.
    prior_ssthresh: u32,
    /// TSval of the first retransmission in milliseconds.
    stamp_ms: Option<u64>,
    /// The last ACK's TSecr in milliseconds; 0 for none.
    echo_ms: u64,
}

impl Undo {
    /// Nothing was reduced.
    pub const fn new() -> Self {
        Self { marker: None, retrans: -1, prior_ssthresh: 0, stamp_ms: None, echo_ms: 0 }
    }

    /// The reduction that begins now may be undone; `resent` retransmissions are in flight.
    pub const fn allow(&mut self, snd_una: u64, resent: i64) {
        self.marker = Some(snd_una);
        self.retrans = if resent == 0 { -1 } else { resent };
    }

    /// There is nothing to undo any more.
    pub const fn end(&mut self) {
        self.marker = None;
    }

    /// The reduction is undone: returns the threshold to restore, if any.
    pub fn take(&mut self) -> Option<u32> {
        self.end();
        (self.prior_ssthresh > 0).then_some(self.prior_ssthresh)
    }

    /// May the reduction be undone?
    pub const fn is_allowed(&self) -> bool {
        self.marker.is_some()
    }

    /// `snd_una` when the window was reduced, while that may still be undone.
    pub const fn marker(&self) -> Option<u64> {
        self.marker
    }

    /// The threshold to restore.
    pub const fn save_ssthresh(&mut self, ssthresh: u32) {
        self.prior_ssthresh = ssthresh;
    }

    /// An undo restores neither window nor threshold.
    pub const fn keep_reduction(&mut self) {
        self.prior_ssthresh = 0;
    }

    /// The last ACK's TSecr in milliseconds; 0 for none.
    pub const fn take_echo(&mut self, echo_ms: u64) {
        self.echo_ms = echo_ms;
    }

    /// No retransmission is outstanding.
    pub const fn forget_stamp(&mut self) {
        self.stamp_ms = None;
    }

    /// Segments were retransmitted at this time.
    pub fn retransmitted(&mut self, stamp_ms: u64, segments: u32) {
        self.stamp_ms = self.stamp_ms.or(Some(stamp_ms));
        self.retrans = self.retrans.max(0) + i64::from(segments);
    }

    /// A segment that ends here arrived twice.
    pub fn count_duplicate(&mut self, end: u64) {
        if self.retrans > 0 && self.marker.is_some_and(|marker| end > marker) {
            self.retrans -= 1;
        }
    }

    /// May it be undone because every retransmission was answered by a DSACK?
    pub const fn by_duplicates(&self) -> bool {
        self.is_allowed() && self.retrans == 0
    }

    /// May it be undone because nothing was retransmitted yet, or the echo is older than the first retransmission
    /// (`tcp_packet_delayed`)?
    pub fn by_delay(&self) -> bool {
        let was_late = self.stamp_ms.is_none_or(|stamp_ms| self.echo_ms > 0 && self.echo_ms < stamp_ms);
        self.is_allowed() && was_late
    }

    /// May it be undone?
    pub fn is_due(&self) -> bool {
        self.by_duplicates() || self.by_delay()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        /// DSACKs undo a reduction once each retransmission since then, and each one in flight then, was answered; those
        /// below the marker do not count. Without a retransmission there is nothing to answer.
        #[test]
        fn every_retransmission_needs_its_dsack(
            resent in 0_i64..4,
            runs in prop::collection::vec(1_u32..4, 0..5),
            ends in prop::collection::vec(500_u64..1_500, 0..20),
        ) {
            let mut undo = Undo::new();
            undo.count_duplicate(2_000);
            prop_assert!(!undo.by_duplicates());
            undo.allow(1_000, resent);
            undo.take_echo(50);
            for run in &runs {
                undo.retransmitted(10, *run);
            }
            let total = resent + runs.iter().map(|run| i64::from(*run)).sum::<i64>();
            prop_assert_eq!(undo.by_duplicates(), false);
            let mut answered = 0;
            for end in &ends {
                undo.count_duplicate(*end);
                answered += i64::from(*end > 1_000);
                prop_assert_eq!(undo.by_duplicates(), total > 0 && answered >= total);
            }
            undo.end();
            prop_assert!(!undo.is_due());
        }

        /// The first retransmission's time decides (RFC 3522), until none is outstanding; no echo is no evidence.
        #[test]
        fn an_echo_older_than_the_first_retransmission_is_late(
            stamps in prop::collection::vec(1_u64..100, 0..4),
            echo_ms in prop_oneof![1 => Just(0), 3 => 0_u64..100],
            ssthresh in 0_u32..3,
        ) {
            let mut undo = Undo::new();
            let mut sorted: Vec<u64> = stamps;
            sorted.sort_unstable();
            undo.take_echo(echo_ms);
            prop_assert!(!undo.by_delay(), "nothing was reduced");
            undo.allow(1, 0);
            undo.save_ssthresh(ssthresh);
            for stamp in &sorted {
                undo.retransmitted(*stamp, 1);
            }
            let was_late = sorted.first().is_none_or(|first| echo_ms > 0 && echo_ms < *first);
            prop_assert_eq!((undo.by_delay(), undo.is_due()), (was_late, was_late));
            undo.forget_stamp();
            prop_assert!(undo.by_delay());
            prop_assert_eq!(undo.take(), (ssthresh > 0).then_some(ssthresh));
            prop_assert!(!undo.is_due(), "only once");
        }
    }
}
