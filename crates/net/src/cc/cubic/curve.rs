//! CUBIC's curve: how many packets must be acknowledged before the window grows by one.
//!
//! Arithmetic is Linux's own (`bictcp_update`, `cubic_root`): time in 1/1024 s, made of jiffies; C = 410/1024 scaled by a
//! nominal round trip of 100 ms. The cube and the target wrap in 64 and 32 bits, as in Linux. Counts of packets saturate
//! where Linux's would wrap: `100 * cwnd` from a window of 42,949,673 packets on, `15 * cwnd` from 286,331,154, and the
//! sums of acknowledged packets and of Reno's window at 2³².

use super::tuning::{BETA, BETA_SCALE, Tuning, scaled};
use crate::number::low;
use crate::time::HZ;

/// The curve of one flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Curve {
    /// The window before the last reduction, or less after two in a row; 0 while unknown (`last_max_cwnd`).
    w_max: u32,
    /// Start of this epoch: the first growth since the last reduction.
    epoch: Option<u64>,
    /// The window at which the curve is flat (`bic_origin_point`).
    origin: u32,
    /// Time from the start of the epoch to the origin, in 1/1024 s (`bic_K`).
    k: u32,
    /// Acknowledged packets not yet counted into `reno_cwnd`.
    acked: u32,
    /// Reno's window (`tcp_cwnd`).
    reno_cwnd: u32,
    /// The last result (`cnt`), its window, and its time.
    per: u32,
    last_cwnd: u32,
    last_jiffies: u64,
    /// Is the result Reno's?
    follows_reno: bool,
}

impl Curve {
    /// Packets to acknowledge for one packet of growth, after `acked` more were acknowledged.
    pub(super) fn acks_per_packet(&mut self, now: u64, min_rtt_us: u32, cwnd: u32, acked: u32, tuning: &Tuning) -> u32 {
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
        self.per = self.per.max(MIN_ACKS_PER_PACKET);
        self.per
    }

    /// The window is about to be reduced from `cwnd`. Saves it as the maximum; less of it if it had not reached the
    /// last maximum, to make room for new flows (fast convergence, RFC 9438 section 4.7).
    pub(super) fn end_epoch(&mut self, cwnd: u32, tuning: &Tuning) {
        self.epoch = None;
        let gives_way = tuning.fast_convergence && cwnd < self.w_max;
        self.w_max = if gives_way { scaled(cwnd, BETA_SCALE + tuning.beta, 2 * BETA_SCALE) } else { cwnd };
    }

    /// Sending restarts after idle time, which must not count (RFC 9438 section 5.8).
    pub(super) fn shift_epoch(&mut self, now: u64, last_sent: u64) {
        if let Some(epoch) = &mut self.epoch {
            *epoch = (*epoch + now.saturating_sub(last_sent)).min(now);
        }
    }

    /// Jiffies since this epoch began; None outside an epoch.
    pub(super) fn epoch_age(&self, now: u64) -> Option<u64> {
        self.epoch.map(|epoch| now.saturating_sub(epoch))
    }

    /// Does Reno's line decide, instead of the curve?
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
            self.per = self.per.min(MAX_ACKS_PER_PACKET_BEFORE_A_MAXIMUM);
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

    /// The curve's window at `t` 1/1024 s into the epoch (RFC 9438 figure 1).
    fn target(&self, t: u64) -> u32 {
        let offset = t.abs_diff(u64::from(self.k));
        let cube = CUBE_RTT_SCALE.wrapping_mul(offset).wrapping_mul(offset).wrapping_mul(offset);
        let delta = low(cube >> (10 + 3 * TIME_SHIFT));
        if t < u64::from(self.k) { self.origin.wrapping_sub(delta) } else { self.origin.wrapping_add(delta) }
    }

    /// RFC 9438 section 4.3: never slower than Reno, which here grows by a packet for every 15/8 windows.
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

/// The cube root of `x` by a table of its six leading bits and one step of Newton's method, accurate to 0.2 % on
/// average. It reproduces Linux's approximation error, because K depends on it.
fn cube_root(x: u64) -> u32 {
    let bits = u64::BITS - x.leading_zeros();
    if bits < 7 {
        return (u32::from(ROOTS[index(x)]) + 35) >> 6;
    }
    let third = ((bits * 84) >> 8) - 1;
    let guess = ((u32::from(ROOTS[index(x >> (third * 3))]) + 10) << third) >> 6;
    let quotient = low(x / (u64::from(guess) * u64::from(guess - 1)));
    let sum = 2 * guess + quotient;
    low((u64::from(sum) * 341) >> 10) // one third
}

fn index(leading: u64) -> usize {
    usize::try_from(leading).expect("six bits remain")
}

/// A delay in jiffies, rounded up (`usecs_to_jiffies`).
fn rounded_up_jiffies(micros: u32) -> u64 {
    u64::from(micros).div_ceil(1_000_000 / HZ)
}

/// Reno's growth with CUBIC's β, in eighths: 8 (1+β) / 3(1-β), rounded down twice as in Linux. Linux computes it once
/// at start: setting β later does not change it.
const RENO_SCALE: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// Time is in 2⁻¹⁰ s (`BICTCP_HZ`).
const TIME_SHIFT: u32 = 10;
/// C = 0.4 in 1/1024, over a nominal round trip of 0.1 s.
const CUBE_RTT_SCALE: u64 = 41 * 10;
/// Turns packets below the maximum into a cube of time.
const CUBE_FACTOR: u64 = (1 << (10 + 3 * TIME_SHIFT)) / CUBE_RTT_SCALE;
/// At most half a packet more for each one acknowledged: 1.5 windows a round trip.
const MIN_ACKS_PER_PACKET: u32 = 2;
/// At least 5 % more a round trip while no maximum is known.
const MAX_ACKS_PER_PACKET_BEFORE_A_MAXIMUM: u32 = 20;
/// First guess of a cube root, 64 cbrt(x) - 10 for x of six bits, computed: from 8 on 65.4 cbrt(x) - 6.2, which is high
/// by as much as the integer divisions after it round down; below 8 from the rounded root, which is the answer there.
/// Linux's table was then refined by hand: [`LOWER`] and [`HIGHER`] are its entries that differ from the formula by one.
const ROOTS: [u8; 64] = guesses();

#[expect(clippy::cast_possible_truncation, reason = "the largest is 254")]
const fn guesses() -> [u8; 64] {
    let mut guesses = [0; 64];
    let mut x = 1;
    while x < 64 {
        let root = scaled_cube_root(x);
        guesses[x as usize] = if x < 8 {
            64 * ((root + ROOT_SCALE / 2) / ROOT_SCALE) - 10
        } else {
            (654 * root - 62 * ROOT_SCALE) / (10 * ROOT_SCALE) + (HIGHER >> x & 1) - (LOWER >> x & 1)
        } as u8;
        x += 1;
    }
    guesses
}

/// `ROOT_SCALE` cbrt(x), rounded down.
const fn scaled_cube_root(x: u64) -> u64 {
    let (mut root, mut bit) = (0, 4 * ROOT_SCALE);
    while bit > 0 {
        let next = root + bit;
        if next * next * next <= x * ROOT_SCALE * ROOT_SCALE * ROOT_SCALE {
            root = next;
        }
        bit /= 2;
    }
    root
}

const ROOT_SCALE: u64 = 1 << 16;
/// Bit x is set where entry x is one lower than the formula, or one higher.
const LOWER: u64 = 0x0002_600f_0175_0900;
const HIGHER: u64 = 0x1000_0000_0000_8000;

#[cfg(test)]
mod tests;
