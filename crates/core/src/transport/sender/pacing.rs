//! Pacing: when the next packet may leave (earliest departure time), and the rate for controllers that set none.
//!
//! The socket paces itself with a fine timer (`tcp_pacing_check`, `tcp_update_skb_after_send`): what was sent late is
//! credited, half a packet's time at most, and the first ten segments are not spaced. Where an fq stands on the host's
//! device it leaves that to the fq: packets leave the socket early, stamped with their departure time.

use super::Sender;
use super::tso::PACING_SHIFT;
use crate::cc::{Control, Vitals};
use crate::rate::Rate;
use crate::time::{Span, Time};

impl<C: Control> Sender<C> {
    /// Must the next packet wait? Then the pacing timer is set.
    #[inline]
    pub(super) fn must_wait(&mut self) -> bool {
        if self.vitals.next_send_at <= self.vitals.now || !self.vitals.paced || self.host.paces {
            return false;
        }
        if !self.paced_until.is_set() {
            self.paced_until = self.vitals.next_send_at;
        }
        true
    }

    /// The pacing timer rang: what TSQ's tasklet does is done (`tcp_tsq_write`).
    pub(super) fn resume(&mut self) {
        self.in_process = false;
        if self.vitals.lost_out > self.vitals.retrans_out && self.vitals.cwnd > self.vitals.in_flight() {
            self.todo.want(super::todo::Task::Retransmit);
        }
        self.todo.want(super::todo::Task::Push);
    }

    /// A packet leaves: its departure time is now or when pacing allowed. Returns the departure time before.
    pub(super) fn depart(&mut self) -> Time {
        let before = self.vitals.next_send_at;
        self.vitals.next_send_at = before.max(self.vitals.now);
        before
    }

    /// When the packet that is being sent departs, in microseconds as `now_us` counts them. It is time-stamped so.
    #[inline]
    pub(super) fn departure_us(&self) -> u64 {
        if self.vitals.next_send_at <= self.vitals.now { self.now_us } else { self.vitals.next_send_at.as_micros() + 1 }
    }

    /// Before when nothing departs.
    #[inline]
    pub(crate) const fn next_send_at(&self) -> Time {
        self.vitals.next_send_at
    }

    /// A packet with `payload` bytes has left: spaces the next one.
    pub(super) fn space_next(&mut self, payload: u32, before: Time) {
        let rate = self.vitals.pacing_rate;
        if !self.vitals.paced
            || !rate.is_limited()
            || rate == Rate::ZERO
            || self.counters.data_segs_out < UNPACED_SEGMENTS
        {
            return;
        }
        let gap = rate.time_for(u64::from(payload));
        let credit = self.vitals.next_send_at.since(before);
        self.vitals.next_send_at += gap.saturating_sub(credit.min(gap / 2));
    }

    /// Time by which pacing delays what is set for now, in whole jiffies (`tcp_pacing_delay`).
    pub(super) fn pacing_delay(&self) -> u64 {
        let delay = self.vitals.next_send_at.since(self.vitals.now);
        if delay == Span::ZERO { 0 } else { delay.as_nanos() / Span::from_jiffies(1).as_nanos() }
    }

    /// Bytes that a millisecond or so carries at the pacing rate.
    pub(super) const fn paced_burst(&self) -> u64 {
        self.vitals.pacing_rate.as_bytes() >> PACING_SHIFT
    }
}

/// The rate of a controller that sets none: twice the window a round trip early in slow start, 1.2 times later
/// (`tcp_update_pacing_rate`).
pub(super) fn update_rate(vitals: &mut Vitals) {
    let percent = if vitals.cwnd < vitals.ssthresh / 2 { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
    let window = u64::from(vitals.cwnd.max(vitals.packets_out));
    let scaled = u64::from(vitals.mss) * (1_000_000 / 100 * 8) * percent * window;
    let rate = if vitals.srtt_us8 > 0 { scaled / u64::from(vitals.srtt_us8) } else { scaled };
    vitals.pacing_rate = Rate::from_bytes(rate).min(vitals.max_pacing_rate);
}

/// `tcp_pacing_ss_ratio`.
const SLOW_START_PERCENT: u64 = 200;
/// `tcp_pacing_ca_ratio`.
const AVOIDANCE_PERCENT: u64 = 120;
/// Segments that leave unspaced, as once with `sch_fq`.
const UNPACED_SEGMENTS: u32 = 10;
