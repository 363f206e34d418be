//! CDG: back off when the delay grows, not when it is large (Linux's `tcp_cdg.c`).
//!
//! - **What it does**: once per round trip, compares the minimum and maximum delay with the previous round's. The
//!   steeper they rise, the more likely the window falls to 0.7 of itself. A shadow window tracks a loss-based flow's
//!   window, so that a loss after such a backoff costs less.
//! - **Signal**: the delay's gradient; loss.
//! - **Works well**: short queues among CDG flows, random loss, unknown base delay.
//! - **Works badly**: next to loss-based flows; after five backoffs without effect it stops backing off until the delay
//!   falls.
//! - **Reference**: D. A. Hayes, G. Armitage, "Revisiting TCP Congestion Control using Delay Gradients", 2011.
//!
//! Where Linux departs from the paper: its own HyStart ends slow start, PRR performs the reductions, gradients are sums
//! instead of means, and losses are distinguished from congestion only if that is enabled.

mod gradient;
mod nexp;
mod slow_start;

use super::{AckSample, CcInfo, CcState, CongestionControl, Event, Parameters, SenderState, growth, reno};
use crate::rng::Rng;
use gradient::{Gradients, Range, Trend};
use slow_start::SlowStart;

/// CDG's state for one flow.
#[derive(Clone, Debug)]
pub struct Cdg {
    tuning: Tuning,
    rng: Rng,
    round: Round,
    gradients: Gradients,
    slow_start: SlowStart,
    state: State,
    /// The window of a loss-based flow.
    shadow: u32,
    /// Backoffs since one had an effect.
    retreats: u16,
    cwr_requested: bool,
}

/// The module's parameters.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    /// Share of the window that a backoff leaves, in 1/1024.
    beta: u32,
    /// Probability of a backoff: 1 − exp(−factor · gradient in seconds).
    factor: u32,
    /// Backoffs without effect before CDG stops backing off; 0: it never stops.
    ineffectual: u16,
    shadow: bool,
    tolerance: bool,
}

/// The estimated state of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Unknown,
    Filling,
    Full,
    /// A backoff is in progress.
    Retreat,
}

/// The delays of a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    delays: Range,
    before: Range,
    /// The round ends when more than this is acknowledged.
    ends: u64,
    /// Delayed ACKs to expect, at most 5.
    delayed: u8,
}

impl Cdg {
    /// Linux's defaults, except for the parameters set.
    pub(super) fn new(parameters: &mut Parameters, rng: Rng) -> Self {
        let tuning = Tuning {
            beta: parameters.take("backoff_beta", 724, 0..=1_024),
            factor: parameters.take("backoff_factor", 42, 0..=65_535),
            ineffectual: parameters.take("use_ineff", 5, 0..=65_535),
            shadow: parameters.switch("use_shadow", true),
            tolerance: parameters.switch("use_tolerance", false),
        };
        Self {
            tuning,
            rng,
            round: Round::default(),
            gradients: Gradients::default(),
            slow_start: SlowStart::new(parameters.take("hystart_detect", 3, 0..=3)),
            state: State::Unknown,
            shadow: 0,
            retreats: 0,
            cwr_requested: false,
        }
    }

    /// Evaluates the gradient at the end of a round; returns whether to reduce the window.
    fn end_round(&mut self, tp: &SenderState, cc: &CcState) -> bool {
        let gradient = if self.round.before.is_empty() { 0 } else { self.follow_gradient() };
        self.round = Round {
            ends: tp.snd_nxt,
            before: self.round.delays,
            delays: Range::default(),
            delayed: self.round.delayed,
        };
        self.slow_start.begin_round();
        u32::try_from(gradient).is_ok_and(|gradient| gradient > 0 && self.retreats_for(gradient, cc))
    }

