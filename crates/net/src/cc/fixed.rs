//! A constant window or rate, for reference experiments.
//!
//! - **What it does**: keeps `cwnd` packets in flight, or sends at `pacing_rate`, or both.
//! - **Signal**: none. A timeout's window of one packet lasts until the next ACK.
//! - **Works well**: as a reference, and where the path's rate and delay are known in advance.
//! - **Works badly**: wherever it exceeds its share: it never yields.

use super::{CcInfo, CcState, CongestionControl, INFINITE_SSTHRESH, Parameters, RateSample, SenderState};
use crate::rate::Rate;

/// A constant window and rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// None: the initial window; with a rate, practically unlimited.
    cwnd: Option<u32>,
    pacing_rate: Option<Rate>,
}

impl Fixed {
    /// Parameters: `cwnd` in packets, `pacing_rate` in bits per second; 0 means not set.
    pub fn new(parameters: &mut Parameters) -> Self {
        let cwnd = parameters.take("cwnd", 0, 0..=NO_LIMIT);
        let rate_bps = parameters.take("pacing_rate", 0_u64, 0..=MAX_BPS);
        let pacing_rate = (rate_bps > 0).then(|| Rate::from_bits(rate_bps.max(MIN_BPS)));
        let unlimited = pacing_rate.map(|_| NO_LIMIT);
        Self { cwnd: Some(cwnd).filter(|cwnd| *cwnd > 0).or(unlimited), pacing_rate }
    }

    fn set(&self, tp: &SenderState, cc: &mut CcState) {
        if let Some(cwnd) = self.cwnd {
            cc.cwnd = cwnd.min(cc.cwnd_clamp);
        }
        if let Some(rate) = self.pacing_rate {
            cc.pacing_rate = rate.min(tp.max_pacing_rate);
        }
    }
}

impl CongestionControl for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.cwnd.get_or_insert(cc.cwnd);
        cc.paced |= self.pacing_rate.is_some();
        self.set(tp, cc);
    }

    fn ssthresh(&mut self, _tp: &SenderState, _cc: &mut CcState) -> u32 {
        INFINITE_SSTHRESH
    }

    fn undo_cwnd(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        self.cwnd.unwrap_or(cc.cwnd)
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, tp: &SenderState, cc: &mut CcState, _sample: &RateSample) {
        self.set(tp, cc);
    }

    fn cc_info(&self, _tp: &SenderState, _cc: &CcState) -> CcInfo {
        let phase = if self.pacing_rate.is_some() { "fixed_rate" } else { "fixed_window" };
        CcInfo { phase, ..CcInfo::default() }
    }
}

/// More packets than any path holds: 1.5 GB of full segments.
const NO_LIMIT: u32 = 1 << 20;
/// A byte per second.
const MIN_BPS: u64 = 8;
/// 10 Tbit/s.
const MAX_BPS: u64 = 10_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, tp};
    use crate::cc::{CaState, Setting};

    fn fixed(name: &str, value: u64) -> (Fixed, SenderState, CcState) {
        let mut parameters = Parameters::of([(name.into(), Setting::Number(value))]);
        let (tp, mut cc) = (tp(), cc());
        let mut fixed = Fixed::new(&mut parameters);
        fixed.init(&tp, &mut cc);
        (fixed, tp, cc)
    }

    #[test]
    fn a_window_survives_loss_and_timeout() {
        let (mut fixed, tp, mut cc) = fixed("cwnd", 100);
        assert_eq!((cc.cwnd, cc.paced), (100, false));
        fixed.ssthresh(&tp, &mut cc);
        fixed.set_state(&tp, &mut cc, CaState::Loss);
        cc.cwnd = 1; // what the transport does on a timeout
        fixed.cong_control(&tp, &mut cc, &RateSample::default());
        assert_eq!(cc.cwnd, 100);
    }

    #[test]
    fn a_rate_is_constant_and_no_window_limits_it() {
        let (_, _tp, cc) = fixed("pacing_rate", 10_000_000);
        assert_eq!((cc.pacing_rate, cc.paced, cc.cwnd), (Rate::from_bits(10_000_000), true, NO_LIMIT));
    }

    #[test]
    fn without_parameters_the_initial_window_is_constant() {
        let (mut fixed, tp, mut cc) = fixed("cwnd", 0);
        cc.cwnd = 1;
        fixed.cong_control(&tp, &mut cc, &RateSample::default());
        assert_eq!((cc.cwnd, cc.paced), (10, false));
    }
}
