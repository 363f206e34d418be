//! Startup: double the rate each round trip until the pipe is full.

use super::Gains;
use super::bandwidth::UNIT;

/// 2/ln 2, rounded up: the smallest gain that doubles the delivery rate each round trip (`bbr_high_gain`).
pub(super) const HIGH_GAIN: u32 = UNIT * 2_885 / 1_000 + 1;
/// Pacing rate and window have the same gain.
pub(super) const GAINS: Gains = Gains { pacing: HIGH_GAIN, window: HIGH_GAIN };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_is_739_in_1_256() {
        assert_eq!(HIGH_GAIN, 739);
        assert_eq!(HIGH_GAIN * 1_000 / UNIT, 2_886);
    }
}
