//! Congestion states, and the window's reduction in them (`tcp_fastretrans_alert`, PRR).
//!
//! ```text
//!            SACK              loss
//!   Open <---------> Disorder ------> Recovery ---+
//!    | ^                 |               |        | high_seq acknowledged, or undone
//!    | +-----------------|---------------|--------+
//!    | ECE, local drop   | timeout       | timeout
//!    v                   v               v
//!   Cwr -------------> Loss <------------+      Loss -> Open likewise
//! ```
//!
//! [`super::rack`] detects losses, [`super::undo`] undoes reductions, [`super::rto`] handles timeouts.

use super::Sender;
use super::ack::{Ack, Rexmit};
use super::number::{narrow, signed, unsigned};
use super::record::Marks;
use super::sack::Seen;
use super::timer::Pending;
use crate::cc::{CaState, CongestionControl, Event, INFINITE_SSTHRESH};

/// State of a recovery episode.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    /// `snd_nxt` when the state was entered: the state ends when that is acknowledged.
    pub high_seq: u64,
    /// `snd_una` when the window was reduced, while that may still be undone.
    pub undo_marker: Option<u64>,
    /// Retransmissions not yet answered by a DSACK; -1 when there was none.
    pub undo_retrans: i64,
    /// The previous threshold; 0 if it must not be restored.
    pub prior_ssthresh: u32,
    /// TSval of the first retransmission in milliseconds.
    pub retrans_stamp_ms: Option<u64>,
    /// The last ACK's TSecr in milliseconds; 0 for none.
    pub echo_ms: u64,
    /// PRR: packets delivered in this reduction.
    pub prr_delivered: u32,
    /// PRR: packets sent in this reduction.
    pub prr_out: u32,
    /// End of the highest SACKed segment; see [`Sender::highest_sack`].
    pub highest_sack: u64,
    /// Blocks of the last ACK.
    pub test_access: Seen,
    /// Packets by which reordering may displace a segment.
    pub reordering: u32,
    /// Number of reordering events.
    pub reord_seen: u32,
    /// Timeouts since `snd_una` last advanced.
    pub timeouts: u32,
    /// Timeouts of the connection, modulo 2¹⁶.
    pub rehashes: u16,
    /// Is F-RTO checking whether the timeout was spurious?
    pub frto: bool,
    /// `snd_nxt` when a loss probe was sent, until it is answered.
    pub probe_end: Option<u64>,
    /// Was that probe a retransmission?
    pub probe_retransmitted: bool,
    /// Did the receiver drop data that it had SACKed?
    pub reneged: bool,
}

impl Recovery {
    /// No episode.
    pub fn new() -> Self {
        Self {
            high_seq: 0,
            undo_marker: None,
            undo_retrans: -1,
            prior_ssthresh: 0,
            retrans_stamp_ms: None,
            echo_ms: 0,
            prr_delivered: 0,
            prr_out: 0,
            highest_sack: 0,
            test_access: Seen::default(),
            reordering: REORDERING,
            reord_seen: 0,
            timeouts: 0,
            rehashes: 0,
            frto: false,
            probe_end: None,
            probe_retransmitted: false,
            reneged: false,
        }
    }

    /// Is the reordering metric above the default?
    pub const fn has_much_reordering(&self) -> bool {
        self.reordering > REORDERING
    }

