//! Controllers for tests: Reno as in `tcp_cong.c`, and one with a constant pacing rate.

use crate::cc::{CcInfo, CcState, CongestionControl, RateSample, SenderState};
use crate::rate::Rate;

/// Halves on loss, grows by the acknowledged packets in slow start, then by one per window.
#[derive(Clone, Debug)]
pub(super) struct Reno;

impl CongestionControl for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn init(&mut self, _tp: &SenderState, _cc: &mut CcState) {}

    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        (cc.cwnd / 2).max(2)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        cc.cwnd.max(tp.prior_cwnd)
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        if !tp.is_cwnd_limited(cc) {
            return;
        }
        let mut left = acked;
        if cc.in_slow_start() {
            let cwnd = (cc.cwnd + acked).min(cc.ssthresh);
            left -= cwnd - cc.cwnd;
            cc.cwnd = cwnd;
        }
        cc.cwnd_count += left;
        if cc.cwnd_count >= cc.cwnd {
            cc.cwnd_count -= cc.cwnd;
            cc.cwnd += 1;
        }
    }

    fn cc_info(&self, _tp: &SenderState, _cc: &CcState) -> CcInfo {
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

    fn init(&mut self, _tp: &SenderState, cc: &mut CcState) {
        cc.paced = true;
        cc.cwnd = self.cwnd;
        cc.pacing_rate = self.rate;
    }

    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        cc.ssthresh
    }

    fn undo_cwnd(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        cc.cwnd
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, _tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        cc.cwnd = self.cwnd;
        self.samples.push(*sample);
    }

    fn cc_info(&self, _tp: &SenderState, _cc: &CcState) -> CcInfo {
        CcInfo::default()
    }
}
