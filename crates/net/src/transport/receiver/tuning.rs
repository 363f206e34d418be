//! Receive buffer autotuning (Dynamic Right-Sizing, `tcp_rcv_space_adjust`): a buffer for what is read in a round trip.
//!
//! It uses two measurements: the round-trip time, by timestamps or by a window's worth of data, and what the
//! application read since the last adjustment. The buffer itself is in `space`.

use super::space::Space;
use crate::time::Time;

/// State of autotuning.
#[derive(Debug)]
pub(super) struct Tuning {
    /// Round-trip time in eighths of a microsecond (`rcv_rtt_est`); 0 before the first sample.
    pub rtt_us8: u32,
    /// Last measured TSecr in milliseconds; `u64::MAX` for none.
    last_echo_ms: u64,
    /// When `rcv_nxt` reaches this, a window has arrived since `window_at_us`.
    window_end: u64,
    window_at_us: u64,
    /// Bytes that the application read in a round trip (`rcvq_space`).
    pub space: i64,
    seq: u64,
    at_us: u64,
}

impl Tuning {
    pub const fn new() -> Self {
        Self { rtt_us8: 0, last_echo_ms: u64::MAX, window_end: 0, window_at_us: u64::MAX, space: 0, seq: 1, at_us: 0 }
    }

    /// The connection is established.
    pub fn start(&mut self, now: Time, space: &Space, mss: u32, copied: u64) {
        self.at_us = now.as_micros();
        self.seq = copied;
        self.space = i64::from(space.first_window().min(INITIAL_SEGMENTS * mss));
    }

    /// Measures the round-trip time from a segment's echoed timestamp (`tcp_rcv_rtt_measure_ts`); only `full` segments
    /// count. Linux's TSval counts milliseconds.
    pub fn measure_by_echo(&mut self, now: Time, echo: Time, full: bool) {
        let echo_ms = millis(echo);
        if echo_ms == self.last_echo_ms {
            return;
        }
        self.last_echo_ms = echo_ms;
        let delta_ms = millis(now).saturating_sub(echo_ms);
        if full && delta_ms > 0 {
            self.sample(delta_ms * 1_000, false);
        }
    }

    /// Measures how long a window takes to arrive (`tcp_rcv_rtt_measure`). An upper bound, so only smaller values
    /// count.
    pub fn measure_by_window(&mut self, now: Time, rcv_nxt: u64, offered: u32) {
        let now_us = now.as_micros();
        if self.window_at_us != u64::MAX {
            if rcv_nxt < self.window_end {
                return;
            }
            self.sample((now_us - self.window_at_us).max(1), true);
        }
        self.window_end = rcv_nxt + u64::from(offered);
        self.window_at_us = now_us;
    }

    fn sample(&mut self, rtt_us: u64, bound_only: bool) {
        let rtt_us = u32::try_from(rtt_us).unwrap_or(u32::MAX >> 3).min(u32::MAX >> 4);
        if self.rtt_us8 == 0 || rtt_us << 3 < self.rtt_us8 {
            self.rtt_us8 = rtt_us << 3;
        } else if !bound_only {
            self.rtt_us8 = self.rtt_us8 - (self.rtt_us8 >> 3) + rtt_us;
        }
    }

    /// The application has read everything before `copied`; after a round trip since the last adjustment, the buffer
    /// may grow.
    pub fn adjust(&mut self, now: Time, copied: u64, rcv_nxt: u64, mss: u32, space: &mut Space) {
        let now_us = now.as_micros();
        if self.rtt_us8 == 0 || now_us.saturating_sub(self.at_us) < u64::from(self.rtt_us8 >> 3) {
            return;
        }
        let taken = (copied - self.seq).cast_signed() - (rcv_nxt - copied).cast_signed();
        if taken > self.space {
            self.enlarge(taken, mss, space);
            self.space = taken;
        }
        self.seq = copied;
        self.at_us = now_us;
    }

    /// Twice the last round trip's bytes to cover losses, plus twice their growth for slow start.
    fn enlarge(&self, taken: i64, mss: u32, space: &mut Space) {
        let mut window = taken.unsigned_abs() * 2 + 16 * u64::from(mss);
        let growth = window * (taken - self.space).unsigned_abs() / self.space.max(1).unsigned_abs();
        window += growth * 2;
        space.enlarge(window);
    }
}

/// A time as in TSval.
pub(super) const fn millis(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

/// `TCP_INIT_CWND`.
const INITIAL_SEGMENTS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// The SYN-ACK left at time zero, the data that echo it arrive 20.6 ms later: a round-trip time of 20 ms.
    #[test]
    fn the_first_echo_counts_though_its_time_is_zero() {
        let mut tuning = Tuning::new();
        tuning.measure_by_echo(Time::from_nanos(20_600_000), Time::ZERO, true);
        assert_eq!(tuning.rtt_us8 >> 3, 20_000);
        tuning.measure_by_echo(Time::from_nanos(29_000_000), Time::ZERO, true);
        assert_eq!(tuning.rtt_us8 >> 3, 20_000, "an echo counts once");
    }
}
