//! BBR version 1: send at the bandwidth of the path, with little more in flight than it holds (Linux's `tcp_bbr.c`).
//!
//! - **What it does**: it models the path by two numbers, the largest delivery rate of the last ten round trips and
//!   the smallest round-trip time of the last ten seconds, and sets pacing rate and window from them.
//! - **Signal it listens to**: delivery rate and round-trip time; loss only through the long-term estimate.
//! - **When it does well**: random loss, deep buffers, long fat paths.
//! - **When it does badly**: buffers below a bandwidth-delay product shared with others (loss), flows of unequal
//!   round-trip time, loss-based company in deep buffers.
//! - **Reference**: N. Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016;
//!   draft-cardwell-iccrg-bbr-congestion-control-00.
//!
//! ```text
//!              three rounds without      in flight <= BDP
//!              a quarter more bandwidth
//!    Startup -------------------------> Drain -------------> ProbeBw (eight phases a cycle)
//!      ^ |                                |                     ^ |
//!      | +----------------+---------------+---------------------|-+  min_rtt is ten seconds old
//!      |                  v                                     |
//!      +-------------- ProbeRtt --------------------------------+  200 ms and a round with 4 packets
//!     pipe never full                                 pipe full
//! ```
//!
//! | file | decides |
//! | --- | --- |
//! | [`startup`], [`drain`], [`probe_bw`], [`probe_rtt`] | gains of the phase, and when it ends |
//! | [`bandwidth`], [`long_term`] | the bandwidth |
//! | [`full_pipe`], [`aggregation`] | two more estimates: is the pipe full, how bunched are ACKs |
//! | [`pacing`], [`window`], [`recovery`] | what follows for rate and window |
//!
//! What it shares with later versions is in [`super::model`]: units, rounds, the filter of maxima, bunched ACKs.

mod aggregation;
mod bandwidth;
mod drain;
mod full_pipe;
mod long_term;
mod pacing;
mod probe_bw;
mod probe_rtt;
mod recovery;
mod startup;
mod window;

use super::model::Gains;
use super::model::max_filter::MaxFilter;
use super::model::rounds::Rounds;
use super::{CaState, Control, Event, INFINITE_SSTHRESH, Insight, RateSample, Vitals};
use crate::dice::Dice;
use aggregation::{Aggregation, ROUNDS};
use bandwidth::{Bandwidth, UNIT};
use full_pipe::FullPipe;
use long_term::LongTerm;
use probe_bw::Cycle;
use probe_rtt::{MinRtt, ProbeRtt};
use recovery::Recovery;

/// Where BBR stands; the diagram above, as a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// A flow's BBR.
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
    /// Sending began again after an idle time, and nothing has been delivered since.
    idle_restart: bool,
    /// Has the pacing rate been set from a measured round-trip time?
    has_seen_rtt: bool,
    dice: Dice,
}

impl Bbr {
    /// Not yet started; `dice` choose where each gain cycle begins.
    #[must_use]
    pub fn new(dice: Dice) -> Self {
        Self {
            mode: Mode::Startup,
            gains: startup::GAINS,
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
            dice,
        }
    }

    /// The path's bandwidth as far as is known.
    fn bandwidth(&self) -> Bandwidth {
        self.long_term.policed_to().unwrap_or_else(|| self.max_bandwidth.best())
    }

    /// Everything that an ACK teaches, in Linux's order (`bbr_update_model`).
    fn update_model(&mut self, vitals: &mut Vitals, sample: &RateSample) {
        self.update_bandwidth(vitals, sample);
        let bandwidth = self.bandwidth();
        self.aggregation.update(vitals, sample, bandwidth, self.rounds.started, ROUNDS);
        self.update_cycle(vitals, sample);
        self.full_pipe.update(self.max_bandwidth.best(), self.rounds.started, sample.is_app_limited);
        self.check_drain(vitals);
        self.update_min_rtt(vitals, sample);
        self.update_gains();
    }

    fn update_gains(&mut self) {
        self.gains = match self.mode {
            Mode::Startup => startup::GAINS,
            Mode::Drain => drain::GAINS,
            Mode::ProbeBw => self.cycle.gains(self.long_term.policed_to().is_some()),
            Mode::ProbeRtt => probe_rtt::GAINS,
        };
    }
}

impl Control for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        *self = Self::new(self.dice.clone());
        vitals.ssthresh = INFINITE_SSTHRESH;
        self.rounds = Rounds::new(vitals);
        self.min_rtt = MinRtt::new(vitals);
        self.set_initial_pacing_rate(vitals);
        self.long_term.reset(vitals);
        self.aggregation = Aggregation::new(vitals);
        vitals.paced = true;
    }

    /// Loss sets no threshold; the window is only remembered, for the end of recovery.
    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        self.save_cwnd(vitals);
        vitals.ssthresh
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        self.full_pipe.look_again();
        self.long_term.reset(vitals);
        vitals.cwnd
    }

    fn controls(&self) -> bool {
        true
    }

    fn control(&mut self, vitals: &mut Vitals, sample: &RateSample) {
        self.update_model(vitals, sample);
        let bandwidth = self.bandwidth();
        self.set_pacing_rate(vitals, bandwidth, self.gains.pacing);
        self.set_cwnd(vitals, sample, bandwidth, self.gains.window);
    }

    fn on_state(&mut self, vitals: &mut Vitals, new: CaState) {
        if new != CaState::Loss {
            return;
        }
        self.recovery.on_timeout();
        self.full_pipe.forget_bandwidth();
        self.rounds.started = true; // a timeout ends a round
        self.sample_long_term(vitals, &RateSample { losses: 1, ..RateSample::default() });
    }

    fn on_event(&mut self, vitals: &mut Vitals, event: Event) {
        if event != Event::TxStart || vitals.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(vitals);
        match self.mode {
            // More than the path takes would only overflow a buffer.
            Mode::ProbeBw => {
                let bandwidth = self.bandwidth();
                self.set_pacing_rate(vitals, bandwidth, UNIT);
            }
            Mode::ProbeRtt => self.check_probe_rtt_done(vitals),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn min_tso_segments(&self, vitals: &Vitals) -> Option<u32> {
        Some(pacing::min_tso_segments(vitals))
    }

    /// BBR may slow-start even during recovery.
    fn sndbuf_expand(&self) -> u32 {
        3
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        Insight {
            phase: match self.mode {
                Mode::Startup => "startup",
                Mode::Drain => "drain",
                Mode::ProbeBw => "probe_bw",
                Mode::ProbeRtt => "probe_rtt",
            },
            bandwidth: Some(self.bandwidth().rate(vitals.mss)),
            min_rtt_us: self.min_rtt.micros(),
            pacing_gain: Some(self.gains.pacing),
            cwnd_gain: Some(self.gains.window),
            ..Insight::default()
        }
    }
}

#[cfg(test)]
mod tests;
