//! Pacing: the next packet's earliest departure time, and the rate for controllers that set none.
//!
//! The socket paces itself with a high-resolution timer (`tcp_pacing_check`, `tcp_update_skb_after_send`): lateness is
//! credited up to half a packet's time, and the first ten segments are not spaced. With fq on the host's device, fq
//! does the pacing: packets leave the socket early, with their departure time.

use crate::cc::{CcState, PACING_SHIFT, SenderState};
use crate::rate::Rate;
use crate::time::{Span, Time};

/// When packets leave.
#[derive(Clone, Debug)]
pub(super) struct Pacing {
    /// No packet departs before this time (`tcp_wstamp_ns`).
    next: Time,
    /// The timer of the next packet, if it waits in the socket.
    timer: Time,
    /// Does the host's queue hold packets until their departure time (`SK_PACING_FQ`)?
    is_by_queue: bool,
}

/// A packet's departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    /// Its time: now, or later if the host's queue paces.
    pub at: Time,
    /// When pacing allowed it: earlier, if the packet is late.
    allowed: Time,
}

impl Pacing {
    /// Nothing was sent.
    pub const fn new(is_by_queue: bool) -> Self {
        Self { next: Time::ZERO, timer: Time::NEVER, is_by_queue }
    }

    /// When the timer fires.
    pub const fn timer(&self) -> Time {
        self.timer
    }

    /// Fires the timer if it is due; returns whether it did.
    pub fn fire(&mut self, now: Time) -> bool {
        let is_due = self.timer <= now;
        if is_due {
            self.timer = Time::NEVER;
        }
        is_due
    }

    /// No packet departs before this time.
    pub const fn next(&self) -> Time {
        self.next
    }

    /// Must the next packet of a paced socket wait? Then sets the timer.
    #[inline]
    pub fn must_wait(&mut self, now: Time, is_paced: bool) -> bool {
        if self.next <= now || !is_paced || self.is_by_queue {
            return false;
        }
        if !self.timer.is_set() {
            self.timer = self.next;
        }
        true
    }

    /// A packet leaves now, or when pacing allows it.
    #[inline]
    pub fn depart(&mut self, now: Time) -> Departure {
        let departure = Departure { at: self.next.max(now), allowed: self.next };
        self.next = departure.at;
        departure
    }

    /// The next packet's departure in microseconds plus one, and the nanoseconds beyond: its timestamp, also right after
    /// it departed. `now_us` is `now` in that form.
    #[inline]
    pub fn stamp(&self, now: Time, now_us: u64) -> (u64, u16) {
        let at = self.next.max(now);
        let us = if at == now { now_us } else { at.as_micros() + 1 };
        (us, u16::try_from(at.as_nanos() - (us - 1) * 1_000).unwrap_or(0))
    }

    /// The last packet was refused by the host's queue: it spaces nothing.
    pub const fn take_back(&mut self, departed_at: Time) {
        self.next = departed_at;
    }

    /// A packet with `payload` bytes departs, `sent` segments so far: spaces the next one at `rate`.
    pub fn space(&mut self, payload: u32, departure: &Departure, rate: Rate, sent: u32) {
        if !rate.is_limited() || rate == Rate::ZERO || sent < UNPACED_SEGMENTS {
            return;
        }
        let gap = rate.time_for(u64::from(payload));
        let late = departure.at.since(departure.allowed);
        self.next = departure.at + gap.saturating_sub(late.min(gap / 2));
    }

    /// Delay by pacing of an event set for now, in jiffies (`tcp_pacing_delay`).
    pub fn delay_jiffies(&self, now: Time) -> u64 {
        let delay = self.next.since(now);
        if delay == Span::ZERO { 0 } else { delay.as_nanos() / Span::from_jiffies(1).as_nanos() }
    }
}

