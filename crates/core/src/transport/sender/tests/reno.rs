//! Controllers for tests: Reno as in `tcp_cong.c`, and one with a constant pacing rate.

use crate::cc::{CcInfo, CongestionControl, RateSample, SenderState};
use crate::rate::Rate;

/// Halves on loss, grows by the acknowledged packets in slow start, then by one per window.
#[derive(Clone, Debug)]
pub(super) struct Reno;

impl CongestionControl for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn init(&mut self, _tp: &mut SenderState) {}

    fn ssthresh(&mut self, tp: &mut SenderState) -> u32 {
        (tp.cwnd / 2).max(2)
    }

    fn undo_cwnd(&mut self, tp: &mut SenderState) -> u32 {
        tp.cwnd.max(tp.prior_cwnd)
    }

    fn cong_avoid(&mut self, tp: &mut SenderState, acked: u32) {
        if !tp.is_cwnd_limited() {
            return;
        }
        let mut left = acked;
        if tp.in_slow_start() {
            let cwnd = (tp.cwnd + acked).min(tp.ssthresh);
            left -= cwnd - tp.cwnd;
            tp.cwnd = cwnd;
        }
        tp.cwnd_count += left;
        if tp.cwnd_count >= tp.cwnd {
            tp.cwnd_count -= tp.cwnd;
            tp.cwnd += 1;
        }
    }

    fn cc_info(&self, _tp: &SenderState) -> CcInfo {
        CcInfo::default()
    }
}

/// A fixed window and rate, as a model-based controller sets them.
#[derive(Clone, Debug)]
pub(super) struct Steady {
    pub cwnd: u32,
    pub rate: Rate,
    pub samples: alloc::vec::Vec<RateSample>,
}

impl CongestionControl for Steady {
    fn name(&self) -> &'static str {
        "steady"
    }

    fn init(&mut self, tp: &mut SenderState) {
        tp.paced = true;
        tp.cwnd = self.cwnd;
        tp.pacing_rate = self.rate;
    }

    fn ssthresh(&mut self, tp: &mut SenderState) -> u32 {
        tp.ssthresh
    }

    fn undo_cwnd(&mut self, tp: &mut SenderState) -> u32 {
        tp.cwnd
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, tp: &mut SenderState, sample: &RateSample) {
        tp.cwnd = self.cwnd;
        self.samples.push(*sample);
    }

    fn cc_info(&self, _tp: &SenderState) -> CcInfo {
        CcInfo::default()
    }
}
