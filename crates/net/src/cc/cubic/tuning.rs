//! CUBIC's parameters, with the names and defaults of Linux's module (`tcp_cubic.c`).

use crate::cc::Parameters;

/// The module's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tuning {
    /// Lower the maximum after two reductions in a row (RFC 9438 section 4.7).
    pub fast_convergence: bool,
    /// Share of the window that a reduction leaves, in 1/1024.
    pub beta: u32,
    /// Initial slow start threshold; only without `HyStart`.
    pub initial_ssthresh: Option<u32>,
    /// Never slower than Reno (RFC 9438 section 4.3).
    pub tcp_friendliness: bool,
    /// May `HyStart` end slow start?
    pub hystart: bool,
    /// Detectors: 1 ACK trains, 2 delay, 3 both.
    hystart_detect: u8,
    /// No detection below this window.
    pub hystart_low_window: u32,
    /// Maximum spacing of ACKs in a train, in microseconds.
    pub hystart_ack_delta_us: u32,
}

impl Tuning {
    /// Linux's defaults, except for the parameters set.
    pub(super) fn new(parameters: &mut Parameters) -> Self {
        let ssthresh = parameters.take("initial_ssthresh", 0, 0..=u32::MAX >> 1);
        Self {
            fast_convergence: parameters.switch("fast_convergence", true),
            beta: parameters.take("beta", BETA, 1..=BETA_SCALE - 1),
            initial_ssthresh: (ssthresh > 0).then_some(ssthresh),
            tcp_friendliness: parameters.switch("tcp_friendliness", true),
            hystart: parameters.switch("hystart", true),
            hystart_detect: parameters.take("hystart_detect", TRAINS | DELAY, 0..=TRAINS | DELAY),
            hystart_low_window: parameters.take("hystart_low_window", 16, 0..=u32::MAX),
            hystart_ack_delta_us: parameters.take("hystart_ack_delta_us", 2_000, 0..=u32::MAX),
        }
    }

    /// The window after a reduction: β times `cwnd`.
    pub(super) fn decreased(&self, cwnd: u32) -> u32 {
        scaled(cwnd, self.beta, BETA_SCALE)
    }

    pub(super) const fn detects_trains(&self) -> bool {
        self.hystart_detect & TRAINS != 0
    }

    pub(super) const fn detects_delay(&self) -> bool {
        self.hystart_detect & DELAY != 0
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self::new(&mut Parameters::default())
    }
}

/// `cwnd` times `by` ÷ `of`, in 32 bits as in Linux.
pub(super) fn scaled(cwnd: u32, by: u32, of: u32) -> u32 {
    u32::try_from(u64::from(cwnd) * u64::from(by) / u64::from(of)).unwrap_or(u32::MAX)
}

/// β = 717/1024 = 0.7 (RFC 9438 section 4.6).
pub(super) const BETA: u32 = 717;
pub(super) const BETA_SCALE: u32 = 1_024;
const TRAINS: u8 = 1;
const DELAY: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Setting;

    #[test]
    fn set_parameters_replace_the_defaults() {
        let set = [("beta", 512), ("hystart_detect", 2), ("initial_ssthresh", 100)];
        let mut parameters = Parameters::of(set.map(|(name, number)| (name.into(), Setting::Number(number))));
        let tuning = Tuning::new(&mut parameters);
        assert_eq!(parameters.finish(), Ok(()));
        assert_eq!((tuning.decreased(100), tuning.initial_ssthresh), (50, Some(100)));
        assert_eq!((tuning.detects_trains(), tuning.detects_delay()), (false, true));
        assert_eq!(Tuning::default().decreased(100), 70);
    }
}
