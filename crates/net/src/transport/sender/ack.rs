//! ACK processing: what an ACK newly delivers and what follows from it, in the order of Linux's `tcp_ack`.
//!
//! [`super::sack`] reads SACK blocks, [`super::recovery`] detects losses and changes states.

use super::Sender;
use super::pacing;
use super::rate::Draft;
use super::record::{Marks, Record};
use super::tasks::Task;
use crate::cc::{AckSample, CaState, CongestionControl, Stamps};
use crate::number::narrow;
use crate::packet::{Ace, Segment};
use crate::time::{Span, Time};

/// The result of an ACK, filled in step by step.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "tcp_ack's flags")]
pub(super) struct Ack {
    /// `snd_una` before it.
    pub prior_una: u64,
    /// End of the highest SACKed segment before it.
    pub prior_highest_sack: u64,
    /// TSecr in milliseconds; 0 for none.
    pub echo_ms: u64,
    /// It has data.
    pub carries_data: bool,
    /// It advances `snd_una`.
    pub advances: bool,
    /// It updates the window.
    pub updates_window: bool,
    /// It echoes congestion.
    pub ece: bool,
    /// It acknowledged data cumulatively.
    pub acks_data: bool,
    /// Some of that was retransmitted.
    pub acks_retransmitted: bool,
    /// It SACKed something new.
    pub sacks_data: bool,
    /// Something sent once, before recovery began, was delivered.
    pub acks_original: bool,
    /// It has a valid DSACK.
    pub dsacks: bool,
    /// That DSACK answers the loss probe.
    pub dsacks_probe: bool,
    /// It acknowledges up to a loss probe that was a retransmission, and no further.
    pub answers_probe: bool,
    /// A retransmission was marked lost.
    pub loses_retransmission: bool,
    /// It may have been delayed by the receiver.
    pub maybe_delayed: bool,
    /// The first outstanding segment was SACKed before.
    pub reneges: bool,
    /// The timer has to be set again.
    pub sets_timer: bool,
    /// Transmission times of the first and last newly SACKed segments that were sent once; 0 for none.
    pub first_sacked_us: u64,
    /// Transmission time of the last one.
    pub last_sacked_us: u64,
    /// Lowest sequence number that was delivered out of order.
    pub reordered: u64,
    /// Segments delivered by SACK and DSACK.
    pub sack_delivered: u32,
    /// The delivery rate sample.
    pub draft: Draft,
    /// Round-trip time of the newest delivered segment.
    pub rtt_us: Option<u64>,
}

/// What to transmit in response to an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rexmit {
    /// No retransmission.
    Nothing,
    /// Lost records.
    Lost,
    /// New data first (F-RTO).
    New,
}

impl Ack {
    /// A duplicate ACK: no data, no window update, nothing newly acknowledged (no `FLAG_NOT_DUP`).
    pub const fn is_duplicate(&self) -> bool {
        !(self.carries_data || self.updates_window || self.acks_data)
    }

    /// Does the echo show that the arrived segment was sent before this retransmission (`tcp_skb_spurious_retrans`)?
    const fn is_older_than(&self, record: &Record) -> bool {
        self.echo_ms > 0 && self.echo_ms < (record.sent_us - 1) / 1_000
    }
}

/// What the cumulative acknowledgement removed from the scoreboard.
#[derive(Default)]
struct Removed {
    packets: u32,
    first_sent_us: u64,
    last_sent_us: u64,
}

impl<C: CongestionControl> Sender<C> {
    /// A packet with ACK arrived; `carries_data`: it had payload.
    pub(crate) fn on_ack(&mut self, now: Time, segment: &Segment, carries_data: bool) {
        self.enter(now);
        self.in_process = false;
        self.controller.on_timestamps(Stamps {
            sent_ms: segment.sent_at.as_micros() / 1_000,
            echo_ms: segment.echo.as_micros() / 1_000,
        });
        let una = self.tp.snd_una;
        if segment.ack > self.tp.snd_nxt {
            return;
        }
        let mut ack = Ack {
            prior_una: una,
            prior_highest_sack: self.highest_sack(),
            echo_ms: segment.echo.as_nanos() / 1_000_000,
            carries_data,
            advances: segment.ack > una,
            ..Ack::default()
        };
        if segment.ack < una {
            self.on_old_ack(segment, &mut ack);
        } else {
            self.on_new_ack(segment, &mut ack);
        }
        self.tasks.schedule(Task::Push);
    }

