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

use super::{CcInfo, CcState, CongestionControl, SenderState, growth};

/// Reno has no state of its own; everything is in [`SenderState`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reno;

impl CongestionControl for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn init(&mut self, _tp: &SenderState, _cc: &mut CcState) {}

    /// Half the window (RFC 5681 equation 4, of the window rather than the flight size, as Linux does).
    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        ssthresh(cc)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        undo_cwnd(tp, cc)
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        cong_avoid(tp, cc, acked);
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        CcInfo { phase: growth::phase(cc), ..CcInfo::default() }
    }
}

/// Half the window, at least two packets (`tcp_reno_ssthresh`).
pub(super) fn ssthresh(cc: &CcState) -> u32 {
    (cc.cwnd / 2).max(2)
}

/// Slow start, then one packet per window (`tcp_reno_cong_avoid`). Other controllers fall back to it.
pub(super) fn cong_avoid(tp: &SenderState, cc: &mut CcState, acked: u32) {
    let Some(acked) = growth::beyond_slow_start(tp, cc, acked) else { return };
    growth::additive_increase(cc, cc.cwnd, acked);
}

/// The window before the reduction, or the current one if larger (`tcp_reno_undo_cwnd`).
pub(super) fn undo_cwnd(tp: &SenderState, cc: &CcState) -> u32 {
    cc.cwnd.max(tp.prior_cwnd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, tp};

    /// Acknowledges `packets` packets one by one.
    fn acknowledge(tp: &SenderState, cc: &mut CcState, packets: u32) {
        for _ in 0..packets {
            Reno.cong_avoid(tp, cc, 1);
        }
    }

    /// Slow start, halving, avoidance, timeout.
    #[test]
    fn a_window_grows_halves_and_restarts() {
        let (mut tp, mut cc) = (tp(), cc());
        acknowledge(&tp, &mut cc, 10);
        assert_eq!((cc.cwnd, Reno.cc_info(&tp, &cc).phase), (20, "slow_start"));

        tp.prior_cwnd = cc.cwnd;
        cc.ssthresh = Reno.ssthresh(&tp, &mut cc);
        cc.cwnd = cc.ssthresh; // the window after PRR
        assert_eq!((cc.cwnd, Reno.cc_info(&tp, &cc).phase), (10, "avoidance"));
        assert_eq!(Reno.undo_cwnd(&tp, &mut cc), 20);

        let windows: [u32; 4] = core::array::from_fn(|_| {
            let window = cc.cwnd;
            acknowledge(&tp, &mut cc, window);
            cc.cwnd
        });
        assert_eq!(windows, [11, 12, 13, 14], "one packet per window");

        cc.ssthresh = Reno.ssthresh(&tp, &mut cc);
        cc.cwnd = 1;
        acknowledge(&tp, &mut cc, 8);
        assert_eq!((cc.cwnd, cc.cwnd_count), (7, 2), "six packets to the threshold of 7, two count towards the next");
    }

    #[test]
    fn the_threshold_is_never_below_two() {
        let (tp, mut cc) = (tp(), cc());
        cc.cwnd = 3;
        assert_eq!(Reno.ssthresh(&tp, &mut cc), 2);
    }

    #[test]
    fn a_window_that_is_not_the_limit_does_not_grow() {
        let (mut tp, mut cc) = (tp(), cc());
        tp.cwnd_limited = false;
        tp.max_packets_out = 5;
        acknowledge(&tp, &mut cc, 5);
        assert_eq!(cc.cwnd, 10);

        tp.max_packets_out = 6; // more than half of the window was in use, which is enough in slow start
        acknowledge(&tp, &mut cc, 5);
        assert_eq!(cc.cwnd, 12);
    }

    #[test]
    fn delayed_acks_do_not_slow_it_down() {
        let (tp, mut each, mut every_other) = (tp(), cc(), cc());
        (each.ssthresh, every_other.ssthresh) = (10, 10);
        for _ in 0..300 {
            Reno.cong_avoid(&tp, &mut each, 1);
            Reno.cong_avoid(&tp, &mut each, 1);
            Reno.cong_avoid(&tp, &mut every_other, 2);
        }
        assert!(each.cwnd.abs_diff(every_other.cwnd) <= 1, "{} and {}", each.cwnd, every_other.cwnd);
    }
}
