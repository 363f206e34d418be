//! ECN feedback for controllers that need more than RFC 3168's one bit per round trip.
//!
//! - **Counted** (AccECN, RFC 9768): each packet has the number of marked packets so far in a three-bit field. The
//!   option's byte counters are not sent, and marks on ACKs are not counted.
//! - **Mirrored** (DCTCP, RFC 8257 section 3.2; Linux's `tcp_dctcp.h`): each ACK reports whether the packets that it
//!   acknowledges were marked. When the marking changes, delayed packets are acknowledged first, with the old state,
//!   and the change itself at once.
//!
//! Classic ECN is in `arrival`.

use super::{Ack, Echo, Receiver};
use crate::cc::EcnUse;
use crate::packet::{Ace, Ecn, Segment};
use crate::transport::FIRST_COUNT;

/// Feedback state.
#[derive(Debug, Default)]
pub(super) struct Feedback {
    /// Was the last packet marked (`ce_state`)?
    marked: bool,
    /// `rcv_nxt` when it had arrived (`prior_rcv_nxt`).
    reached: u64,
    /// An ACK to send before all others, with the state before the last packet.
    past: Option<u64>,
    /// Marked packets so far (RFC 9768's `r.cep`, less its initial value).
    count: u32,
    /// Marks that no ACK has reported.
    unreported: u32,
}

impl Receiver {
    /// ECN was negotiated; sets the kind of feedback that the sender needs.
    pub fn send_feedback(&mut self, ecn_use: EcnUse) {
        self.feedback = Feedback { reached: self.rcv_nxt, ..Feedback::default() };
        self.ecn = match ecn_use {
            EcnUse::Classic => self.ecn,
            EcnUse::Mirrored => Echo::Mirroring,
            EcnUse::Counted => Echo::Counting,
        };
    }

    /// A data packet arrived.
    pub(super) fn feed(&mut self, ecn: Ecn, segments: u16) {
        match ecn {
            _ if self.ecn == Echo::Counting => self.count(ecn == Ecn::Ce, u32::from(segments)),
            // Data that are not ECN-capable: the sender is out of step.
            Ecn::NotEct => self.delay.enter_quickack_mode(FEW_QUICK_ACKS, self.space.offered),
            Ecn::Ect0 | Ecn::Ect1 => self.mirror(false),
            Ecn::Ce => self.mirror(true),
        }
    }

    /// Fills in the feedback of a segment. True: the segment is complete, it reports an earlier state.
    #[inline(never)]
    pub(super) fn fill_feedback(&mut self, segment: &mut Segment) -> bool {
        if self.ecn == Echo::Counting {
            segment.flags.ace = Some(Ace::counting(FIRST_COUNT + self.feedback.count));
            self.feedback.unreported = 0;
            return false;
        }
        segment.flags.ece = matches!(self.ecn, Echo::Echoing | Echo::MirroringCe);
        let Some(reached) = self.feedback.past.take() else { return false };
        segment.ack = reached;
        segment.flags.ece = !self.feedback.marked;
        if self.disordered {
            segment.sack = self.report_holes();
        }
        segment.window = self.offer();
        self.delay.on_past_ack_sent();
        self.ack = Ack::Check;
        true
    }

    /// The first mark after none is reported at once, and so is every second one (section 3.2.2.5.1).
    fn count(&mut self, marked: bool, packets: u32) {
        let feedback = &mut self.feedback;
        if marked {
            feedback.count += packets;
            feedback.unreported += packets;
            if !feedback.marked || feedback.unreported >= MAX_UNREPORTED {
                self.delay.request_ack_now();
            }
        }
        feedback.marked = marked;
    }

    /// `dctcp_ece_ack_update`.
    fn mirror(&mut self, marked: bool) {
        let feedback = &mut self.feedback;
        if feedback.marked != marked {
            if self.delay.is_delaying() {
                feedback.past = Some(feedback.reached);
                self.ack = Ack::Now;
            }
            self.delay.request_ack_now();
        }
        feedback.reached = self.rcv_nxt;
        feedback.marked = marked;
        self.ecn = if marked { Echo::MirroringCe } else { Echo::Mirroring };
    }
}

/// Quick ACKs after a packet that is not ECN-capable (`tcp_enter_quickack_mode`).
const FEW_QUICK_ACKS: u8 = 2;
/// Marks that force an ACK.
const MAX_UNREPORTED: u32 = 2;
