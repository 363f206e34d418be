//! Scalable TCP: adds a fixed fraction of the window per round trip, removes an eighth on loss (Linux's
//! `tcp_scalable.c`).
//!
//! - **What it does**: one packet more for every 100 acknowledged (every window, if that is smaller), so that the time
//!   between two losses is the same number of round trips at every rate.
//! - **Signal**: loss.
//! - **Works well**: alone on a long fat path.
//! - **Works badly**: with other flows: two Scalable flows never converge to equal shares.
//! - **Reference**: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", 2003.

use super::{CcInfo, CcState, CongestionControl, SenderState, growth, reno};

/// Scalable TCP has no state of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scalable;

impl CongestionControl for Scalable {
    fn name(&self) -> &'static str {
        "scalable"
    }

    fn init(&mut self, _tp: &SenderState, _cc: &mut CcState) {}

    /// Seven eighths of the window.
    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        (cc.cwnd - (cc.cwnd >> 3)).max(2)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        let Some(acked) = growth::beyond_slow_start(tp, cc, acked) else { return };
        increase(cc, acked);
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        CcInfo { phase: growth::phase(cc), ..CcInfo::default() }
    }
}

/// One packet for every 100 acknowledged, or every window if that is smaller.
pub(super) fn increase(cc: &mut CcState, acked: u32) {
    growth::additive_increase(cc, cc.cwnd.min(ACKS_PER_PACKET), acked);
}

/// `TCP_SCALABLE_AI_CNT`: the paper's 0.01.
const ACKS_PER_PACKET: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, tp};

    /// Growth by 1000 acknowledged packets in avoidance.
    fn growth(window: u32) -> u32 {
        let (tp, mut cc) = (tp(), CcState { cwnd: window, ssthresh: window, ..cc() });
        for _ in 0..1_000 {
            Scalable.cong_avoid(&tp, &mut cc, 1);
        }
        cc.cwnd - window
    }

    #[test]
    fn a_large_window_grows_by_a_hundredth_of_the_acknowledged_packets() {
        assert_eq!((growth(100), growth(5_000)), (10, 10));
    }

    /// From 10 packets: 10 + 11 + … + 45 = 990 acknowledged packets add 36.
    #[test]
    fn a_small_window_grows_as_reno() {
        assert_eq!(growth(10), 36);
    }

    #[test]
    fn a_loss_removes_an_eighth() {
        let windows = [800, 15, 3, 1].map(|cwnd| Scalable.ssthresh(&tp(), &mut CcState { cwnd, ..cc() }));
        assert_eq!(windows, [700, 14, 3, 2]);
    }
}
