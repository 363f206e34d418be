//! Delivery rate samples (draft-ietf-ccwg-bbr, "Delivery Rate Samples"; Linux's `tcp_rate.c`).
//!
//! A segment records what was delivered when it was sent; when it is delivered itself, the difference over the elapsed
//! time is a sample for the controller.

use super::record::{Marks, Record};
use crate::cc::{RateSample, SenderState};
use crate::rate::Rate;
use crate::time::Span;

/// The connection's sampling state, and the last sample that `tcp_info` reports.
#[derive(Clone, Debug)]
pub(super) struct RateTracker {
    /// Start of the current send phase (`first_tx_mstamp`).
    first_tx_us: u64,
    /// Time of the last delivery (`delivered_mstamp`).
    delivered_us: u64,
    /// Packets of the reported sample.
    shown_packets: u32,
    /// Interval of the reported sample.
    shown_interval_us: u64,
    /// Was the reported sample application-limited?
    shown_app_limited: bool,
}

/// The sample of an ACK's newest segment; `prior_delivered` is 0 while there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Draft {
    /// Packets delivered when it was sent.
    pub prior_delivered: u64,
    prior_delivered_us: u64,
    prior_delivered_ce: u32,
    prior_lost: u32,
    in_flight: u32,
    send_phase_us: u32,
    last_end: u64,
    is_app_limited: bool,
    is_retransmission: bool,
}

impl RateTracker {
    /// No sample: until the first one the rate counts as application-limited (`tcp_init_sock`).
    pub const fn new() -> Self {
        Self { first_tx_us: 0, delivered_us: 0, shown_packets: 0, shown_interval_us: 0, shown_app_limited: true }
    }

    /// Stamps a segment that is sent now with `in_flight` packets in flight; with nothing outstanding a new flight
    /// starts (`tcp_rate_skb_sent`).
    #[inline]
    pub fn stamp(&mut self, record: &mut Record, tp: &SenderState, app_limited: bool, in_flight: u32) {
        if tp.packets_out == 0 {
            self.first_tx_us = record.sent_us;
            self.delivered_us = record.sent_us;
        }
        record.send_phase_us = crate::number::low(record.sent_us - self.first_tx_us);
        record.delivered_us = self.delivered_us;
        record.delivered = tp.delivered;
        record.delivered_ce = crate::number::low(tp.delivered_ce);
        record.lost = crate::number::low(tp.lost);
        record.in_flight = in_flight;
        record.marks.clear(Marks::APP_LIMITED);
        record.marks.set(Marks::APP_LIMITED.when(app_limited));
    }

    /// A segment was delivered: the most recently sent one determines the ACK's sample (`tcp_rate_skb_delivered`).
    #[inline]
    pub fn delivered(&mut self, record: &mut Record, draft: &mut Draft) {
        if record.delivered_us == 0 {
            return;
        }
        let newest = (self.first_tx_us, draft.last_end);
        if draft.prior_delivered == 0 || record.order() > newest {
            *draft = Draft {
                prior_delivered: record.delivered,
                prior_delivered_us: record.delivered_us,
                prior_delivered_ce: record.delivered_ce,
                prior_lost: record.lost,
                in_flight: record.in_flight,
                send_phase_us: record.send_phase_us,
                last_end: record.end,
                is_app_limited: record.marks.has(Marks::APP_LIMITED),
                is_retransmission: record.marks.has(Marks::RETRANSMITTED),
            };
            self.first_tx_us = record.sent_us;
        }
        if record.marks.has(Marks::SACKED) {
            record.delivered_us = 0;
        }
    }

    /// Computes the sample of an ACK that delivered `delivered` packets (`tcp_rate_gen`).
    #[inline]
    pub fn sample(
        &mut self,
        draft: &Draft,
        tp: &SenderState,
        now_us: u64,
        delivered: u32,
        reneged: bool,
    ) -> RateSample {
        if delivered > 0 {
            self.delivered_us = now_us;
        }
        let mut sample = RateSample { acked_sacked: delivered, ..RateSample::default() };
        sample.prior_delivered = draft.prior_delivered;
        sample.is_app_limited = draft.is_app_limited;
        sample.is_retransmission = draft.is_retransmission;
        if draft.prior_delivered_us == 0 || reneged {
            return sample;
        }
        self.fill(&mut sample, draft, tp, now_us);
        sample
    }

    /// The reported rate, of segments with this payload (`tcp_compute_delivery_rate`).
    pub fn shown(&self, mss: u32) -> Rate {
        if self.shown_packets == 0 || self.shown_interval_us == 0 {
            return Rate::ZERO;
        }
        let bytes = u64::from(self.shown_packets) * u64::from(mss);
        Rate::from_bytes(bytes * 1_000_000 / self.shown_interval_us)
    }

    /// Was the reported sample application-limited?
    pub const fn is_shown_app_limited(&self) -> bool {
        self.shown_app_limited
    }

    fn fill(&mut self, sample: &mut RateSample, draft: &Draft, tp: &SenderState, now_us: u64) {
        let packets = crate::number::narrow(tp.delivered - draft.prior_delivered);
        sample.delivered = Some(packets);
        sample.delivered_ce = crate::number::low(tp.delivered_ce).wrapping_sub(draft.prior_delivered_ce);
        sample.lost = crate::number::low(tp.lost).wrapping_sub(draft.prior_lost);
        sample.tx_in_flight = draft.in_flight;
        // The longer phase: ACKs may arrive in a burst, data may have been sent in one.
        let interval_us = u64::from(draft.send_phase_us).max(now_us.saturating_sub(draft.prior_delivered_us));
        if interval_us < u64::from(tp.min_rtt_us) {
            return;
        }
        sample.interval = Span::from_micros(interval_us);
        let beats = || u64::from(packets) * self.shown_interval_us >= u64::from(self.shown_packets) * interval_us;
        if !sample.is_app_limited || beats() {
            self.shown_packets = packets;
            self.shown_interval_us = interval_us;
            self.shown_app_limited = sample.is_app_limited;
        }
    }
}
