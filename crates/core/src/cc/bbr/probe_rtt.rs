//! `ProbeRtt` and the estimate that it serves: the smallest round-trip time of the last ten seconds.
//!
//! Once the estimate is ten seconds old the window falls to four packets for 200 ms and a round, so that every
//! queue of BBR's making drains and the true delay shows. Stamps are in jiffies, as Linux has them.

use super::bandwidth::UNIT;
use super::{Bbr, Gains, Mode};
use crate::cc::{RateSample, Vitals};
use crate::time::HZ;

/// No gain: the window is four packets in any case.
pub(super) const GAINS: Gains = Gains { pacing: UNIT, window: UNIT };
/// Packets in flight that keep ACKs coming, delayed ones too (`bbr_cwnd_min_target`).
pub(super) const FEWEST_PACKETS: u32 = 4;

/// The estimate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MinRtt {
    /// In microseconds; `u32::MAX` before the first sample.
    micros: u32,
    /// When it was measured, in jiffies.
    at: u64,
}

impl Default for MinRtt {
    fn default() -> Self {
        Self { micros: u32::MAX, at: 0 }
    }
}

impl MinRtt {
    pub(super) fn new(vitals: &Vitals) -> Self {
        Self { micros: vitals.min_rtt_us, at: vitals.now.jiffies() }
    }

    /// In microseconds, once there was a sample.
    pub(super) fn micros(&self) -> Option<u32> {
        (self.micros != u32::MAX).then_some(self.micros)
    }

    /// As it is compared with: longer than everything before the first sample.
    pub(super) fn raw(&self) -> u32 {
        self.micros
    }

    #[cfg(test)]
    pub(super) fn of(micros: u32, at: u64) -> Self {
        Self { micros, at }
    }

    /// Takes a sample; says whether the estimate had expired.
    fn update(&mut self, now: u64, sample: &RateSample) -> bool {
        let expired = now > self.at + WINDOW;
        if let Some(rtt) = sample.rtt {
            let micros = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX);
            // A delayed ACK measures its own delay: it may lower the estimate, not replace an old one.
            if micros < self.micros || (expired && !sample.is_ack_delayed) {
                (self.micros, self.at) = (micros, now);
            }
        }
        expired
    }
}

/// How far `ProbeRtt` has got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProbeRtt {
    /// It may end then, in jiffies; None until the flight has shrunk.
    done_at: Option<u64>,
    round_done: bool,
}

impl Bbr {
    /// Keeps the estimate, and enters, watches over and leaves `ProbeRtt`.
    pub(super) fn update_min_rtt(&mut self, vitals: &mut Vitals, sample: &RateSample) {
        let expired = self.min_rtt.update(vitals.now.jiffies(), sample);
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(vitals);
            self.probe_rtt.done_at = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.watch_probe_rtt(vitals);
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn watch_probe_rtt(&mut self, vitals: &mut Vitals) {
        // So low a rate says nothing of the path.
        vitals.app_limited = (vitals.delivered + u64::from(vitals.in_flight())).max(1);
        if self.probe_rtt.done_at.is_some() {
            self.probe_rtt.round_done |= self.rounds.started;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(vitals);
            }
        } else if vitals.in_flight() <= FEWEST_PACKETS {
            self.probe_rtt = ProbeRtt { done_at: Some(vitals.now.jiffies() + LENGTH), round_done: false };
            self.rounds.restart(vitals);
        }
    }

    /// Leaves `ProbeRtt` when its time is over.
    pub(super) fn check_probe_rtt_done(&mut self, vitals: &mut Vitals) {
        let now = vitals.now.jiffies();
        if self.probe_rtt.done_at.is_none_or(|done_at| now <= done_at) {
            return;
        }
        self.min_rtt.at = now;
        vitals.cwnd = vitals.cwnd.max(self.recovery.saved_cwnd());
        if self.full_pipe.is_reached() {
            self.enter_probe_bw(vitals);
        } else {
            self.mode = Mode::Startup;
        }
    }
}

/// `bbr_min_rtt_win_sec`.
const WINDOW: u64 = 10 * HZ;
/// `bbr_probe_rtt_mode_ms`: 200 ms.
const LENGTH: u64 = HZ / 5;

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
        assert_eq!(min_rtt, MinRtt::of(39_000, 1_001), "a delayed ACK can't raise it");
        assert!(min_rtt.update(3_502, &sample(50)));
        assert_eq!(min_rtt, MinRtt::of(50_000, 3_502));
    }

    #[test]
    fn it_lasts_from_the_shrunken_flight_for_200_ms_and_a_round() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        (vitals.cwnd, vitals.packets_out) = (80, 60);
        vitals.now += Span::from_secs(10) + Span::from_jiffies(1);
        bbr.update_min_rtt(&mut vitals, &sample(40));
        assert_eq!((bbr.mode, bbr.probe_rtt.done_at, bbr.recovery.saved_cwnd()), (Mode::ProbeRtt, None, 80));
        assert_eq!(vitals.app_limited, vitals.delivered + 60);

        (vitals.cwnd, vitals.packets_out, vitals.delivered) = (4, 4, 700);
        bbr.update_min_rtt(&mut vitals, &sample(40));
        let done_at = vitals.now.jiffies() + 50;
        assert_eq!((bbr.probe_rtt.done_at, bbr.rounds.end), (Some(done_at), 700));

        vitals.now += Span::from_jiffies(51);
        bbr.update_min_rtt(&mut vitals, &sample(40));
        assert_eq!(bbr.mode, Mode::ProbeRtt, "no round is over");
        vitals.now = vitals.now - Span::from_jiffies(1);
        bbr.rounds.started = true;
        bbr.update_min_rtt(&mut vitals, &sample(40));
        assert_eq!(bbr.mode, Mode::ProbeRtt, "200 ms are not over");
        vitals.now += Span::from_jiffies(1);
        bbr.rounds.started = false;
        bbr.update_min_rtt(&mut vitals, &sample(40));
        assert_eq!((bbr.mode, vitals.cwnd), (Mode::ProbeBw, 80));
        assert_eq!(bbr.min_rtt, MinRtt::of(40_000, vitals.now.jiffies()), "ten seconds begin now");
    }

    #[test]
    fn a_pipe_that_was_never_full_goes_back_to_startup() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeRtt);
        bbr.full_pipe = super::super::FullPipe::default();
        bbr.probe_rtt.done_at = Some(vitals.now.jiffies() - 1);
        bbr.check_probe_rtt_done(&mut vitals);
        assert_eq!(bbr.mode, Mode::Startup);
    }

    #[test]
    fn a_flow_that_restarts_from_idle_need_not_probe() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        bbr.idle_restart = true;
        vitals.now += Span::from_secs(11);
        bbr.update_min_rtt(&mut vitals, &RateSample { delivered: Some(1), ..sample(42) });
        assert_eq!((bbr.mode, bbr.min_rtt.micros(), bbr.idle_restart), (Mode::ProbeBw, Some(42_000), false));
    }
}
