//! What a receiver tells of marks where RFC 3168's one bit a round trip is not enough.
//!
//! - **Counted** (AccECN, RFC 9768): each packet with data says in three bits how many marked packets came so far. The
//!   byte counters of its option are not sent, and marks on ACKs are not counted.
//! - **Mirrored** (DCTCP, RFC 8257 section 3.2; Linux's `tcp_dctcp.h`): each ACK says of the packets that it
//!   acknowledges whether they were marked. So when that changes, what was delayed is acknowledged first, with the old
//!   word, and the change itself at once.
//!
//! Classic ECN stays in `arrival`.

use super::{Ack, Echo, Receiver};
use crate::cc::EcnUse;
use crate::packet::{Ace, Ecn, Segment};
use crate::transport::FIRST_COUNT;

/// What it remembers.
#[derive(Debug, Default)]
pub(super) struct Feedback {
    /// Was the last packet marked (`ce_state`)?
    marked: bool,
    /// `rcv_nxt` when it had come (`prior_rcv_nxt`).
    reached: u64,
    /// An ACK that is due before all others: it says what held before the last packet.
    past: Option<u64>,
    /// Marked packets so far (RFC 9768's `r.cep`, less where it begins).
    count: u32,
    /// And how many no ACK has told of.
    untold: u32,
}

impl Receiver {
    /// ECN was negotiated: how the sender wants to be told.
    pub fn feed_back(&mut self, ecn_use: EcnUse) {
        self.feedback = Feedback { reached: self.rcv_nxt, ..Feedback::default() };
        self.ecn = match ecn_use {
            EcnUse::Classic => self.ecn,
            EcnUse::Mirrored => Echo::Mirroring,
            EcnUse::Counted => Echo::Counting,
        };
    }

    /// A packet with data came.
    pub(super) fn feed(&mut self, ecn: Ecn, segments: u16) {
        match ecn {
            _ if self.ecn == Echo::Counting => self.count(ecn == Ecn::Ce, u32::from(segments)),
            // Only a sender that fell out of step sends such a one.
            Ecn::NotEct => self.delay.be_quick(FEW_QUICK, self.space.offered),
            Ecn::Ect0 | Ecn::Ect1 => self.mirror(false),
            Ecn::Ce => self.mirror(true),
        }
    }

    /// Puts into a segment what it tells of marks. True: that segment is complete, it speaks of the past.
    #[inline(never)]
    pub(super) fn fill_feedback(&mut self, segment: &mut Segment) -> bool {
        if self.ecn == Echo::Counting {
            segment.flags.ace = Some(Ace::counting(FIRST_COUNT + self.feedback.count));
            self.feedback.untold = 0;
            return false;
        }
        segment.flags.ece = matches!(self.ecn, Echo::Echoing | Echo::MirroringCe);
        let Some(reached) = self.feedback.past.take() else { return false };
        segment.ack = reached;
        segment.flags.ece = !self.feedback.marked;
        if self.disordered {
            segment.sack = self.tell_holes();
        }
        segment.window = self.offer();
        self.delay.on_past_ack_sent();
        self.ack = Ack::Check;
        true
    }

    /// The first mark after none is told at once, and so is every second one (section 3.2.2.5.1).
    fn count(&mut self, marked: bool, packets: u32) {
        let feedback = &mut self.feedback;
        if marked {
            feedback.count += packets;
            feedback.untold += packets;
            if !feedback.marked || feedback.untold >= MOST_UNTOLD {
                self.delay.hurry();
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
                self.ack = Ack::Due;
            }
            self.delay.hurry();
        }
        feedback.reached = self.rcv_nxt;
        feedback.marked = marked;
        self.ecn = if marked { Echo::MirroringCe } else { Echo::Mirroring };
    }
}

/// Quick ACKs after a packet that is not capable (`tcp_enter_quickack_mode`).
const FEW_QUICK: u8 = 2;
/// Marks that an ACK must tell of.
const MOST_UNTOLD: u32 = 2;