    fn on_new_ack(&mut self, segment: &Segment, ack: &mut Ack) {
        let before = (self.tp.delivered, self.tp.lost);
        let (prior_packets, prior_in_flight) = (self.tp.packets_out, self.tp.in_flight());
        let reneged = self.recovery.has_reneged();
        if ack.advances {
            self.recovery.progressed();
        }
        let is_plain = self.is_plain(segment);
        ack.updates_window = self.update_window(segment);
        if !segment.sack.is_empty() {
            self.tag_sacks(segment, ack);
        }
        ack.ece = segment.flags.ece && self.ecn.is_negotiated();
        self.count_delivered(ack.sack_delivered, ack.ece);
        if prior_packets == 0 {
            self.controller.in_ack_event(&self.tp, &mut self.cc, is_plain);
            self.on_ack_of_nothing(ack);
            return;
        }
        self.remove_acked(ack);
        self.rack.update_window(ack.draft.prior_delivered, self.tp.delivered);
        if let Some(ace) = segment.flags.ace {
            self.count_marks(ace, ack);
        }
        self.controller.in_ack_event(&self.tp, &mut self.cc, is_plain);
        if self.recovery.is_probe_out() {
            self.on_probe_acked(segment.ack, ack);
        }
        let mut rexmit = Rexmit::Nothing;
        if self.is_ambiguous(ack) {
            rexmit = self.alert(ack);
        }
        if ack.sets_timer {
            self.set_timer();
        }
        self.cong_control(ack, before, prior_in_flight, reneged);
        self.needs_recovery(rexmit);
    }

    /// Does it only advance (`tcp_rcv_established`'s header prediction)?
    fn is_plain(&self, segment: &Segment) -> bool {
        !segment.flags.ece && segment.window == self.peer.window() && segment.sack.is_empty()
    }

    /// Processes an ACK below `snd_una`, which may still have SACKs.
    #[cold]
    fn on_old_ack(&mut self, segment: &Segment, ack: &mut Ack) {
        let reach = u64::from(self.peer.largest()).min(self.counters.bytes_acked());
        if segment.ack + reach < ack.prior_una || segment.sack.is_empty() {
            return;
        }
        self.tag_sacks(segment, ack);
        let rexmit = self.alert(ack);
        self.needs_recovery(rexmit);
    }

    #[cold]
    fn on_ack_of_nothing(&mut self, ack: &mut Ack) {
        if ack.dsacks {
            self.alert(ack);
        }
        self.on_window_update();
        if self.recovery.is_probe_out() {
            let una = self.tp.snd_una;
            self.on_probe_acked(una, ack);
        }
    }

    pub(super) const fn count_delivered(&mut self, packets: u32, ece: bool) {
        self.tp.delivered += packets as u64;
        if ece {
            self.tp.delivered_ce += packets as u64;
        }
    }

    /// A receiver that counts marks reports new ones.
    #[inline(never)]
    fn count_marks(&mut self, ace: Ace, ack: &mut Ack) {
        if !ack.acks_data && !ack.sacks_data {
            return;
        }
        let marks = self.ecn.count_marks(ace);
        self.tp.delivered_ce += u64::from(marks);
        ack.ece = marks > 0;
    }

