//! `ProbeRtt` and its estimate: the minimum round-trip time of the last ten seconds.
//!
//! When the estimate is ten seconds old, the window falls to four packets for 200 ms and a round, so that queues built
//! by BBR flows drain and the propagation delay shows. Timestamps are in jiffies, as in Linux.

use super::bandwidth::UNIT;
use super::{Bbr, Gains, Mode};
use crate::cc::model::probe_rtt::{DURATION, MIN_PIPE_CWND, MIN_RTT_WINDOW};
use crate::cc::{CcState, RateSample, SenderState};
use crate::number::narrow;

/// No gain: the window is four packets in any case.
pub(super) const GAINS: Gains = Gains { pacing: UNIT, window: UNIT };

/// The estimate of the minimum round-trip time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MinRtt {
    /// In microseconds; `u32::MAX` before the first sample.
    micros: u32,
    /// Time of the measurement, in jiffies.
    at: u64,
}

impl Default for MinRtt {
    fn default() -> Self {
        Self { micros: u32::MAX, at: 0 }
    }
}

impl MinRtt {
    pub(super) fn new(tp: &SenderState) -> Self {
        Self { micros: tp.min_rtt_us, at: tp.now.jiffies() }
    }

    /// The estimate in microseconds; None before the first sample.
    pub(super) fn micros(&self) -> Option<u32> {
        (self.micros != u32::MAX).then_some(self.micros)
    }

    /// The value for comparisons: the maximum before the first sample.
    pub(super) fn raw(&self) -> u32 {
        self.micros
    }

    #[cfg(test)]
    pub(super) fn of(micros: u32, at: u64) -> Self {
        Self { micros, at }
    }

    /// Takes a sample; returns whether the estimate had expired.
    fn update(&mut self, now: u64, sample: &RateSample) -> bool {
        let expired = now > self.at + WINDOW;
        if let Some(rtt) = sample.rtt {
            let micros = narrow(rtt.as_micros());
            // A delayed ACK includes its own delay: it may lower the estimate, but not replace an expired one.
            if micros < self.micros || (expired && !sample.is_ack_delayed) {
                (self.micros, self.at) = (micros, now);
            }
        }
        expired
    }
}

/// Progress of `ProbeRtt`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProbeRtt {
    /// Earliest end in jiffies; None until in-flight data has shrunk.
    done_at: Option<u64>,
    round_done: bool,
}

impl Bbr {
    /// Updates the estimate; enters, tracks and leaves `ProbeRtt`.
    pub(super) fn update_min_rtt(&mut self, tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        let expired = self.min_rtt.update(tp.now.jiffies(), sample);
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(cc);
            self.probe_rtt.done_at = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.watch_probe_rtt(tp, cc);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn watch_probe_rtt(&mut self, tp: &SenderState, cc: &mut CcState) {
        // Mark samples as application-limited: the low rate does not measure the path.
        cc.app_limited = (tp.delivered + u64::from(tp.in_flight())).max(1);
        if self.probe_rtt.done_at.is_some() {
            self.probe_rtt.round_done |= self.rounds.started;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(tp, cc);
            }
        } else if tp.in_flight() <= MIN_PIPE_CWND {
            self.probe_rtt = ProbeRtt { done_at: Some(tp.now.jiffies() + LENGTH), round_done: false };
            self.rounds.restart(tp);
        }
    }

    /// Leaves `ProbeRtt` at the end of its duration.
    pub(super) fn check_probe_rtt_done(&mut self, tp: &SenderState, cc: &mut CcState) {
        let now = tp.now.jiffies();
        if self.probe_rtt.done_at.is_none_or(|done_at| now <= done_at) {
            return;
        }
        self.min_rtt.at = now;
        cc.cwnd = cc.cwnd.max(self.recovery.saved_cwnd());
        if self.full_pipe.is_reached() {
            self.enter_probe_bw(tp);
        } else {
            self.mode = Mode::Startup;
        }
    }
}

/// In jiffies.
const WINDOW: u64 = MIN_RTT_WINDOW.jiffies_up();
const LENGTH: u64 = DURATION.jiffies_up();

