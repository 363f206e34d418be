//! ECN as a sender keeps it (RFC 3168 section 6.1), and the count of marks of a receiver that counts them (RFC 9768).

use crate::cc::EcnUse;
use crate::packet::Ace;
use crate::transport::FIRST_COUNT;

/// The state of ECN.
#[derive(Clone, Debug, Default)]
pub(super) struct Ecn {
    negotiated: bool,
    /// Is a reduction answered with CWR? Not with counted marks.
    answers: bool,
    /// Counted marks (RFC 9768's `s.cep`, less its initial value).
    marks: u32,
    /// The next new data carries CWR.
    cwr_queued: bool,
}

impl Ecn {
    /// Sets whether ECN was negotiated, and how it is used.
    pub fn negotiate(&mut self, negotiated: bool, ecn_use: EcnUse) {
        self.negotiated = negotiated;
        self.answers = negotiated && ecn_use != EcnUse::Counted;
    }

    /// Was ECN negotiated?
    pub const fn is_negotiated(&self) -> bool {
        self.negotiated
    }

    /// The window is reduced: the next new data carries CWR.
    pub const fn queue_cwr(&mut self) {
        self.cwr_queued = self.answers;
    }

    /// The reduction is undone.
    pub const fn cancel_cwr(&mut self) {
        self.cwr_queued = false;
    }

    /// New data is sent: does it carry CWR?
    pub const fn take_cwr(&mut self) -> bool {
        self.negotiated && core::mem::replace(&mut self.cwr_queued, false)
    }

    /// Marks newly reported by an ACK that delivers something; one that delivers nothing may be an old one (RFC 9768
    /// section 3.2.2.5, appendix A.1). A wrap of the count is not visible; a receiver that reports every second mark
    /// makes a wrap require the loss of three ACKs in a row (L4S's Linux: `tcp_ecn_unsafe_cep`).
    pub const fn count_marks(&mut self, ace: Ace) -> u32 {
        let marks = (ace.bits() as u32).wrapping_sub(self.marks + FIRST_COUNT) & 7;
        self.marks += marks;
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each CWR answers one reduction, unless that is undone; counted marks are never answered.
        #[test]
        fn a_reduction_is_answered_once(negotiated in any::<bool>(), counted in any::<bool>(), undone in any::<bool>()) {
            let mut ecn = Ecn::default();
            ecn.negotiate(negotiated, if counted { EcnUse::Counted } else { EcnUse::Classic });
            prop_assert!(!ecn.take_cwr());
            ecn.queue_cwr();
            if undone {
                ecn.cancel_cwr();
            }
            prop_assert_eq!(ecn.take_cwr(), negotiated && !counted && !undone);
            prop_assert!(!ecn.take_cwr());
        }

        /// The count has three bits: fewer than eight marks an ACK are counted exactly.
        #[test]
        fn the_count_follows_the_receivers(marks in prop::collection::vec(0_u32..8, 0..100)) {
            let mut ecn = Ecn::default();
            let mut total = FIRST_COUNT;
            for marks in marks {
                total += marks;
                prop_assert_eq!(ecn.count_marks(Ace::counting(total)), marks);
            }
        }
    }
}