    /// Removes cumulatively acknowledged records and takes their measurements (`tcp_clean_rtx_queue`).
    fn remove_acked(&mut self, ack: &mut Ack) {
        let prior_sacked = self.tp.sacked_out;
        let prior_delivered = self.tp.delivered;
        ack.reordered = self.tp.snd_nxt;
        let removed = self.pop_acked(ack);
        ack.acks_data = removed.packets > 0;
        ack.reneges = self.board.front().is_some_and(|front| front.marks.has(Marks::SACKED));
        if self.board.is_empty() {
            self.stop_chrono_when_idle();
        }
        let mut seq_rtt_us = None;
        if removed.first_sent_us > 0 && !ack.acks_retransmitted {
            seq_rtt_us = Some(self.now_us.saturating_sub(removed.first_sent_us));
            ack.rtt_us = Some(self.now_us.saturating_sub(removed.last_sent_us));
            ack.maybe_delayed = removed.packets == 1
                && prior_sacked == 0
                && self.tp.snd_una - ack.prior_una < u64::from(self.tp.mss)
                && ack.draft.prior_delivered == prior_delivered;
        }
        let sack_rtt_us = (ack.first_sacked_us > 0).then(|| self.now_us.saturating_sub(ack.first_sacked_us));
        if sack_rtt_us.is_some() {
            ack.rtt_us = Some(self.now_us.saturating_sub(ack.last_sacked_us));
        }
        let measured = self.measure_rtt(ack, seq_rtt_us.or(sack_rtt_us));
        if ack.acks_data {
            ack.sets_timer = true;
            if ack.reordered < ack.prior_highest_sack {
                self.note_reordering(ack.reordered);
            }
        } else if let (Some(front), true, Some(rtt_us)) = (self.board.front(), measured, sack_rtt_us) {
            // Only for segments sent after the first outstanding one: the timeout must not be postponed forever.
            ack.sets_timer = rtt_us > self.now_us.saturating_sub(front.sent_us);
        }
        self.report_acked(ack, removed.packets);
    }

    fn report_acked(&mut self, ack: &Ack, packets: u32) {
        let sample = AckSample {
            acked: packets,
            rtt: ack.rtt_us.map(Span::from_micros),
            in_flight: narrow(self.tp.delivered - ack.draft.prior_delivered),
        };
        self.controller.pkts_acked(&self.tp, &mut self.cc, &sample);
    }

    fn pop_acked(&mut self, ack: &mut Ack) -> Removed {
        let mut removed = self.pop_plain(ack);
        if self.board.front().is_some_and(|front| front.end <= self.tp.snd_una) {
            self.pop_marked(&mut removed, ack);
        }
        removed
    }

    /// Removes the remaining records one by one.
    #[inline(never)]
    fn pop_marked(&mut self, removed: &mut Removed, ack: &mut Ack) {
        let una = self.tp.snd_una;
        while self.board.front().is_some_and(|front| front.end <= una) {
            let start = self.board.start_of(self.board.first());
            let mut record = self.board.pop_first(&mut self.tp);
            let marks = record.marks;
            removed.packets += 1;
            ack.acks_retransmitted |= marks.has(Marks::RETRANSMITTED);
            if !marks.has(Marks::SACKED.with(Marks::RETRANSMITTED)) {
                removed.last_sent_us = record.sent_us;
                if removed.first_sent_us == 0 {
                    removed.first_sent_us = record.sent_us;
                }
                ack.reordered = ack.reordered.min(start);
                ack.acks_original |= self.recovery.covers(record.end);
            }
            if !marks.has(Marks::SACKED) {
                self.count_delivered(1, ack.ece);
                if !marks.has(Marks::RETRANSMITTED) || !ack.is_older_than(&record) {
                    self.rack.advance(&record, self.now_us, self.tp.min_rtt_us);
                }
            }
            self.rate.delivered(&mut record, &mut ack.draft);
        }
    }

    /// Does the work of [`Sender::pop_marked`] once for a run of plain records. They were sent in order, so each
    /// overrides the one before, and only the first and the last one's values remain.
    fn pop_plain(&mut self, ack: &mut Ack) -> Removed {
        let una = self.tp.snd_una;
        let Some(mut run) = self.board.pop_plain(&mut self.tp, una) else { return Removed::default() };
        self.count_delivered(run.packets, ack.ece);
        ack.reordered = ack.reordered.min(run.start);
        ack.acks_original |= self.recovery.covers(run.first_end);
        self.rack.advance(&run.last, self.now_us, self.tp.min_rtt_us);
        self.rate.delivered(&mut run.last, &mut ack.draft);
        Removed { packets: run.packets, first_sent_us: run.first_sent_us, last_sent_us: run.last.sent_us }
    }

