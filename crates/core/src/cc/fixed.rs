//! The null cases: a window or a rate that never changes, whatever the network says.
//!
//! - **What it does**: keeps `cwnd` packets in flight, or sends at `pacing_rate`, or both.
//! - **Signal it listens to**: none. A timeout's window of one packet lasts until the next ACK.
//! - **When it does well**: as a yardstick, and where the path's rate and delay are known beforehand.
//! - **When it does badly**: wherever it is more than its share: nothing makes it yield.

use super::{Control, INFINITE_SSTHRESH, Insight, Parameters, RateSample, Vitals};
use crate::rate::Rate;

/// A window and a rate that stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// None: the initial window; with a rate, as good as no limit.
    cwnd: Option<u32>,
    pacing_rate: Option<Rate>,
}

impl Fixed {
    /// As set: `cwnd` in packets, `pacing_rate` in bits per second; 0 is "not set".
    pub fn new(parameters: &mut Parameters) -> Self {
        let cwnd = parameters.take("cwnd", 0, 0..=NO_LIMIT);
        let rate_bps = parameters.take("pacing_rate", 0_u64, 0..=FASTEST_BPS);
        let pacing_rate = (rate_bps > 0).then(|| Rate::from_bits(rate_bps.max(LEAST_BPS)));
        let unlimited = pacing_rate.map(|_| NO_LIMIT);
        Self { cwnd: Some(cwnd).filter(|cwnd| *cwnd > 0).or(unlimited), pacing_rate }
    }

    fn set(&self, vitals: &mut Vitals) {
        if let Some(cwnd) = self.cwnd {
            vitals.cwnd = cwnd.min(vitals.cwnd_clamp);
        }
        if let Some(rate) = self.pacing_rate {
            vitals.pacing_rate = rate.min(vitals.max_pacing_rate);
        }
    }
}

impl Control for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.cwnd.get_or_insert(vitals.cwnd);
        vitals.paced |= self.pacing_rate.is_some();
        self.set(vitals);
    }

    fn ssthresh(&mut self, _vitals: &mut Vitals) -> u32 {
        INFINITE_SSTHRESH
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        self.cwnd.unwrap_or(vitals.cwnd)
    }

    fn controls(&self) -> bool {
        true
    }

    fn control(&mut self, vitals: &mut Vitals, _sample: &RateSample) {
        self.set(vitals);
    }

    fn insight(&self, _vitals: &Vitals) -> Insight {
        let phase = if self.pacing_rate.is_some() { "fixed_rate" } else { "fixed_window" };
        Insight { phase, ..Insight::default() }
    }
}

/// Packets that no path holds: 1.5 GB of full segments.
const NO_LIMIT: u32 = 1 << 20;
/// A byte a second.
const LEAST_BPS: u64 = 8;
/// 10 Tbit/s.
const FASTEST_BPS: u64 = 10_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::vitals;
    use crate::cc::{CaState, Setting};

    fn fixed(name: &str, value: u64) -> (Fixed, Vitals) {
        let mut parameters = Parameters::of([(name.into(), Setting::Number(value))]);
        let mut vitals = vitals();
        let mut fixed = Fixed::new(&mut parameters);
        fixed.start(&mut vitals);
        (fixed, vitals)
    }

    #[test]
    fn a_window_stands_through_loss_and_timeout() {
        let (mut fixed, mut vitals) = fixed("cwnd", 100);
        assert_eq!((vitals.cwnd, vitals.paced), (100, false));
        fixed.ssthresh(&mut vitals);
        fixed.on_state(&mut vitals, CaState::Loss);
        vitals.cwnd = 1; // what the transport makes of a timeout
        fixed.control(&mut vitals, &RateSample::default());
        assert_eq!(vitals.cwnd, 100);
    }

    #[test]
    fn a_rate_stands_and_no_window_is_in_its_way() {
        let (_, vitals) = fixed("pacing_rate", 10_000_000);
        assert_eq!((vitals.pacing_rate, vitals.paced, vitals.cwnd), (Rate::from_bits(10_000_000), true, NO_LIMIT));
    }

    #[test]
    fn with_nothing_set_the_initial_window_stands() {
        let (mut fixed, mut vitals) = fixed("cwnd", 0);
        vitals.cwnd = 1;
        fixed.control(&mut vitals, &RateSample::default());
        assert_eq!((vitals.cwnd, vitals.paced), (10, false));
    }
}
