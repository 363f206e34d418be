//! CUBIC's curve: how many packets must be acknowledged before the window grows by one.
//!
//! Arithmetic is Linux's own (`bictcp_update`, `cubic_root`): time in 1/1024 s, made of jiffies; C = 410/1024 scaled by a
//! nominal round trip of 100 ms. Where Linux's 32 and 64 bit numbers wrap, these wrap.

use super::tuning::{BETA, BETA_SCALE, Tuning, scaled};
use crate::time::HZ;

/// The curve of one flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Curve {
    /// The window before the last reduction, or less after two in a row; 0 while unknown (`last_max_cwnd`).
    w_max: u32,
    /// When this epoch began: the first growth since the last reduction.
    epoch: Option<u64>,
    /// The window at which the curve is flat (`bic_origin_point`).
    origin: u32,
    /// Time from the epoch's start to the origin, in 1/1024 s (`bic_K`).
    k: u32,
    /// Packets acknowledged that are not yet counted into `reno_cwnd`.
    acked: u32,
    /// The window that Reno would have (`tcp_cwnd`).
    reno_cwnd: u32,
    /// The answer that was worked out last (`cnt`), for which window, and when.
    per: u32,
    last_cwnd: u32,
    last_jiffies: u64,
    /// Is the answer Reno's?
    follows_reno: bool,
}

impl Curve {
    /// Packets to acknowledge for one packet of growth, now that `acked` more were.
    pub(super) fn acks_a_packet(&mut self, now: u64, min_rtt_us: u32, cwnd: u32, acked: u32, tuning: &Tuning) -> u32 {
        self.acked = self.acked.saturating_add(acked);
        if self.last_cwnd == cwnd && now - self.last_jiffies <= HZ / 32 {
            return self.per;
        }
        if self.epoch.is_none() || now != self.last_jiffies {
            self.follow_the_curve(now, min_rtt_us, cwnd, acked);
        }
        if tuning.tcp_friendliness {
            self.keep_up_with_reno(cwnd);
        }
        self.per = self.per.max(LEAST_ACKS_A_PACKET);
        self.per
    }

    /// The window is about to be reduced from `cwnd`: remembers it, or less of it when it had not come back to the
    /// last maximum, so that newcomers find room (fast convergence, RFC 9438 section 4.7).
    pub(super) fn end_epoch(&mut self, cwnd: u32, tuning: &Tuning) {
        self.epoch = None;
        let gives_way = tuning.fast_convergence && cwnd < self.w_max;
        self.w_max = if gives_way { scaled(cwnd, BETA_SCALE + tuning.beta, 2 * BETA_SCALE) } else { cwnd };
    }

    /// Sending begins again after an idle time, which the curve must not count (RFC 9438 section 5.8).
    pub(super) fn shift_epoch(&mut self, now: u64, last_sent: u64) {
        if let Some(epoch) = &mut self.epoch {
            *epoch = (*epoch + now.saturating_sub(last_sent)).min(now);
        }
    }

    /// Jiffies since this epoch began, when there is one.
    pub(super) fn epoch_age(&self, now: u64) -> Option<u64> {
        self.epoch.map(|epoch| now.saturating_sub(epoch))
    }

    /// Does Reno's line decide, not the curve?
    pub(super) fn follows_reno(&self) -> bool {
        self.follows_reno
    }

