//! Westwood+: after a loss the window is the measured bandwidth-delay product (Linux's `tcp_westwood.c`).
//!
//! - **What it does**: Reno's growth; but the threshold after a loss is the rate of acknowledged data times the minimum
//!   round-trip time, so that a random loss costs little.
//! - **Signal**: loss; the rate of ACKs determines the reduction.
//! - **Works well**: wireless paths, where packets are lost without congestion.
//! - **Works badly**: a path whose ACKs come in bursts, or whose minimum round-trip time was never measured.
//! - **Reference**: S. Mascolo et al., "TCP Westwood: Bandwidth Estimation for Enhanced Transport over Wireless Links",
//!   2001; L. A. Grieco, S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas", 2004.
//!
//! Where Linux departs from the papers: times are in jiffies, rounded up, and rates in bytes per jiffy.

mod bandwidth;

use super::{AckSample, CcInfo, CongestionControl, Event, SenderState, growth, reno};
use crate::time::HZ;
use bandwidth::Bandwidth;

/// Westwood+'s state for one flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Westwood {
    bandwidth: Bandwidth,
    /// The last round-trip time in jiffies.
    rtt: u32,
    /// The minimum in jiffies.
    min_rtt: u32,
    /// Does the next ACK's round-trip time replace the minimum?
    renews_min: bool,
}

impl Westwood {
    /// The path's capacity without a queue, in packets (`tcp_westwood_bw_rttmin`).
    fn fits(&self, tp: &SenderState) -> u32 {
        (self.bandwidth.bytes_per_jiffy().wrapping_mul(self.min_rtt) / tp.mss).max(2)
    }
}

impl CongestionControl for Westwood {
    fn name(&self) -> &'static str {
        "westwood"
    }

    fn init(&mut self, tp: &mut SenderState) {
        *self = Self { bandwidth: Bandwidth::new(tp), rtt: UNKNOWN_RTT, min_rtt: UNKNOWN_RTT, renews_min: true };
    }

    /// Half, during the reduction; at its end the window becomes the path's capacity.
    fn ssthresh(&mut self, tp: &mut SenderState) -> u32 {
        reno::ssthresh(tp)
    }

    fn undo_cwnd(&mut self, tp: &mut SenderState) -> u32 {
        reno::undo_cwnd(tp)
    }

    fn pkts_acked(&mut self, _tp: &mut SenderState, sample: &AckSample) {
        if let Some(rtt) = sample.rtt_jiffies().filter(|rtt| *rtt > 0) {
            self.rtt = rtt;
        }
    }

    fn in_ack_event(&mut self, tp: &mut SenderState, is_plain: bool) {
        self.bandwidth.on_ack(tp, self.rtt, is_plain);
        self.min_rtt = if self.renews_min { self.rtt } else { self.min_rtt.min(self.rtt) };
        self.renews_min = false;
    }

    fn cong_avoid(&mut self, tp: &mut SenderState, acked: u32) {
        reno::cong_avoid(tp, acked);
    }

    fn cwnd_event(&mut self, tp: &mut SenderState, event: Event) {
        match event {
            Event::CompleteCwr => {
                tp.ssthresh = self.fits(tp);
                tp.cwnd = tp.ssthresh;
            }
            Event::Loss => {
                tp.ssthresh = self.fits(tp);
                self.renews_min = true;
            }
            _ => {}
        }
    }

    fn cc_info(&self, tp: &SenderState) -> CcInfo {
        CcInfo { phase: growth::phase(tp), ..CcInfo::default() }
    }
}

/// Jiffies before the first sample: 20 s (`TCP_WESTWOOD_INIT_RTT`).
#[expect(clippy::cast_possible_truncation, reason = "5000")]
const UNKNOWN_RTT: u32 = 20 * HZ as u32;

#[cfg(test)]
mod tests;
