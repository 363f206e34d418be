//! Reno: a packet more each round trip, half on loss (RFC 5681 as Linux's `tcp_cong.c` does it).
//!
//! - **What it does**: slow start to the threshold, then one packet a window; it counts packets acknowledged, so
//!   delayed ACKs don't slow it down.
//! - **Signal it listens to**: loss.
//! - **When it does well**: short round trips, buffers of a bandwidth-delay product, rare loss.
//! - **When it does badly**: long fat paths, random loss, deep buffers.
//! - **Reference**: RFC 5681; M. Mathis et al., "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", 1997.
//!
//! Recovery itself (which packets, how the window shrinks to the threshold) is [`crate::transport`]'s.

use super::{Control, Insight, Vitals, growth};

/// Reno keeps nothing of its own: all that it needs stands in [`Vitals`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reno;

impl Control for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn start(&mut self, _vitals: &mut Vitals) {}

    /// Half the window (RFC 5681 equation 4, of the window rather than the flight size, as Linux does).
    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        ssthresh(vitals)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        undo_cwnd(vitals)
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        avoid(vitals, acked);
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        Insight { phase: growth::phase(vitals), ..Insight::default() }
    }
}

/// Half the window, two packets at least (`tcp_reno_ssthresh`).
pub(super) fn ssthresh(vitals: &Vitals) -> u32 {
    (vitals.cwnd / 2).max(2)
}

/// Slow start, then a packet a window (`tcp_reno_cong_avoid`): what others do where they know nothing better.
pub(super) fn avoid(vitals: &mut Vitals, acked: u32) {
    let Some(acked) = growth::beyond_slow_start(vitals, acked) else { return };
    growth::additive_increase(vitals, vitals.cwnd, acked);
}

/// The window before the reduction, unless the present one is larger (`tcp_reno_undo_cwnd`).
pub(super) fn undo_cwnd(vitals: &Vitals) -> u32 {
    vitals.cwnd.max(vitals.prior_cwnd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::vitals;

    /// Acknowledges `packets` one by one.
    fn acknowledge(vitals: &mut Vitals, packets: u32) {
        for _ in 0..packets {
            Reno.avoid(vitals, 1);
        }
    }

    /// The life of a window: grow, halve, grow slowly, fall back after a timeout.
    #[test]
    fn a_window_grows_halves_and_restarts() {
        let mut vitals = vitals();
        acknowledge(&mut vitals, 10);
        assert_eq!((vitals.cwnd, Reno.insight(&vitals).phase), (20, "slow_start"));

        vitals.prior_cwnd = vitals.cwnd;
        vitals.ssthresh = Reno.ssthresh(&mut vitals);
        vitals.cwnd = vitals.ssthresh; // what PRR comes to
        assert_eq!((vitals.cwnd, Reno.insight(&vitals).phase), (10, "avoidance"));
        assert_eq!(Reno.undo_cwnd(&mut vitals), 20);

        let windows: [u32; 4] = core::array::from_fn(|_| {
            let window = vitals.cwnd;
            acknowledge(&mut vitals, window);
            vitals.cwnd
        });
        assert_eq!(windows, [11, 12, 13, 14], "one packet a window");

        vitals.ssthresh = Reno.ssthresh(&mut vitals);
        vitals.cwnd = 1;
        acknowledge(&mut vitals, 8);
        assert_eq!(
            (vitals.cwnd, vitals.cwnd_count),
            (7, 2),
            "six packets to the threshold of 7, two count towards the next"
        );
    }

    #[test]
    fn the_threshold_is_never_below_two() {
        let mut vitals = vitals();
        vitals.cwnd = 3;
        assert_eq!(Reno.ssthresh(&mut vitals), 2);
    }

    #[test]
    fn a_window_that_is_not_the_limit_does_not_grow() {
        let mut vitals = vitals();
        vitals.cwnd_limited = false;
        vitals.max_packets_out = 5;
        acknowledge(&mut vitals, 5);
        assert_eq!(vitals.cwnd, 10);

        vitals.max_packets_out = 6; // more than half of it was in use, which is enough in slow start
        acknowledge(&mut vitals, 5);
        assert_eq!(vitals.cwnd, 12);
    }

    #[test]
    fn delayed_acks_do_not_slow_it_down() {
        let (mut each, mut every_other) = (vitals(), vitals());
        (each.ssthresh, every_other.ssthresh) = (10, 10);
        for _ in 0..300 {
            Reno.avoid(&mut each, 1);
            Reno.avoid(&mut each, 1);
            Reno.avoid(&mut every_other, 2);
        }
        assert!(each.cwnd.abs_diff(every_other.cwnd) <= 1, "{} and {}", each.cwnd, every_other.cwnd);
    }
}