    fn follow_the_curve(&mut self, now: u64, min_rtt_us: u32, cwnd: u32, acked: u32) {
        self.last_cwnd = cwnd;
        self.last_jiffies = now;
        self.follows_reno = false;
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(now, cwnd, acked),
        };
        let jiffies = now.saturating_sub(epoch) + rounded_up_jiffies(min_rtt_us);
        let target = self.target((jiffies << TIME_SHIFT) / HZ);
        self.per = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if self.w_max == 0 {
            self.per = self.per.min(MOST_ACKS_A_PACKET_BEFORE_A_MAXIMUM);
        }
    }

    fn begin_epoch(&mut self, now: u64, cwnd: u32, acked: u32) -> u64 {
        self.acked = acked;
        self.reno_cwnd = cwnd;
        self.origin = cwnd.max(self.w_max);
        self.k = if self.w_max > cwnd { cube_root(CUBE_FACTOR * u64::from(self.w_max - cwnd)) } else { 0 };
        self.epoch = Some(now);
        now
    }

    /// The window that the curve asks for `t` 1/1024 s into the epoch (RFC 9438 figure 1).
    fn target(&self, t: u64) -> u32 {
        let offset = t.abs_diff(u64::from(self.k));
        let cube = CUBE_RTT_SCALE.wrapping_mul(offset).wrapping_mul(offset).wrapping_mul(offset);
        let delta = low_word(cube >> (10 + 3 * TIME_SHIFT));
        if t < u64::from(self.k) { self.origin.wrapping_sub(delta) } else { self.origin.wrapping_add(delta) }
    }

    /// RFC 9438 section 4.3: never slower than Reno, whose window grows by a packet for every 15/8 windows here.
    fn keep_up_with_reno(&mut self, cwnd: u32) {
        let window = (cwnd.saturating_mul(RENO_SCALE) >> 3).max(1);
        if self.acked > window {
            let packets = (self.acked - 1) / window;
            self.acked -= packets * window;
            self.reno_cwnd = self.reno_cwnd.saturating_add(packets);
        }
        if self.reno_cwnd > cwnd {
            let per = cwnd / (self.reno_cwnd - cwnd);
            if self.per > per {
                self.per = per;
                self.follows_reno = true;
            }
        }
    }
}

/// The cube root of `x` by a table of its six leading bits and one step of Newton's method, good to 0.2 % on
/// average: Linux's approximation, errors included, because K depends on it.
fn cube_root(x: u64) -> u32 {
    let bits = u64::BITS - x.leading_zeros();
    if bits < 7 {
        return (u32::from(ROOTS[index(x)]) + 35) >> 6;
    }
    let third = ((bits * 84) >> 8) - 1;
    let guess = ((u32::from(ROOTS[index(x >> (third * 3))]) + 10) << third) >> 6;
    let quotient = low_word(x / (u64::from(guess) * u64::from(guess - 1)));
    let sum = 2 * guess + quotient;
    low_word((u64::from(sum) * 341) >> 10) // a third
}

fn index(leading: u64) -> usize {
    usize::try_from(leading).expect("six bits were left")
}

/// Jiffies of a delay, rounded up (`usecs_to_jiffies`).
fn rounded_up_jiffies(micros: u32) -> u64 {
    u64::from(micros).div_ceil(1_000_000 / HZ)
}

#[expect(clippy::cast_possible_truncation, reason = "Linux keeps it in 32 bits")]
const fn low_word(number: u64) -> u32 {
    number as u32
}

/// Growth of Reno with CUBIC's own β, in eighths: 8 (1+β) / 3(1-β), rounded down as Linux rounds it: twice. Linux reckons
/// it once, when it starts: a β that is set later does not change it.
const RENO_SCALE: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// Time is in 2⁻¹⁰ s (`BICTCP_HZ`).
const TIME_SHIFT: u32 = 10;
/// C = 0.4 in 1/1024, over a nominal round trip of 0.1 s.
const CUBE_RTT_SCALE: u64 = 41 * 10;
/// Turns packets below the maximum into a cube of time.
const CUBE_FACTOR: u64 = (1 << (10 + 3 * TIME_SHIFT)) / CUBE_RTT_SCALE;
/// At most half a packet more for each one acknowledged: 1.5 windows a round trip.
const LEAST_ACKS_A_PACKET: u32 = 2;
/// At least 5 % more a round trip while no maximum is known.
const MOST_ACKS_A_PACKET_BEFORE_A_MAXIMUM: u32 = 20;
/// 64 cbrt(x) - 10 for x of six bits, refined by hand in Linux.
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173, 176, 179,
    181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227,
    229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

#[cfg(test)]
mod tests;
