//! Retransmission timeouts in a row, and whether the last one was spurious (F-RTO, RFC 5682; `tcp_process_loss`).
//!
//! [`super::recovery`] enters and leaves the Loss state; [`super::timer`] has the timer.

/// Retransmission timeouts, and what follows one.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeouts {
    /// Since `snd_una` last advanced.
    in_a_row: u32,
    /// Of the connection, modulo 2¹⁶.
    total: u16,
    /// Is F-RTO checking whether the timeout was spurious?
    is_frto: bool,
    /// Did the receiver drop data that it had SACKed?
    has_reneged: bool,
}

/// What an ACK in the Loss state shows.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about an ACK")]
pub(super) struct Evidence {
    /// Something that was sent once, before the timeout, was delivered.
    pub acks_original: bool,
    /// New data was sent since the timeout.
    pub sent_new_data: bool,
    /// It SACKs something new, or is a duplicate.
    pub repeats: bool,
    /// It advances `snd_una`, but not to the end of what was outstanding at the timeout.
    pub is_partial: bool,
    /// Is there new data that the peer's window allows?
    pub may_send_new_data: bool,
}

/// F-RTO's answer to an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frto {
    /// None: nothing is known yet, or the loss was real.
    Continue,
    /// The timeout was spurious.
    Spurious,
    /// Progress, and no new data to find out more: the loss counts as real.
    Advance,
    /// Progress: send new data, and wait for its ACKs.
    SendNewData,
}

impl Timeouts {
    /// `snd_una` advances, or the timeout was spurious.
    pub const fn progressed(&mut self) {
        self.in_a_row = 0;
    }

    /// Is no timeout counted since `snd_una` last advanced?
    pub const fn is_first(&self) -> bool {
        self.in_a_row == 0
    }

    /// Timeouts of the connection, modulo 2¹⁶.
    pub const fn total(&self) -> u16 {
        self.total
    }

    /// Counts a timeout.
    pub const fn count(&mut self) {
        self.in_a_row += 1;
        self.total = self.total.wrapping_add(1);
    }

    /// The Loss state is entered; `is_new`: not from a recovery. F-RTO begins (RFC 5682 section 3.1 step 1, and 3.2 for
    /// repeated timeouts).
    pub const fn begin_frto(&mut self, is_new: bool) {
        self.is_frto = is_new || self.in_a_row > 0;
    }

    /// F-RTO ends: no new data could be sent.
    pub const fn end_frto(&mut self) {
        self.is_frto = false;
    }

    /// Takes one of F-RTO's steps, if it is checking.
    pub const fn check(&mut self, ack: Evidence) -> Frto {
        if !self.is_frto {
            return Frto::Continue;
        }
        // RFC 5682 section 3.1 step 3.b: something never retransmitted arrived, so not everything was lost.
        if ack.acks_original {
            return Frto::Spurious;
        }
        if ack.sent_new_data {
            if ack.repeats {
                self.is_frto = false; // Step 3.a: the loss was real.
            }
            return Frto::Continue;
        }
        if !ack.is_partial {
            return Frto::Continue;
        }
        if ack.may_send_new_data {
            return Frto::SendNewData; // Step 2.b.
        }
        self.is_frto = false;
        Frto::Advance
    }

    /// The receiver dropped data that it had SACKed.
    pub const fn reneged(&mut self) {
        self.has_reneged = true;
    }

    /// Did the receiver drop data that it had SACKed?
    pub const fn has_reneged(&self) -> bool {
        self.has_reneged
    }

    /// What the receiver dropped is delivered.
    pub const fn end_reneging(&mut self) {
        self.has_reneged = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Evidence = Evidence {
        acks_original: false,
        sent_new_data: false,
        repeats: false,
        is_partial: false,
        may_send_new_data: true,
    };

    fn after_timeout() -> Timeouts {
        let mut timeouts = Timeouts::default();
        timeouts.begin_frto(true);
        timeouts.count();
        timeouts
    }

    /// RFC 5682 section 3.1: progress, new data, and then an ACK of something that was never retransmitted.
    #[test]
    fn an_original_after_new_data_shows_a_spurious_timeout() {
        let mut timeouts = after_timeout();
        assert_eq!(
            timeouts.check(Evidence { repeats: true, ..NOTHING }),
            Frto::Continue,
            "step 2.a waits for progress"
        );
        assert_eq!(timeouts.check(Evidence { is_partial: true, ..NOTHING }), Frto::SendNewData);
        let new = Evidence { sent_new_data: true, ..NOTHING };
        assert_eq!(timeouts.check(new), Frto::Continue);
        assert_eq!(timeouts.check(Evidence { acks_original: true, ..new }), Frto::Spurious);
    }

    #[test]
    fn a_duplicate_after_new_data_shows_a_real_loss() {
        let mut timeouts = after_timeout();
        timeouts.check(Evidence { is_partial: true, ..NOTHING });
        let repeats = Evidence { sent_new_data: true, repeats: true, ..NOTHING };
        assert_eq!(timeouts.check(repeats), Frto::Continue);
        assert_eq!(timeouts.check(Evidence { acks_original: true, ..repeats }), Frto::Continue, "F-RTO has ended");
    }

    #[test]
    fn without_new_data_the_loss_counts_as_real() {
        let mut timeouts = after_timeout();
        let partial = Evidence { is_partial: true, may_send_new_data: false, ..NOTHING };
        assert_eq!(timeouts.check(partial), Frto::Advance);
        assert_eq!(timeouts.check(Evidence { acks_original: true, ..partial }), Frto::Continue);
    }

    /// Section 3.2: a timeout within a recovery is not checked, unless it repeats one.
    #[test]
    fn only_a_repeated_timeout_is_checked_within_a_recovery() {
        let mut timeouts = Timeouts::default();
        timeouts.begin_frto(false);
        let original = Evidence { acks_original: true, ..NOTHING };
        assert_eq!(timeouts.check(original), Frto::Continue);
        timeouts.count();
        timeouts.begin_frto(false);
        assert_eq!(timeouts.check(original), Frto::Spurious);
        timeouts.progressed();
        timeouts.begin_frto(false);
        assert_eq!(timeouts.check(original), Frto::Continue, "progress ended the row");
        assert_eq!(timeouts.total(), 1);
    }
}
