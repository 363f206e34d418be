//! Westwood+: after a loss the window is what the path carried (Linux's `tcp_westwood.c`).
//!
//! - **What it does**: Reno's growth; but the threshold after a loss is the rate at which data was acknowledged times
//!   the smallest round-trip time, so that a random loss costs little.
//! - **Signal it listens to**: loss; the rate of ACKs decides how much it gives up.
//! - **When it does well**: wireless paths, where packets are lost without congestion.
//! - **When it does badly**: a path whose ACKs come in bursts, or whose smallest round-trip time it never saw.
//! - **Reference**: S. Mascolo et al., "TCP Westwood: Bandwidth Estimation for Enhanced Transport over Wireless Links",
//!   2001; L. A. Grieco, S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas", 2004.
//!
//! Where Linux departs from the papers: times are whole jiffies, rounded up, and rates bytes a jiffy.

mod bandwidth;

use super::{AckSample, Control, Event, Insight, Vitals, growth, reno};
use crate::time::HZ;
use bandwidth::Bandwidth;

/// A flow's Westwood+.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Westwood {
    bandwidth: Bandwidth,
    /// The last round-trip time in jiffies.
    rtt: u32,
    /// The smallest in jiffies.
    least_rtt: u32,
    /// The next ACK's round-trip time is the smallest.
    renews_least: bool,
}

impl Westwood {
    /// What the path holds without a queue, in packets (`tcp_westwood_bw_rttmin`).
    fn fits(&self, vitals: &Vitals) -> u32 {
        (self.bandwidth.bytes_a_jiffy().wrapping_mul(self.least_rtt) / vitals.mss).max(2)
    }
}

impl Control for Westwood {
    fn name(&self) -> &'static str {
        "westwood"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        *self =
            Self { bandwidth: Bandwidth::new(vitals), rtt: UNKNOWN_RTT, least_rtt: UNKNOWN_RTT, renews_least: true };
    }

    /// Half, for the time of the reduction; what the path holds comes at its end.
    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        reno::ssthresh(vitals)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn on_acked(&mut self, _vitals: &mut Vitals, sample: &AckSample) {
        if let Some(rtt) = sample.rtt_jiffies().filter(|rtt| *rtt > 0) {
            self.rtt = rtt;
        }
    }

    fn on_ack(&mut self, vitals: &mut Vitals, is_plain: bool) {
        self.bandwidth.on_ack(vitals, self.rtt, is_plain);
        self.least_rtt = if self.renews_least { self.rtt } else { self.least_rtt.min(self.rtt) };
        self.renews_least = false;
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        reno::avoid(vitals, acked);
    }

    fn on_event(&mut self, vitals: &mut Vitals, event: Event) {
        match event {
            Event::CompleteCwr => {
                vitals.ssthresh = self.fits(vitals);
                vitals.cwnd = vitals.ssthresh;
            }
            Event::Loss => {
                vitals.ssthresh = self.fits(vitals);
                self.renews_least = true;
            }
            _ => {}
        }
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        Insight { phase: growth::phase(vitals), ..Insight::default() }
    }
}

/// Jiffies before the first sample: 20 s (`TCP_WESTWOOD_INIT_RTT`).
#[expect(clippy::cast_possible_truncation, reason = "5000")]
const UNKNOWN_RTT: u32 = 20 * HZ as u32;

#[cfg(test)]
mod tests;
