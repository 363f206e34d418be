//! BBR version 1: send at the path's bandwidth, with little more in flight than the path holds (Linux's `tcp_bbr.c`).
//!
//! - **What it does**: models the path by two numbers, the maximum delivery rate of the last ten round trips and the
//!   minimum round-trip time of the last ten seconds, and sets pacing rate and window from them.
//! - **Signal**: delivery rate and round-trip time; loss only for policer detection.
//! - **Works well**: random loss, deep buffers, long fat paths.
//! - **Works badly**: buffers below a bandwidth-delay product that are shared (loss), flows of unequal round-trip time,
//!   loss-based competitors in deep buffers.
//! - **Reference**: N. Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016;
//!   draft-cardwell-iccrg-bbr-congestion-control-00.
//!
//! ```text
//!              three rounds without      in flight <= BDP
//!              a quarter more bandwidth
//!    Startup -------------------------> Drain -------------> ProbeBw (eight phases per cycle)
//!      ^ |                                |                     ^ |
//!      | +----------------+---------------+---------------------|-+  min_rtt is ten seconds old
//!      |                  v                                     |
//!      +-------------- ProbeRtt --------------------------------+  200 ms and a round with 4 packets
//!     pipe never full                                 pipe full
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | [`drain`], [`probe_bw`], [`probe_rtt`] | gains and end of each phase |
//! | [`bandwidth`], [`long_term`] | bandwidth estimate |
//! | [`full_pipe`], [`aggregation`] | full pipe detection, ACK aggregation |
//! | [`pacing`], [`window`], [`recovery`] | pacing rate, window, loss recovery |
//!
//! [`super::model`] has what all versions share: units, rounds, the maximum filter, the aggregation estimate.

mod aggregation;
mod bandwidth;
mod drain;
mod full_pipe;
mod long_term;
mod pacing;
mod probe_bw;
mod probe_rtt;
mod recovery;
mod window;

use super::model::Gains;
use super::model::max_filter::MaxFilter;
use super::model::pacing::HIGH_GAIN;
use super::model::rounds::Rounds;
use super::{CaState, CcInfo, CcState, CongestionControl, Event, INFINITE_SSTHRESH, RateSample, SenderState};
use crate::rng::Rng;
use aggregation::{Aggregation, ROUNDS};
use bandwidth::{Bandwidth, UNIT};
use full_pipe::FullPipe;
use long_term::LongTerm;
use probe_bw::Cycle;
use probe_rtt::{MinRtt, ProbeRtt};
use recovery::Recovery;

/// BBR's phase; see the diagram above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR's state for one flow.
#[derive(Clone, Debug)]
pub struct Bbr {
    mode: Mode,
    gains: Gains,
    rounds: Rounds,
    max_bandwidth: MaxFilter<Bandwidth>,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    long_term: LongTerm,
    aggregation: Aggregation,
    recovery: Recovery,
    /// Sending restarted from idle, and nothing has been delivered since.
    idle_restart: bool,
    /// Has the pacing rate been set from a measured round-trip time?
    has_seen_rtt: bool,
    rng: Rng,
}

impl Bbr {
    /// Not started yet; `rng` chooses where each gain cycle begins.
    #[must_use]
    pub fn new(rng: Rng) -> Self {
        Self {
            mode: Mode::Startup,
            gains: STARTUP,
            rounds: Rounds::default(),
            max_bandwidth: MaxFilter::default(),
            min_rtt: MinRtt::default(),
            full_pipe: FullPipe::default(),
            cycle: Cycle::default(),
            probe_rtt: ProbeRtt::default(),
            long_term: LongTerm::default(),
            aggregation: Aggregation::default(),
            recovery: Recovery::default(),
            idle_restart: false,
            has_seen_rtt: false,
            rng,
        }
    }

    /// The current bandwidth estimate.
    fn bandwidth(&self) -> Bandwidth {
        self.long_term.policed_to().unwrap_or_else(|| self.max_bandwidth.best())
    }

    /// Updates the model on an ACK, in Linux's order (`bbr_update_model`).
    fn update_model(&mut self, tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        self.update_bandwidth(tp, sample);
        let bandwidth = self.bandwidth();
        self.aggregation.update(tp, cc, sample, bandwidth, self.rounds.started, ROUNDS);
        self.update_cycle(tp, cc, sample);
        self.full_pipe.update(self.max_bandwidth.best(), self.rounds.started, sample.is_app_limited);
        self.check_drain(tp, cc);
        self.update_min_rtt(tp, cc, sample);
        self.update_gains();
    }

    fn update_gains(&mut self) {
        self.gains = match self.mode {
            Mode::Startup => STARTUP,
            Mode::Drain => drain::GAINS,
            Mode::ProbeBw => self.cycle.gains(self.long_term.policed_to().is_some()),
            Mode::ProbeRtt => probe_rtt::GAINS,
        };
    }
}

impl CongestionControl for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        *self = Self::new(self.rng.clone());
        cc.ssthresh = INFINITE_SSTHRESH;
        self.rounds = Rounds::new(tp);
        self.min_rtt = MinRtt::new(tp);
        self.set_initial_pacing_rate(tp, cc);
        self.long_term.reset(tp);
        self.aggregation = Aggregation::new(tp);
        cc.paced = true;
    }

    /// Loss sets no threshold; only saves the window for the end of recovery.
    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        self.save_cwnd(cc);
        cc.ssthresh
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        self.full_pipe.restart();
        self.long_term.reset(tp);
        cc.cwnd
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        self.update_model(tp, cc, sample);
        let bandwidth = self.bandwidth();
        self.set_pacing_rate(tp, cc, bandwidth, self.gains.pacing);
        self.set_cwnd(tp, cc, sample, bandwidth, self.gains.window);
    }

    fn set_state(&mut self, tp: &SenderState, _cc: &mut CcState, new: CaState) {
        if new != CaState::Loss {
            return;
        }
        self.recovery.on_timeout();
        self.full_pipe.forget_bandwidth();
        self.rounds.started = true; // a timeout ends a round
        self.sample_long_term(tp, &RateSample { losses: 1, ..RateSample::default() });
    }

    fn cwnd_event(&mut self, tp: &SenderState, cc: &mut CcState, event: Event) {
        if event != Event::TxStart || cc.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(tp);
        match self.mode {
            // More in flight would only overflow a buffer.
            Mode::ProbeBw => {
                let bandwidth = self.bandwidth();
                self.set_pacing_rate(tp, cc, bandwidth, UNIT);
            }
            Mode::ProbeRtt => self.check_probe_rtt_done(tp, cc),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn min_tso_segments(&self, _tp: &SenderState, cc: &CcState) -> Option<u32> {
        Some(pacing::min_tso_segments(cc))
    }

    /// BBR may slow-start even during recovery.
    fn sndbuf_expand(&self) -> u32 {
        3
    }

    fn cc_info(&self, tp: &SenderState, _cc: &CcState) -> CcInfo {
        CcInfo {
            phase: match self.mode {
                Mode::Startup => "startup",
                Mode::Drain => "drain",
                Mode::ProbeBw => "probe_bw",
                Mode::ProbeRtt => "probe_rtt",
            },
            bandwidth: Some(self.bandwidth().rate(tp.mss)),
            min_rtt_us: self.min_rtt.micros(),
            pacing_gain: Some(self.gains.pacing),
            cwnd_gain: Some(self.gains.window),
            ..CcInfo::default()
        }
    }
}

/// Startup: pacing rate and window have the same gain.
const STARTUP: Gains = Gains { pacing: HIGH_GAIN, window: HIGH_GAIN };

#[cfg(test)]
mod tests;