/// Bytes of about a millisecond at the pacing rate.
pub(super) const fn burst_bytes(cc: &CcState) -> u64 {
    cc.pacing_rate.as_bytes() >> PACING_SHIFT
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    proptest! {
        /// Packets of a socket that sends each as soon as it may, but late by some time: no two are closer than half the
        /// first one's time at the rate, and lateness up to that is made up for, so that the mean rate is exact.
        #[test]
        fn lateness_is_made_up_for_up_to_half_a_packet(
            packets in prop::collection::vec((1_u32..100_000, 0_u64..3_000_000), 2..60),
            bytes_a_second in 100_000_u64..1_000_000_000,
        ) {
            let rate = Rate::from_bytes(bytes_a_second);
            let mut pacing = Pacing::new(false);
            let mut now = at(1_000);
            let mut ideal = now;
            let mut before: Option<(Time, Span)> = None;
            for (payload, late_ns) in packets {
                if pacing.must_wait(now, true) {
                    prop_assert_eq!(pacing.timer(), pacing.next());
                    prop_assert!(!pacing.fire(now) && pacing.fire(pacing.timer()));
                    now = pacing.next() + Span::from_nanos(late_ns);
                }
                let departure = pacing.depart(now);
                prop_assert_eq!(departure.at, now, "the timer has let it wait");
                let gap = rate.time_for(u64::from(payload));
                if let Some((last, last_gap)) = before {
                    prop_assert!(now.since(last) >= last_gap.saturating_sub(last_gap / 2), "half a packet's time");
                }
                // Made up for is what the ideal schedule is behind, up to half a gap.
                let owed = now.since(ideal).min(gap / 2);
                ideal = now + gap.saturating_sub(owed);
                pacing.space(payload, &departure, rate, UNPACED_SEGMENTS);
                if before.is_some() {
                    prop_assert_eq!(pacing.next(), ideal);
                }
                ideal = pacing.next();
                before = Some((now, gap));
            }
        }

        /// A queue that paces gets every packet at once, spaced exactly by its time at the rate.
        #[test]
        fn a_pacing_queue_gets_exact_departures(payloads in prop::collection::vec(1_u32..100_000, 1..40), mbytes in 1_u64..1_000) {
            let rate = Rate::from_bytes(mbytes * 1_000_000);
            let mut pacing = Pacing::new(true);
            let now = at(5_000);
            let mut expected = now;
            pacing.depart(now);
            for payload in payloads {
                prop_assert!(!pacing.must_wait(now, true) && !pacing.timer().is_set());
                let departure = pacing.depart(now);
                prop_assert_eq!(departure.at, expected);
                let (us, rest_ns) = pacing.stamp(now, 6);
                prop_assert_eq!((us - 1) * 1_000 + u64::from(rest_ns), expected.as_nanos());
                pacing.space(payload, &departure, rate, 100);
                expected += rate.time_for(u64::from(payload));
            }
            let jiffies = pacing.delay_jiffies(now);
            prop_assert_eq!(jiffies, expected.since(now).as_nanos() / 4_000_000);
            pacing.take_back(now);
            prop_assert_eq!((pacing.next(), pacing.delay_jiffies(now)), (now, 0));
        }

        /// Nothing is spaced without a rate, without pacing, or among the first ten segments.
        #[test]
        fn only_a_rate_spaces(sent in 0_u32..20, payload in 1_u32..100_000, limited in any::<bool>()) {
            let rate = if limited { Rate::from_bytes(1_000_000) } else { Rate::UNLIMITED };
            let mut pacing = Pacing::new(false);
            let departure = pacing.depart(at(7));
            pacing.space(payload, &departure, rate, sent);
            let is_spaced = limited && sent >= 10;
            prop_assert_eq!(pacing.next() > at(7), is_spaced);
            prop_assert_eq!(pacing.must_wait(at(7), true), is_spaced);
            prop_assert!(!pacing.must_wait(at(7), false));
            pacing.space(payload, &departure, Rate::ZERO, 100);
        }
    }
}
