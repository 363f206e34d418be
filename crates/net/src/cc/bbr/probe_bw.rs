//! `ProbeBw`: a cycle of eight phases around the estimated bandwidth.
//!
//! ```text
//!  pacing gain  1.25  .75   1     1     1     1     1     1
//!               ____
//!              |    |
//!          ----+    |    +--------------------------------
//!                   |____|
//!               probe drain   cruise
//! ```

use super::bandwidth::UNIT;
use super::{Bbr, Gains, Mode};
use crate::cc::{CcState, RateSample, SenderState};

/// The current phase and its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cycle {
    phase: u8,
    /// Start of this phase (`delivered_mstamp`, in microseconds).
    since_us: u64,
}

impl Cycle {
    /// A policed flow does not probe: that would only cause loss.
    pub(super) fn gains(&self, policed: bool) -> Gains {
        let pacing = if policed { UNIT } else { PACING[usize::from(self.phase)] };
        Gains { pacing, window: WINDOW }
    }

    pub(super) fn is_probing(&self) -> bool {
        self.phase == 0
    }

    fn advance(&mut self, tp: &SenderState) {
        self.phase = (self.phase + 1) % PHASES;
        self.since_us = tp.delivered_at.as_micros();
    }
}

impl Bbr {
    /// Begins a cycle at a random phase, except the second, which would drain a queue that was never built.
    pub(super) fn enter_probe_bw(&mut self, tp: &SenderState) {
        self.mode = Mode::ProbeBw;
        let offset = self.rng.below(u32::from(PHASES) - 1);
        self.cycle.phase = PHASES - 1 - u8::try_from(offset).expect("less than eight phases");
        self.cycle.advance(tp);
    }

    /// Moves to the next phase when this one is complete.
    pub(super) fn update_cycle(&mut self, tp: &SenderState, cc: &CcState, sample: &RateSample) {
        if self.mode == Mode::ProbeBw && self.is_phase_over(tp, cc, sample) {
            self.cycle.advance(tp);
        }
    }

    fn is_phase_over(&self, tp: &SenderState, cc: &CcState, sample: &RateSample) -> bool {
        let age_us = tp.delivered_at.as_micros().saturating_sub(self.cycle.since_us);
        let is_full_length = age_us > u64::from(self.min_rtt.raw());
        let gain = self.gains.pacing;
        if gain == UNIT {
            return is_full_length;
        }
        let in_network = self.in_network_at_departure(tp, cc, sample.prior_in_flight);
        if gain > UNIT {
            // Where `min_rtt` is small, filling the path takes longer; loss shows that the buffer is small too.
            return is_full_length && (sample.losses > 0 || in_network >= self.target_in_flight(tp, cc, gain));
        }
        is_full_length || in_network <= self.target_in_flight(tp, cc, UNIT)
    }
}

const PHASES: u8 = 8;
/// `bbr_pacing_gain`.
const PACING: [u32; PHASES as usize] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Headroom for delayed and stretched ACKs (`bbr_cwnd_gain`).
const WINDOW: u32 = UNIT * 2;

#[cfg(test)]
mod tests {
    use super::super::tests::bbr_with;
    use super::*;
    use crate::time::Span;

    fn sample(prior_in_flight: u32) -> RateSample {
        RateSample { prior_in_flight, ..RateSample::default() }
    }

    /// Runs a phase for `millis`; returns whether it is over then.
    fn is_over(pacing: u32, millis: u64, sample: &RateSample) -> bool {
        let (mut bbr, mut tp, cc) = bbr_with(Mode::ProbeBw);
        bbr.cycle.since_us = tp.delivered_at.as_micros();
        bbr.gains.pacing = pacing;
        tp.delivered_at += Span::from_millis(millis);
        tp.now = tp.delivered_at;
        bbr.is_phase_over(&tp, &cc, sample)
    }

    #[test]
    fn cruising_lasts_for_min_rtt() {
        assert!(!is_over(UNIT, 40, &sample(34)));
        assert!(is_over(UNIT, 41, &sample(34)));
    }

    /// 1.25 of 34 packets is 42, with budget 48, and two more in this phase; two packets are about to depart.
    #[test]
    fn probing_lasts_until_the_target_is_in_flight_or_packets_are_lost() {
        assert!(!is_over(320, 41, &sample(40)));
        assert!(is_over(320, 41, &RateSample { losses: 1, ..sample(40) }));
        assert!(!is_over(320, 41, &sample(47)));
        assert!(is_over(320, 41, &sample(48)));
        assert!(!is_over(320, 40, &sample(60)));
    }

    #[test]
    fn draining_ends_with_the_queue_or_after_min_rtt() {
        assert!(!is_over(192, 10, &sample(43)));
        assert!(is_over(192, 10, &sample(42)));
        assert!(is_over(192, 41, &sample(80)));
    }

    #[test]
    fn the_phases_follow_in_order() {
        let (mut bbr, tp, _cc) = bbr_with(Mode::ProbeBw);
        let gains: [u32; 9] = core::array::from_fn(|_| {
            let gain = bbr.cycle.gains(false).pacing;
            bbr.cycle.advance(&tp);
            gain
        });
        assert_eq!(gains, [320, 192, 256, 256, 256, 256, 256, 256, 320]);
        assert_eq!(bbr.cycle.gains(true), Gains { pacing: 256, window: 512 });
    }

    #[test]
    fn a_cycle_starts_in_any_phase_but_the_draining_one() {
        let (mut bbr, tp, _cc) = bbr_with(Mode::Drain);
        let mut seen = [0; 8];
        for _ in 0..7_000 {
            bbr.enter_probe_bw(&tp);
            seen[usize::from(bbr.cycle.phase)] += 1;
        }
        assert_eq!(seen[1], 0);
        assert!(seen.iter().enumerate().all(|(phase, &count)| phase == 1 || (850..1_150).contains(&count)), "{seen:?}");
    }
}
