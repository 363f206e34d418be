//! A constant window or rate, for reference experiments.
//!
//! - **What it does**: keeps `cwnd` packets in flight, or sends at `pacing_rate`, or both.
//! - **Signal**: none. A timeout's window of one packet lasts until the next ACK.
//! - **Works well**: as a reference, and where the path's rate and delay are known in advance.
//! - **Works badly**: wherever it exceeds its share: it never yields.

use super::{CcInfo, CongestionControl, INFINITE_SSTHRESH, Parameters, RateSample, SenderState};
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

    fn set(&self, tp: &mut SenderState) {
        if let Some(cwnd) = self.cwnd {
            tp.cwnd = cwnd.min(tp.cwnd_clamp);
        }
        if let Some(rate) = self.pacing_rate {
            tp.pacing_rate = rate.min(tp.max_pacing_rate);
        }
    }
}

impl CongestionControl for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn init(&mut self, tp: &mut SenderState) {
        self.cwnd.get_or_insert(tp.cwnd);
        tp.paced |= self.pacing_rate.is_some();
        self.set(tp);
    }

    fn ssthresh(&mut self, _tp: &mut SenderState) -> u32 {
        INFINITE_SSTHRESH
    }

    fn undo_cwnd(&mut self, tp: &mut SenderState) -> u32 {
        self.cwnd.unwrap_or(tp.cwnd)
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, tp: &mut SenderState, _sample: &RateSample) {
        self.set(tp);
    }

    fn cc_info(&self, _tp: &SenderState) -> CcInfo {
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
    use crate::cc::testing::tp;
    use crate::cc::{CaState, Setting};

    fn fixed(name: &str, value: u64) -> (Fixed, SenderState) {
        let mut parameters = Parameters::of([(name.into(), Setting::Number(value))]);
        let mut tp = tp();
        let mut fixed = Fixed::new(&mut parameters);
        fixed.init(&mut tp);
        (fixed, tp)
    }

    #[test]
    fn a_window_survives_loss_and_timeout() {
        let (mut fixed, mut tp) = fixed("cwnd", 100);
        assert_eq!((tp.cwnd, tp.paced), (100, false));
        fixed.ssthresh(&mut tp);
        fixed.set_state(&mut tp, CaState::Loss);
        tp.cwnd = 1; // what the transport does on a timeout
        fixed.cong_control(&mut tp, &RateSample::default());
        assert_eq!(tp.cwnd, 100);
    }

    #[test]
    fn a_rate_is_constant_and_no_window_limits_it() {
        let (_, tp) = fixed("pacing_rate", 10_000_000);
        assert_eq!((tp.pacing_rate, tp.paced, tp.cwnd), (Rate::from_bits(10_000_000), true, NO_LIMIT));
    }

    #[test]
    fn without_parameters_the_initial_window_is_constant() {
        let (mut fixed, mut tp) = fixed("cwnd", 0);
        tp.cwnd = 1;
        fixed.cong_control(&mut tp, &RateSample::default());
        assert_eq!((tp.cwnd, tp.paced), (10, false));
    }
}
