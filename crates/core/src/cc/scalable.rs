//! Scalable TCP: a fixed fraction of the window more each round trip, an eighth less on loss (Linux's `tcp_scalable.c`).
//!
//! - **What it does**: a packet more for every 100 acknowledged (every window, where that is smaller), so that the
//!   time between two losses is the same number of round trips at every rate.
//! - **Signal it listens to**: loss.
//! - **When it does well**: alone on a long fat path.
//! - **When it does badly**: beside others: two flows of it never come to equal shares.
//! - **Reference**: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", 2003.

use super::{Control, Insight, Vitals, growth, reno};

/// Scalable TCP keeps nothing of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scalable;

impl Control for Scalable {
    fn name(&self) -> &'static str {
        "scalable"
    }

    fn start(&mut self, _vitals: &mut Vitals) {}

    /// Seven eighths of the window.
    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        (vitals.cwnd - (vitals.cwnd >> 3)).max(2)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        let Some(acked) = growth::beyond_slow_start(vitals, acked) else { return };
        increase(vitals, acked);
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        Insight { phase: growth::phase(vitals), ..Insight::default() }
    }
}

/// A packet for every 100 acknowledged, or every window where that is smaller.
pub(super) fn increase(vitals: &mut Vitals, acked: u32) {
    growth::additive_increase(vitals, vitals.cwnd.min(ACKS_A_PACKET), acked);
}

/// `TCP_SCALABLE_AI_CNT`: the paper's 0.01.
const ACKS_A_PACKET: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::vitals;

    /// Packets that 1000 acknowledged ones buy in avoidance.
    fn growth(window: u32) -> u32 {
        let mut vitals = Vitals { cwnd: window, ssthresh: window, ..vitals() };
        for _ in 0..1_000 {
            Scalable.avoid(&mut vitals, 1);
        }
        vitals.cwnd - window
    }

    #[test]
    fn a_large_window_grows_by_a_hundredth_of_what_is_acknowledged() {
        assert_eq!((growth(100), growth(5_000)), (10, 10));
    }

    /// From 10 packets: 10 + 11 + … + 45 = 990 acknowledged packets buy 36.
    #[test]
    fn a_small_window_grows_as_renos_does() {
        assert_eq!(growth(10), 36);
    }

    #[test]
    fn a_loss_costs_an_eighth() {
        let windows = [800, 15, 3, 1].map(|cwnd| Scalable.ssthresh(&mut Vitals { cwnd, ..vitals() }));
        assert_eq!(windows, [700, 14, 3, 2]);
    }
}