    /// Takes a round-trip time sample from segments sent once; from the timestamp only if there is none (RFC 6298
    /// section 3, RFC 7323 section 4.1; `tcp_ack_update_rtt`).
    fn measure_rtt(&mut self, ack: &mut Ack, sample_us: Option<u64>) -> bool {
        let mut sample_us = sample_us;
        if sample_us.is_none() && ack.echo_ms > 0 && ack.acks_data {
            let elapsed_ms = ((self.now_us - 1) / 1_000).saturating_sub(ack.echo_ms).max(1);
            sample_us = Some(elapsed_ms * 1_000);
            ack.rtt_us = sample_us;
        }
        let Some(rtt_us) = sample_us else {
            return false;
        };
        let shown_us = ack.rtt_us.unwrap_or(rtt_us);
        // A delayed ACK may lower the minimum, but not refresh it.
        if !ack.maybe_delayed || shown_us <= u64::from(self.rtt.min_us()) {
            self.rtt.sample_min(shown_us, self.jiffy);
        }
        self.rtt.sample(rtt_us, self.tp.snd_una, self.tp.snd_nxt);
        self.show_rtt();
        true
    }

    fn is_ambiguous(&self, ack: &Ack) -> bool {
        ack.is_duplicate() || ack.sacks_data || ack.ece || ack.dsacks || self.tp.state != CaState::Open
    }

    /// Passes the sample to the controller, or grows and reduces the window (`tcp_cong_control`).
    fn cong_control(&mut self, ack: &Ack, before: (u64, u64), prior_in_flight: u32, reneged: bool) {
        let delivered = narrow(self.tp.delivered - before.0);
        let losses = narrow(self.tp.lost - before.1);
        if self.cc.app_limited != 0 && self.tp.delivered > self.cc.app_limited {
            self.cc.app_limited = 0;
        }
        if delivered > 0 {
            self.tp.delivered_at = self.tp.now;
        }
        let mut sample = self.rate.sample(&ack.draft, &self.tp, self.now_us, delivered, reneged);
        sample.rtt = ack.rtt_us.map(Span::from_micros);
        sample.losses = losses;
        sample.prior_in_flight = prior_in_flight;
        sample.is_ack_delayed = ack.maybe_delayed;
        sample.answers_probe = ack.answers_probe;
        sample.is_ece = ack.ece;
        if self.has_cong_control {
            self.controller.cong_control(&self.tp, &mut self.cc, &sample);
            return;
        }
        if self.is_reducing() {
            self.reduce_window(delivered, losses, ack.advances);
        } else if self.may_grow(ack) {
            self.controller.cong_avoid(&self.tp, &mut self.cc, delivered);
            if self.controller.take_cwr_request() {
                self.enter_cwr(self.tp.snd_nxt);
            }
            self.usage.touch(self.jiffy);
        }
        pacing::update_rate(&self.tp, &mut self.cc);
    }

    /// With much reordering any delivery may grow the window, otherwise only one in order (`tcp_may_raise_cwnd`).
    const fn may_grow(&self, ack: &Ack) -> bool {
        ack.acks_data || (self.reordering.is_high() && ack.sacks_data)
    }

    /// An ACK arrived while nothing was outstanding (`tcp_ack_probe`).
    fn on_window_update(&mut self) {
        if self.app_source.end() == self.tp.snd_nxt {
            return;
        }
        let head = self.app_source.head(self.tp.snd_nxt);
        let fin = u64::from(self.app_source.is_tail() && self.app_source.has_fin());
        if self.tp.snd_nxt + head + fin <= self.window_end() {
            self.rtt.end_backoff();
            self.timer.stop();
        } else {
            self.set_window_probe();
        }
    }

    const fn needs_recovery(&mut self, rexmit: Rexmit) {
        match rexmit {
            Rexmit::Nothing => {}
            Rexmit::Lost => self.tasks.schedule(Task::Retransmit),
            Rexmit::New => self.tasks.schedule(Task::NewData),
        }
    }
}
