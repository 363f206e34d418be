//! Pacing: the next packet's earliest departure time, and the rate for controllers that set none.
//!
//! The socket paces itself with a high-resolution timer (`tcp_pacing_check`, `tcp_update_skb_after_send`): lateness is
//! credited up to half a packet's time, and the first ten segments are not spaced. With fq on the host's device, fq
//! does the pacing: packets leave the socket early, with their departure time.

use super::Sender;
use crate::cc::{CcState, CongestionControl, PACING_SHIFT, SenderState};
use crate::rate::Rate;
use crate::time::{Span, Time};

/// The timer of the next paced packet.
#[derive(Clone, Debug)]
pub(super) struct PacingTimer(Time);

impl PacingTimer {
    /// Not set.
    pub const fn new() -> Self {
        Self(Time::NEVER)
    }

    /// When it fires.
    pub const fn at(&self) -> Time {
        self.0
    }

    /// Fires if it is due; returns whether it did.
    pub fn fire(&mut self, now: Time) -> bool {
        let is_due = self.0 <= now;
        if is_due {
            self.0 = Time::NEVER;
        }
        is_due
    }
}

impl<C: CongestionControl> Sender<C> {
    /// Must the next packet wait? Then sets the pacing timer.
    #[inline]
    pub(super) fn must_wait(&mut self) -> bool {
        if self.tp.next_send_at <= self.tp.now || !self.cc.paced || self.host.paces {
            return false;
        }
        if !self.pacing_timer.0.is_set() {
            self.pacing_timer.0 = self.tp.next_send_at;
        }
        true
    }

    /// The pacing timer fired: does the work of TSQ's tasklet (`tcp_tsq_write`).
    pub(super) fn resume(&mut self) {
        self.in_process = false;
        if self.tp.lost_out > self.tp.retrans_out && self.cc.cwnd > self.tp.in_flight() {
            self.tasks.schedule(super::tasks::Task::Retransmit);
        }
        self.tasks.schedule(super::tasks::Task::Push);
    }

    /// A packet leaves: its departure time is now or when pacing allows it. Returns the previous departure time.
    pub(super) fn depart(&mut self) -> Time {
        let before = self.tp.next_send_at;
        self.tp.next_send_at = before.max(self.tp.now);
        before
    }

    /// Departure time of the packet being sent, in microseconds as in `now_us`, and the nanoseconds beyond; this is its
    /// timestamp.
    #[inline]
    pub(super) fn departure(&self) -> (u64, u16) {
        let time = self.tp.next_send_at.max(self.tp.now);
        let us = if time == self.tp.now { self.now_us } else { time.as_micros() + 1 };
        (us, u16::try_from(time.as_nanos() - (us - 1) * 1_000).unwrap_or(0))
    }

    /// No packet departs before this time.
    #[inline]
    pub(crate) const fn next_send_at(&self) -> Time {
        self.tp.next_send_at
    }

    /// A packet with `payload` bytes has left: spaces the next one.
    pub(super) fn space_next(&mut self, payload: u32, before: Time) {
        let rate = self.cc.pacing_rate;
        if !self.cc.paced || !rate.is_limited() || rate == Rate::ZERO || self.counters.data_segs_out < UNPACED_SEGMENTS
        {
            return;
        }
        let gap = rate.time_for(u64::from(payload));
        let credit = self.tp.next_send_at.since(before);
        self.tp.next_send_at += gap.saturating_sub(credit.min(gap / 2));
    }

    /// Delay by pacing of an event set for now, in jiffies (`tcp_pacing_delay`).
    pub(super) fn pacing_delay(&self) -> u64 {
        let delay = self.tp.next_send_at.since(self.tp.now);
        if delay == Span::ZERO { 0 } else { delay.as_nanos() / Span::from_jiffies(1).as_nanos() }
    }

    /// Bytes of about a millisecond at the pacing rate.
    pub(super) const fn paced_burst(&self) -> u64 {
        self.cc.pacing_rate.as_bytes() >> PACING_SHIFT
    }
}

/// The rate of a controller that sets none: twice the window per round trip early in slow start, 1.2 times later
/// (`tcp_update_pacing_rate`).
pub(super) fn update_rate(tp: &SenderState, cc: &mut CcState) {
    let percent = if cc.cwnd < cc.ssthresh / 2 { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
    let window = u64::from(cc.cwnd.max(tp.packets_out));
    let scaled = u64::from(tp.mss) * (1_000_000 / 100 * 8) * percent * window;
    let rate = if tp.srtt_us8 > 0 { scaled / u64::from(tp.srtt_us8) } else { scaled };
    cc.pacing_rate = Rate::from_bytes(rate).min(tp.max_pacing_rate);
}

/// `tcp_pacing_ss_ratio`.
const SLOW_START_PERCENT: u64 = 200;
/// `tcp_pacing_ca_ratio`.
const AVOIDANCE_PERCENT: u64 = 120;
/// Segments that leave unspaced, as formerly with `sch_fq`.
const UNPACED_SEGMENTS: u32 = 10;
