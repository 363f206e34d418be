//! Increase and decrease as functions of the delay: Illinois' α and β.
//!
//! d is the mean queueing delay of the last round trip and m its maximum overall:
//!
//! ```text
//!   α = 10                          d ≤ m/100          β = 1/8                     d ≤ m/10
//!     = 10 m' / (m' + d' · 9.7/0.3)    else              = linear                    between
//!       m' = m - m/100, d' = d - m/100                   = 1/2                     d ≥ 8 m/10
//! ```

/// α, β, and whether there was a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Curves {
    /// Packets per round trip, in 1/128.
    alpha: u32,
    /// Share of the window, in 1/64.
    beta: u32,
    /// Rounds without a queue before growth is fastest again.
    theta: u8,
    /// Was there a queue?
    saw_queue: bool,
    /// Rounds without a queue since.
    calm: u8,
}

impl Curves {
    pub(super) const fn new(theta: u8) -> Self {
        Self { alpha: ALPHA_MAX, beta: BETA_MAX, theta, saw_queue: false, calm: 0 }
    }

    /// Reno's values: one packet per round trip, and a half.
    pub(super) const fn be_reno(&mut self) {
        (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
    }

    /// Resets after a timeout.
    pub(super) const fn restart(&mut self) {
        self.be_reno();
        (self.saw_queue, self.calm) = (false, 0);
    }

    /// Updates after a round with this mean queueing delay; `max_us` is the maximum overall.
    pub(super) const fn follow(&mut self, mean_us: u32, max_us: u32) {
        self.alpha = self.alpha_at(mean_us, max_us);
        self.beta = beta_at(mean_us, max_us);
    }

    /// Packets to add for `packets` acknowledged ones.
    pub(super) const fn increase(&self, packets: u32) -> u32 {
        packets.wrapping_mul(self.alpha) >> 7
    }

    /// Packets to remove on a loss.
    pub(super) const fn decrease(&self, cwnd: u32) -> u32 {
        cwnd.wrapping_mul(self.beta) >> 6
    }

    const fn alpha_at(&mut self, mean_us: u32, max_us: u32) -> u32 {
        let low_us = max_us / 100;
        if mean_us <= low_us {
            return self.alpha_without_queue();
        }
        self.saw_queue = true;
        let (max_us, mean_us) = (max_us - low_us, mean_us - low_us);
        let scaled_us = mean_us.wrapping_mul(ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN;
        max_us.wrapping_mul(ALPHA_MAX) / max_us.wrapping_add(scaled_us)
    }

    /// After a queue, one round without one is not enough.
    const fn alpha_without_queue(&mut self) -> u32 {
        if !self.saw_queue {
            return ALPHA_MAX;
        }
        self.calm = self.calm.wrapping_add(1);
        if self.calm < self.theta {
            return self.alpha;
        }
        (self.saw_queue, self.calm) = (false, 0);
        ALPHA_MAX
    }
}

const fn beta_at(mean_us: u32, max_us: u32) -> u32 {
    let low_us = max_us / 10;
    if mean_us <= low_us {
        return BETA_MIN;
    }
    let high_us = 8 * max_us / 10;
    if mean_us >= high_us || high_us <= low_us {
        return BETA_MAX;
    }
    let start = (BETA_MIN * high_us).wrapping_sub(BETA_MAX * low_us);
    start.wrapping_add((BETA_MAX - BETA_MIN) * mean_us) / (high_us - low_us)
}

/// 0.3, 1 and 10 packets per round trip, in 1/128.
const ALPHA_MIN: u32 = 3 * 128 / 10;
const ALPHA_ONE: u32 = 128;
const ALPHA_MAX: u32 = 10 * 128;
/// An eighth and a half, in 1/64.
const BETA_MIN: u32 = 8;
const BETA_MAX: u32 = 32;
/// Longer samples count as this, 3.4 s, so that products fit 32 bits (`RTT_MAX`).
pub(super) const MAX_RTT_US: u32 = u32::MAX / ALPHA_MAX;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mean_us: u32) -> (u32, u32) {
        let mut curves = Curves::new(5);
        curves.follow(mean_us, 100_000);
        (curves.alpha, curves.beta)
    }

    /// Of at most 100 ms. Half full: 99000 · 1280 / (99000 + 49000 · 1242/38) = 74.7/128; full: 99000 · 1280 / (99000 +
    /// 99000 · 1242/38) = 38/128.
    #[test]
    fn growth_falls_and_decrease_rises_with_the_queue() {
        assert_eq!([0, 1_000].map(at), [(1_280, 8), (1_280, 8)]);
        assert_eq!([50_000, 100_000].map(at), [(74, 21), (38, 32)]);
        assert_eq!([10_000, 10_001, 79_999, 80_000].map(|mean_us| at(mean_us).1), [8, 8, 31, 32]);
    }

    #[test]
    fn five_rounds_without_a_queue_restore_the_fastest_growth() {
        let mut curves = Curves::new(5);
        curves.follow(100_000, 100_000);
        let alphas: [u32; 6] = core::array::from_fn(|_| {
            curves.follow(0, 100_000);
            curves.alpha
        });
        assert_eq!(alphas, [38, 38, 38, 38, 1_280, 1_280]);
    }
}