    fn follow_gradient(&mut self) -> i32 {
        let (gradient, trend) = self.gradients.take(self.round.before, self.round.delays);
        if trend.fell() {
            self.retreats = 0;
        }
        if self.tuning.tolerance {
            match trend.queue() {
                Trend::FULL => self.state = State::Full,
                Trend::FILLING => self.state = State::Filling,
                _ => {}
            }
        }
        gradient
    }

    fn retreats_for(&mut self, gradient_us: u32, cc: &CcState) -> bool {
        if self.rng.next_u32() <= nexp::exponential(gradient_us.wrapping_mul(self.tuning.factor)) {
            return false;
        }
        if self.tuning.ineffectual > 0 {
            self.retreats = self.retreats.wrapping_add(1);
            if self.retreats > self.tuning.ineffectual {
                return false;
            }
        }
        self.shadow = self.shadow.max(cc.cwnd);
        self.state = State::Retreat;
        true
    }
}

impl CongestionControl for Cdg {
    fn name(&self) -> &'static str {
        "cdg"
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.round.ends = tp.snd_nxt;
        self.shadow = cc.cwnd;
    }

    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        match self.state {
            State::Retreat => return (cc.cwnd.wrapping_mul(self.tuning.beta) >> 10).max(2),
            State::Filling if self.tuning.tolerance => return cc.cwnd,
            _ => {}
        }
        self.shadow = (self.shadow / 2).min(cc.cwnd);
        let half = reno::ssthresh(cc);
        if self.tuning.shadow { half.max(self.shadow) } else { half }
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn pkts_acked(&mut self, tp: &SenderState, _cc: &mut CcState, sample: &AckSample) {
        let Some(rtt_us) = sample.rtt_us().and_then(|rtt_us| i32::try_from(rtt_us).ok()).filter(|us| *us > 0) else {
            return;
        };
        let round = &mut self.round;
        if tp.sacked_out == 0 {
            if sample.acked == 1 && round.delayed > 0 {
                // A delayed ACK counts only if its delay is shorter than the others'.
                round.delays.min_us = round.delays.min_us.min(rtt_us);
                round.delayed -= 1;
                return;
            }
            if sample.acked > 1 && round.delayed < MAX_DELAYED {
                round.delayed += 1;
            }
        }
        round.delays.take(rtt_us);
    }

    fn syn_acked(&mut self, tp: &SenderState, cc: &mut CcState, sample: &AckSample) {
        self.pkts_acked(tp, cc, sample);
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        if cc.in_slow_start() {
            self.slow_start.on_ack(tp, cc, self.round.delays.min_us);
        }
        if tp.snd_una > self.round.ends && !self.round.delays.is_empty() && self.end_round(tp, cc) {
            self.cwr_requested = true;
            return;
        }
        if !tp.is_cwnd_limited(cc) {
            self.shadow = self.shadow.min(cc.cwnd);
            return;
        }
        let before = cc.cwnd;
        reno::cong_avoid(tp, cc, acked);
        self.shadow = self.shadow.max(self.shadow.wrapping_add(cc.cwnd.wrapping_sub(before)));
    }

    fn take_cwr_request(&mut self) -> bool {
        core::mem::take(&mut self.cwr_requested)
    }

    fn cwnd_event(&mut self, tp: &SenderState, cc: &mut CcState, event: Event) {
        match event {
            Event::CwndRestart => {
                self.round = Round { ends: tp.snd_nxt, ..Round::default() };
                self.gradients.restart();
                self.slow_start.restart();
                (self.state, self.shadow, self.retreats) = (State::Unknown, cc.cwnd, 0);
            }
            Event::CompleteCwr => {
                self.state = State::Unknown;
                self.round.ends = tp.snd_nxt;
                self.round.before = self.round.delays;
                self.round.delays = Range::default();
            }
            _ => {}
        }
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        let phase = match self.state {
            State::Retreat => "retreat",
            _ => growth::phase(cc),
        };
        CcInfo { phase, ..CcInfo::default() }
    }
}

const MAX_DELAYED: u8 = 5;

#[cfg(test)]
mod tests;
