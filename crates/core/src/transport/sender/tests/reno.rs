//! A controller for tests: Reno as `tcp_cong.c` has it, and one that paces at a rate of its own.

use crate::cc::{Control, Insight, RateSample, Vitals};
use crate::rate::Rate;

/// Halves on loss, grows in slow start by what is acknowledged, then by one a window.
#[derive(Clone, Debug)]
pub(super) struct Reno;

impl Control for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn start(&mut self, _vitals: &mut Vitals) {}

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        (vitals.cwnd / 2).max(2)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        vitals.cwnd.max(vitals.prior_cwnd)
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        if !vitals.cwnd_limited {
            return;
        }
        let mut left = acked;
        if vitals.in_slow_start() {
            let cwnd = (vitals.cwnd + acked).min(vitals.ssthresh);
            left -= cwnd - vitals.cwnd;
            vitals.cwnd = cwnd;
        }
        vitals.cwnd_count += left;
        if vitals.cwnd_count >= vitals.cwnd {
            vitals.cwnd_count -= vitals.cwnd;
            vitals.cwnd += 1;
        }
    }

    fn insight(&self, _vitals: &Vitals) -> Insight {
        Insight::default()
    }
}

/// A fixed window and rate, as a model-based controller would set them.
#[derive(Clone, Debug)]
pub(super) struct Steady {
    pub cwnd: u32,
    pub rate: Rate,
    pub samples: alloc::vec::Vec<RateSample>,
}

impl Control for Steady {
    fn name(&self) -> &'static str {
        "steady"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        vitals.paced = true;
        vitals.cwnd = self.cwnd;
        vitals.pacing_rate = self.rate;
    }

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        vitals.ssthresh
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        vitals.cwnd
    }

    fn controls(&self) -> bool {
        true
    }

    fn control(&mut self, vitals: &mut Vitals, sample: &RateSample) {
        vitals.cwnd = self.cwnd;
        self.samples.push(*sample);
    }

    fn insight(&self, _vitals: &Vitals) -> Insight {
        Insight::default()
    }
}