#[cfg(test)]
mod tests {
    use super::super::tests::bbr_with;
    use super::*;
    use crate::time::Span;

    fn sample(rtt_ms: u64) -> RateSample {
        RateSample { rtt: Some(Span::from_millis(rtt_ms)), ..RateSample::default() }
    }

    #[test]
    fn a_smaller_sample_counts_at_once_and_a_larger_one_after_ten_seconds() {
        let mut min_rtt = MinRtt::of(40_000, 1_000);
        assert!(!min_rtt.update(1_001, &sample(39)));
        assert_eq!(min_rtt, MinRtt::of(39_000, 1_001));
        assert!(!min_rtt.update(3_501, &sample(50)));
        assert_eq!(min_rtt, MinRtt::of(39_000, 1_001));
        assert!(min_rtt.update(3_502, &RateSample { is_ack_delayed: true, ..sample(50) }));
        assert_eq!(min_rtt, MinRtt::of(39_000, 1_001), "a delayed ACK cannot raise it");
        assert!(min_rtt.update(3_502, &sample(50)));
        assert_eq!(min_rtt, MinRtt::of(50_000, 3_502));
    }

    #[test]
    fn it_lasts_200_ms_and_a_round_from_when_in_flight_has_shrunk() {
        let (mut bbr, mut tp, mut cc) = bbr_with(Mode::ProbeBw);
        (cc.cwnd, tp.packets_out) = (80, 60);
        tp.now += Span::from_secs(10) + Span::from_jiffies(1);
        bbr.update_min_rtt(&tp, &mut cc, &sample(40));
        assert_eq!((bbr.mode, bbr.probe_rtt.done_at, bbr.recovery.saved_cwnd()), (Mode::ProbeRtt, None, 80));
        assert_eq!(cc.app_limited, tp.delivered + 60);

        (cc.cwnd, tp.packets_out, tp.delivered) = (4, 4, 700);
        bbr.update_min_rtt(&tp, &mut cc, &sample(40));
        let done_at = tp.now.jiffies() + 50;
        assert_eq!((bbr.probe_rtt.done_at, bbr.rounds.end), (Some(done_at), 700));

        tp.now += Span::from_jiffies(51);
        bbr.update_min_rtt(&tp, &mut cc, &sample(40));
        assert_eq!(bbr.mode, Mode::ProbeRtt, "the round is not over");
        tp.now = tp.now - Span::from_jiffies(1);
        bbr.rounds.started = true;
        bbr.update_min_rtt(&tp, &mut cc, &sample(40));
        assert_eq!(bbr.mode, Mode::ProbeRtt, "200 ms are not over");
        tp.now += Span::from_jiffies(1);
        bbr.rounds.started = false;
        bbr.update_min_rtt(&tp, &mut cc, &sample(40));
        assert_eq!((bbr.mode, cc.cwnd), (Mode::ProbeBw, 80));
        assert_eq!(bbr.min_rtt, MinRtt::of(40_000, tp.now.jiffies()), "the ten seconds start again");
    }

    #[test]
    fn if_the_pipe_was_never_full_it_returns_to_startup() {
        let (mut bbr, tp, mut cc) = bbr_with(Mode::ProbeRtt);
        bbr.full_pipe = super::super::FullPipe::default();
        bbr.probe_rtt.done_at = Some(tp.now.jiffies() - 1);
        bbr.check_probe_rtt_done(&tp, &mut cc);
        assert_eq!(bbr.mode, Mode::Startup);
    }

    #[test]
    fn a_flow_that_restarts_from_idle_skips_probe_rtt() {
        let (mut bbr, mut tp, mut cc) = bbr_with(Mode::ProbeBw);
        bbr.idle_restart = true;
        tp.now += Span::from_secs(11);
        bbr.update_min_rtt(&tp, &mut cc, &RateSample { delivered: Some(1), ..sample(42) });
        assert_eq!((bbr.mode, bbr.min_rtt.micros(), bbr.idle_restart), (Mode::ProbeBw, Some(42_000), false));
    }
}
