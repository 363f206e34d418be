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

use super::{AckSample, CcInfo, CcState, CongestionControl, Event, SenderState, growth, reno};
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

    fn init(&mut self, tp: &SenderState, _cc: &mut CcState) {
        *self = Self { bandwidth: Bandwidth::new(tp), rtt: UNKNOWN_RTT, min_rtt: UNKNOWN_RTT, renews_min: true };
    }

    /// Half, during the reduction; at its end the window becomes the path's capacity.
    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::ssthresh(cc)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn pkts_acked(&mut self, _tp: &SenderState, _cc: &mut CcState, sample: &AckSample) {
        if let Some(rtt) = sample.rtt_jiffies().filter(|rtt| *rtt > 0) {
            self.rtt = rtt;
        }
    }

    fn in_ack_event(&mut self, tp: &SenderState, _cc: &mut CcState, is_plain: bool) {
        self.bandwidth.on_ack(tp, self.rtt, is_plain);
        self.min_rtt = if self.renews_min { self.rtt } else { self.min_rtt.min(self.rtt) };
        self.renews_min = false;
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        reno::cong_avoid(tp, cc, acked);
    }

    fn cwnd_event(&mut self, tp: &SenderState, cc: &mut CcState, event: Event) {
        match event {
            Event::CompleteCwr => {
                cc.ssthresh = self.fits(tp);
                cc.cwnd = cc.ssthresh;
            }
            Event::Loss => {
                cc.ssthresh = self.fits(tp);
                self.renews_min = true;
            }
            _ => {}
        }
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        CcInfo { phase: growth::phase(cc), ..CcInfo::default() }
    }
}

/// Jiffies before the first sample: 20 s (`TCP_WESTWOOD_INIT_RTT`).
#[expect(clippy::cast_possible_truncation, reason = "5000")]
const UNKNOWN_RTT: u32 = 20 * HZ as u32;

#[cfg(test)]
mod tests;
