//! CDG: back off when the delay grows, not when it is large (Linux's `tcp_cdg.c`).
//!
//! - **What it does**: once a round trip it compares the smallest and the largest delay with the round before; the
//!   steeper they rise, the more likely the window falls to 0.7 of itself. A shadow window remembers what loss-based
//!   flows would have, so that a loss costs less after such a retreat.
//! - **Signal it listens to**: the delay's gradient; loss.
//! - **When it does well**: short queues beside its own kind, random loss, unknown base delay.
//! - **When it does badly**: beside loss-based flows; after five retreats that changed nothing it waits until they did.
//! - **Reference**: D. A. Hayes, G. Armitage, "Revisiting TCP Congestion Control using Delay Gradients", 2011.
//!
//! Where Linux departs from the paper: slow start is ended by its own HyStart, reductions are PRR's, gradients are sums
//! and not means, and losses are told from congestion only when that is switched on.

mod chance;
mod gradient;
mod slow_start;

use super::{AckSample, Control, Event, Insight, Parameters, Vitals, growth, reno};
use crate::dice::Dice;
use gradient::{Gradients, Range, Trend};
use slow_start::SlowStart;

/// A flow's CDG.
#[derive(Clone, Debug)]
pub struct Cdg {
    tuning: Tuning,
    dice: Dice,
    round: Round,
    gradients: Gradients,
    slow_start: SlowStart,
    state: State,
    /// The window that a loss-based flow would have.
    shadow: u32,
    /// Retreats since one had an effect.
    retreats: u16,
    wants_reduction: bool,
}

/// The module's parameters.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    /// What a retreat leaves, in 1/1024.
    beta: u32,
    /// How likely a gradient makes it retreat: 1 − exp(−factor · gradient in seconds).
    factor: u32,
    /// Retreats without effect before it stops them; 0: it never does.
    ineffectual: u16,
    shadow: bool,
    tolerance: bool,
}

/// What the queue is thought to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Unknown,
    Filling,
    Full,
    /// A retreat is under way.
    Retreat,
}

/// A round trip's delays.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    delays: Range,
    before: Range,
    /// It is over when more than this is acknowledged.
    ends: u64,
    /// Delayed ACKs that are to be expected, 5 at most.
    delayed: u8,
}

impl Cdg {
    /// Linux's, where nothing else is set.
    pub(super) fn new(parameters: &mut Parameters, dice: Dice) -> Self {
        let tuning = Tuning {
            beta: parameters.take("backoff_beta", 724, 0..=1_024),
            factor: parameters.take("backoff_factor", 42, 0..=65_535),
            ineffectual: parameters.take("use_ineff", 5, 0..=65_535),
            shadow: parameters.switch("use_shadow", true),
            tolerance: parameters.switch("use_tolerance", false),
        };
        Self {
            tuning,
            dice,
            round: Round::default(),
            gradients: Gradients::default(),
            slow_start: SlowStart::new(parameters.take("hystart_detect", 3, 0..=3)),
            state: State::Unknown,
            shadow: 0,
            retreats: 0,
            wants_reduction: false,
        }
    }

    /// A round is over: what does its gradient say? Is the window to be reduced?
    fn end_round(&mut self, vitals: &Vitals) -> bool {
        let gradient = if self.round.before.is_empty() { 0 } else { self.follow_gradient() };
        self.round = Round {
            ends: vitals.snd_nxt,
            before: self.round.delays,
            delays: Range::default(),
            delayed: self.round.delayed,
        };
        self.slow_start.begin_round();
        u32::try_from(gradient).is_ok_and(|gradient| gradient > 0 && self.retreats_for(gradient, vitals))
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

    fn retreats_for(&mut self, gradient_us: u32, vitals: &Vitals) -> bool {
        if self.dice.word() <= chance::exponential(gradient_us.wrapping_mul(self.tuning.factor)) {
            return false;
        }
        if self.tuning.ineffectual > 0 {
            self.retreats = self.retreats.wrapping_add(1);
            if self.retreats > self.tuning.ineffectual {
                return false;
            }
        }
        self.shadow = self.shadow.max(vitals.cwnd);
        self.state = State::Retreat;
        true
    }
}

impl Control for Cdg {
    fn name(&self) -> &'static str {
        "cdg"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.round.ends = vitals.snd_nxt;
        self.shadow = vitals.cwnd;
    }

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        match self.state {
            State::Retreat => return (vitals.cwnd.wrapping_mul(self.tuning.beta) >> 10).max(2),
            State::Filling if self.tuning.tolerance => return vitals.cwnd,
            _ => {}
        }
        self.shadow = (self.shadow / 2).min(vitals.cwnd);
        let half = reno::ssthresh(vitals);
        if self.tuning.shadow { half.max(self.shadow) } else { half }
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn on_acked(&mut self, vitals: &mut Vitals, sample: &AckSample) {
        let Some(rtt_us) = sample.rtt_us().and_then(|rtt_us| i32::try_from(rtt_us).ok()).filter(|us| *us > 0) else {
            return;
        };
        let round = &mut self.round;
        if vitals.sacked_out == 0 {
            if sample.acked == 1 && round.delayed > 0 {
                // A delayed ACK only counts where it is shorter than others.
                round.delays.least_us = round.delays.least_us.min(rtt_us);
                round.delayed -= 1;
                return;
            }
            if sample.acked > 1 && round.delayed < MOST_DELAYED {
                round.delayed += 1;
            }
        }
        round.delays.take(rtt_us);
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        if vitals.in_slow_start() {
            self.slow_start.on_ack(vitals, self.round.delays.least_us);
        }
        if vitals.snd_una > self.round.ends && !self.round.delays.is_empty() && self.end_round(vitals) {
            self.wants_reduction = true;
            return;
        }
        if !vitals.is_cwnd_limited() {
            self.shadow = self.shadow.min(vitals.cwnd);
            return;
        }
        let before = vitals.cwnd;
        reno::avoid(vitals, acked);
        self.shadow = self.shadow.max(self.shadow.wrapping_add(vitals.cwnd.wrapping_sub(before)));
    }

    fn takes_reduction(&mut self) -> bool {
        core::mem::take(&mut self.wants_reduction)
    }

    fn on_event(&mut self, vitals: &mut Vitals, event: Event) {
        match event {
            Event::CwndRestart => {
                self.round = Round { ends: vitals.snd_nxt, ..Round::default() };
                self.gradients.restart();
                self.slow_start.restart();
                (self.state, self.shadow, self.retreats) = (State::Unknown, vitals.cwnd, 0);
            }
            Event::CompleteCwr => {
                self.state = State::Unknown;
                self.round.ends = vitals.snd_nxt;
                self.round.before = self.round.delays;
                self.round.delays = Range::default();
            }
            _ => {}
        }
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        let phase = match self.state {
            State::Retreat => "retreat",
            _ => growth::phase(vitals),
        };
        Insight { phase, ..Insight::default() }
    }
}

const MOST_DELAYED: u8 = 5;

#[cfg(test)]
mod tests;
