//! Reno: adds one packet per round trip and halves the window on loss (RFC 5681 as in Linux's `tcp_cong.c`).
//!
//! - **What it does**: slow start to the threshold, then one packet per window. It counts acknowledged packets, so
//!   delayed ACKs don't slow it down.
//! - **Signal**: loss.
//! - **Works well**: short round trips, buffers of a bandwidth-delay product, rare loss.
//! - **Works badly**: long fat paths, random loss, deep buffers.
//! - **Reference**: RFC 5681; M. Mathis et al., "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm",
//!   1997.
//!
//! Recovery (what to retransmit, how the window shrinks to the threshold) is in [`crate::transport`].

use super::{CcInfo, CongestionControl, SenderState, growth};

/// Reno has no state of its own; everything is in [`SenderState`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reno;

impl CongestionControl for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn init(&mut self, _tp: &mut SenderState) {}

    /// Half the window (RFC 5681 equation 4, of the window rather than the flight size, as Linux does).
    fn ssthresh(&mut self, tp: &mut SenderState) -> u32 {
        ssthresh(tp)
    }

    fn undo_cwnd(&mut self, tp: &mut SenderState) -> u32 {
        undo_cwnd(tp)
    }

    fn cong_avoid(&mut self, tp: &mut SenderState, acked: u32) {
        cong_avoid(tp, acked);
    }

    fn cc_info(&self, tp: &SenderState) -> CcInfo {
        CcInfo { phase: growth::phase(tp), ..CcInfo::default() }
    }
}

/// Half the window, at least two packets (`tcp_reno_ssthresh`).
pub(super) fn ssthresh(tp: &SenderState) -> u32 {
    (tp.cwnd / 2).max(2)
}

/// Slow start, then one packet per window (`tcp_reno_cong_avoid`). Other controllers fall back to it.
pub(super) fn cong_avoid(tp: &mut SenderState, acked: u32) {
    let Some(acked) = growth::beyond_slow_start(tp, acked) else { return };
    growth::additive_increase(tp, tp.cwnd, acked);
}

/// The window before the reduction, or the current one if larger (`tcp_reno_undo_cwnd`).
pub(super) fn undo_cwnd(tp: &SenderState) -> u32 {
    tp.cwnd.max(tp.prior_cwnd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::tp;

    /// Acknowledges `packets` packets one by one.
    fn acknowledge(tp: &mut SenderState, packets: u32) {
        for _ in 0..packets {
            Reno.cong_avoid(tp, 1);
        }
    }

    /// Slow start, halving, avoidance, timeout.
    #[test]
    fn a_window_grows_halves_and_restarts() {
        let mut tp = tp();
        acknowledge(&mut tp, 10);
        assert_eq!((tp.cwnd, Reno.cc_info(&tp).phase), (20, "slow_start"));

        tp.prior_cwnd = tp.cwnd;
        tp.ssthresh = Reno.ssthresh(&mut tp);
        tp.cwnd = tp.ssthresh; // the window after PRR
        assert_eq!((tp.cwnd, Reno.cc_info(&tp).phase), (10, "avoidance"));
        assert_eq!(Reno.undo_cwnd(&mut tp), 20);

        let windows: [u32; 4] = core::array::from_fn(|_| {
            let window = tp.cwnd;
            acknowledge(&mut tp, window);
            tp.cwnd
        });
        assert_eq!(windows, [11, 12, 13, 14], "one packet per window");

        tp.ssthresh = Reno.ssthresh(&mut tp);
        tp.cwnd = 1;
        acknowledge(&mut tp, 8);
        assert_eq!((tp.cwnd, tp.cwnd_count), (7, 2), "six packets to the threshold of 7, two count towards the next");
    }

    #[test]
    fn the_threshold_is_never_below_two() {
        let mut tp = tp();
        tp.cwnd = 3;
        assert_eq!(Reno.ssthresh(&mut tp), 2);
    }

    #[test]
    fn a_window_that_is_not_the_limit_does_not_grow() {
        let mut tp = tp();
        tp.cwnd_limited = false;
        tp.max_packets_out = 5;
        acknowledge(&mut tp, 5);
        assert_eq!(tp.cwnd, 10);

        tp.max_packets_out = 6; // more than half of the window was in use, which is enough in slow start
        acknowledge(&mut tp, 5);
        assert_eq!(tp.cwnd, 12);
    }

    #[test]
    fn delayed_acks_do_not_slow_it_down() {
        let (mut each, mut every_other) = (tp(), tp());
        (each.ssthresh, every_other.ssthresh) = (10, 10);
        for _ in 0..300 {
            Reno.cong_avoid(&mut each, 1);
            Reno.cong_avoid(&mut each, 1);
            Reno.cong_avoid(&mut every_other, 2);
        }
        assert!(each.cwnd.abs_diff(every_other.cwnd) <= 1, "{} and {}", each.cwnd, every_other.cwnd);
    }
}