    /// A segment that ends here arrived twice.
    pub fn count_duplicate(&mut self, end: u64) {
        if self.undo_retrans > 0 && self.undo_marker.is_some_and(|marker| end > marker) {
            self.undo_retrans -= 1;
        }
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Processes an ACK that is not plain progress: states, losses, reductions.
    pub(super) fn alert(&mut self, ack: &mut Ack) -> Rexmit {
        self.recovery.echo_ms = ack.echo_ms;
        if ack.ece {
            self.recovery.prior_ssthresh = 0; // Congestion is certain: no undo.
        }
        if ack.reneges && ack.advances {
            self.wait_for_reneged();
            ack.sets_timer = false;
            return Rexmit::Nothing;
        }
        self.leave_state();
        match self.tp.state {
            CaState::Recovery => self.alert_in_recovery(ack),
            CaState::Loss => self.alert_in_loss(ack),
            _ => self.alert_elsewhere(ack),
        }
    }

    /// Starts a reduction without loss: ECN, or a drop in the host's queue. It cannot be undone.
    pub(super) fn enter_cwr(&mut self) {
        self.recovery.prior_ssthresh = 0;
        if self.tp.state < CaState::Cwr {
            self.recovery.undo_marker = None;
            self.begin_reduction();
            self.set_state(CaState::Cwr);
        }
    }

    /// Starts fast recovery (RFC 6675, RFC 8985).
    pub(super) fn enter_recovery(&mut self, ece: bool) {
        self.forget_old_stamp();
        self.recovery.prior_ssthresh = 0;
        self.allow_undo();
        if !self.is_reducing() {
            if !ece {
                self.recovery.prior_ssthresh = self.cc.current_ssthresh(self.tp.state);
            }
            self.begin_reduction();
        }
        self.set_state(CaState::Recovery);
    }

    /// Is a gradual reduction of the window in progress?
    pub(super) const fn is_reducing(&self) -> bool {
        matches!(self.tp.state, CaState::Cwr | CaState::Recovery)
    }

    /// Proportional rate reduction (RFC 6937 with Linux's changes): the window follows the delivered packets, so that
    /// it reaches the threshold after a round trip (`tcp_cwnd_reduction`).
    pub(super) fn reduce_window(&mut self, delivered: u32, losses: u32, advances: bool) {
        let prior_cwnd = u64::from(self.tp.prior_cwnd);
        if delivered == 0 || prior_cwnd == 0 {
            return;
        }
        let (ssthresh, in_flight) = (u64::from(self.cc.ssthresh), u64::from(self.tp.in_flight()));
        let recovery = &mut self.recovery;
        recovery.prr_delivered += delivered;
        let (prr_delivered, prr_out) = (i64::from(recovery.prr_delivered), i64::from(recovery.prr_out));
        let send = if in_flight > ssthresh {
            signed((ssthresh * u64::from(recovery.prr_delivered)).div_ceil(prior_cwnd)) - prr_out
        } else {
            let conserve = (prr_delivered - prr_out).max(i64::from(delivered));
            let grow = i64::from(advances && losses == 0);
            (conserve + grow).min(signed(ssthresh - in_flight))
        };
        // The first retransmission of a recovery is sent at once.
        let send = send.max(i64::from(prr_out == 0));
        self.cc.cwnd = narrow(unsigned(signed(in_flight) + send));
    }

    /// Sets threshold and counters for a reduction that starts now (`tcp_init_cwnd_reduction`).
    pub(super) fn begin_reduction(&mut self) {
        self.recovery.high_seq = self.tp.snd_nxt;
        self.recovery.probe_end = None;
        self.cc.cwnd_count = 0;
        self.tp.prior_cwnd = self.cc.cwnd;
        self.recovery.prr_delivered = 0;
        self.recovery.prr_out = 0;
        self.cc.ssthresh = self.controller.ssthresh(&self.tp, &mut self.cc);
        self.queue_cwr();
    }

    /// The reduction is complete (`tcp_end_cwnd_reduction`).
    pub(super) fn end_reduction(&mut self) {
        if self.has_cong_control {
            return;
        }
        let counts = self.tp.state == CaState::Cwr || self.recovery.undo_marker.is_some();
        if self.cc.ssthresh < INFINITE_SSTHRESH && counts {
            self.cc.cwnd = self.cc.ssthresh;
            self.usage.stamp = self.jiffy;
        }
        self.controller.cwnd_event(&self.tp, &mut self.cc, Event::CompleteCwr);
    }

    /// Allows an undo of the reduction from here on (`tcp_init_undo`).
    pub(super) fn allow_undo(&mut self) {
        let probe = self.recovery.probe_end.is_some() && self.recovery.probe_retransmitted;
        let resent = i64::from(self.tp.retrans_out) + i64::from(probe);
        self.recovery.undo_marker = Some(self.tp.snd_una);
        self.recovery.undo_retrans = if resent == 0 { -1 } else { resent };
    }

    /// The next new data carries CWR.
    pub(super) const fn queue_cwr(&mut self) {
        self.ecn.cwr_queued = self.ecn.answers;
    }

    /// Returns to Open, or Disorder while anything is unclear (`tcp_try_keep_open`).
    pub(super) fn keep_open(&mut self) {
        let unclear = self.tp.sacked_out + self.tp.lost_out > 0 || self.has_retransmissions();
        let state = if unclear { CaState::Disorder } else { CaState::Open };
        if self.tp.state != state {
            self.set_state(state);
            self.recovery.high_seq = self.tp.snd_nxt;
        }
    }

    /// Is a retransmission outstanding, or is the first outstanding segment one?
    pub(super) fn has_retransmissions(&self) -> bool {
        self.tp.retrans_out > 0 || self.board.front().is_some_and(|front| front.marks.has(Marks::EVER))
    }

    /// Drops the timestamp of the first retransmission when none is outstanding.
    pub(super) fn forget_old_stamp(&mut self) {
        if !self.has_retransmissions() {
            self.recovery.retrans_stamp_ms = None;
        }
    }

    /// Leaves states that end when `high_seq` is acknowledged.
    fn leave_state(&mut self) {
        if self.tp.state == CaState::Open {
            self.recovery.retrans_stamp_ms = None;
            return;
        }
        let (una, high) = (self.tp.snd_una, self.recovery.high_seq);
        match self.tp.state {
            // Something above high_seq, so that CWR has reached the receiver.
            CaState::Cwr if una > high => {
                self.end_reduction();
                self.set_state(CaState::Open);
            }
            CaState::Recovery if una >= high => {
                self.try_undo_recovery();
                self.end_reduction();
            }
            _ => {}
        }
    }

    fn alert_in_recovery(&mut self, ack: &mut Ack) -> Rexmit {
        if ack.advances && self.try_undo_partial(ack) {
            return Rexmit::Nothing;
        }
        if self.try_undo_dsack() {
            self.try_to_open(ack);
        }
        self.find_losses(ack);
        if self.tp.state != CaState::Recovery {
            if self.tp.lost_out == 0 {
                return Rexmit::Nothing;
            }
            self.enter_recovery(ack.ece);
        }
        Rexmit::Lost
    }

    fn alert_in_loss(&mut self, ack: &mut Ack) -> Rexmit {
        let rexmit = self.process_loss(ack);
        self.find_losses(ack);
        if self.tp.state != CaState::Open && !ack.loses_retransmission {
            return rexmit;
        }
        match self.alert_elsewhere(ack) {
            Rexmit::Nothing => rexmit,
            other => other,
        }
    }

    fn alert_elsewhere(&mut self, ack: &mut Ack) -> Rexmit {
        if self.tp.state <= CaState::Disorder {
            self.try_undo_dsack();
        }
        self.find_losses(ack);
        if self.tp.lost_out == 0 {
            self.try_to_open(ack);
            return Rexmit::Nothing;
        }
        self.enter_recovery(ack.ece);
        Rexmit::Lost
    }

    fn try_to_open(&mut self, ack: &Ack) {
        self.forget_old_stamp();
        if ack.ece {
            self.enter_cwr();
        }
        if self.tp.state != CaState::Cwr {
            self.keep_open();
        }
    }

    /// The receiver seems to have dropped data that it SACKed: after a short wait, a timeout drops all SACKs
    /// (`tcp_check_sack_reneging`).
    fn wait_for_reneged(&mut self) {
        let half_rtt = super::number::jiffies_from_us(u64::from(self.tp.srtt_us8 >> 4));
        let patience = half_rtt.max(super::number::jiffies_from_us(RENEGING_US));
        self.timer.set(Pending::Retransmit, self.jiffy, patience);
    }

    pub(super) fn set_state(&mut self, state: CaState) {
        self.controller.set_state(&self.tp, &mut self.cc, state);
        self.tp.state = state;
    }
}

/// `tcp_reordering`.
pub(super) const REORDERING: u32 = 3;
/// Minimum wait for a receiver that seems to renege.
const RENEGING_US: u64 = 10_000;
