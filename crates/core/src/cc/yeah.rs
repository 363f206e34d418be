//! `YeAH`: fast while the queue is short, Reno while it is long (Linux's `tcp_yeah.c`).
//!
//! - **What it does**: Scalable's growth while fewer than 80 of its packets stand in the queue and the delay is less
//!   than an eighth above the base; else Reno's, and the window gives up what is too much in the queue.
//! - **Signal it listens to**: loss and delay.
//! - **When it does well**: long fat paths with small buffers, beside Reno.
//! - **When it does badly**: with a base delay measured in a queue that others made.
//! - **Reference**: A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", 2007.

use super::delay::FEW_SAMPLES;
use super::vegas::Round;
use super::{AckSample, CaState, Control, Event, Insight, Vitals, growth, reno, scalable};

/// A flow's `YeAH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Yeah {
    round: Round,
    /// Packets in the queue in the last round.
    queued: u32,
    /// Rounds in a row with a long queue: slow then.
    slow_rounds: u32,
    /// What a Reno beside it would have, in packets.
    reno_window: u32,
    /// Rounds with a short queue since the last loss.
    fast_rounds: u32,
}

impl Yeah {
    pub(super) const fn new() -> Self {
        Self { round: Round::new(), queued: 0, slow_rounds: 0, reno_window: 2, fast_rounds: 0 }
    }

    fn grow(&self, vitals: &mut Vitals, acked: u32) {
        if self.slow_rounds > 0 {
            growth::additive_increase(vitals, vitals.cwnd, acked);
        } else {
            scalable::increase(vitals, acked);
        }
    }

    /// A round is over: fast or slow from here?
    fn judge(&mut self, vitals: &mut Vitals) {
        let (base_us, recent_us) = (self.round.delay.base_us, self.round.delay.recent_us);
        let queueing_us = recent_us - base_us;
        let queued = u64::from(vitals.cwnd) * u64::from(queueing_us) / u64::from(recent_us);
        self.queued = u32::try_from(queued).unwrap_or(u32::MAX);
        if self.queued > MOST_QUEUED || queueing_us > base_us / MOST_DELAY {
            self.slow_down(vitals);
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > ROUNDS_ALONE {
                (self.reno_window, self.fast_rounds) = (2, 0); // Nobody else is here.
            }
            self.slow_rounds = 0;
        }
    }

    fn slow_down(&mut self, vitals: &mut Vitals) {
        if self.queued > MOST_QUEUED && vitals.cwnd > self.reno_window {
            let excess = self.queued.min(vitals.cwnd / 2);
            vitals.cwnd = (vitals.cwnd - excess).max(self.reno_window);
            vitals.ssthresh = vitals.cwnd;
        }
        self.reno_window = if self.reno_window <= 2 { (vitals.cwnd / 2).max(2) } else { self.reno_window + 1 };
        self.slow_rounds = (self.slow_rounds + 1).min(0xff_ffff);
    }
}

impl Control for Yeah {
    fn name(&self) -> &'static str {
        "yeah"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.round.restart(vitals);
        vitals.cwnd_clamp = vitals.cwnd_clamp.min(u32::MAX / 128);
    }

    /// What stands in the queue, between an eighth and a half; a half when the queue was long for 16 rounds, for then
    /// it is others who fill it.
    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        let half = (vitals.cwnd / 2).max(2);
        let reduction =
            if self.slow_rounds < ROUNDS_CONTENDED { self.queued.min(half).max(vitals.cwnd >> 3) } else { half };
        self.fast_rounds = 0;
        self.reno_window = (self.reno_window / 2).max(2);
        vitals.cwnd.saturating_sub(reduction).max(2)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn on_acked(&mut self, _vitals: &mut Vitals, sample: &AckSample) {
        self.round.delay.take(sample);
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        if !vitals.is_cwnd_limited() {
            return;
        }
        let acked = if vitals.in_slow_start() { growth::slow_start(vitals, acked) } else { acked };
        if acked > 0 {
            self.grow(vitals, acked);
        }
        if self.round.is_over(vitals) {
            if self.round.delay.samples > FEW_SAMPLES {
                self.judge(vitals);
            }
            self.round.begin(vitals);
        }
    }

    fn on_state(&mut self, vitals: &mut Vitals, new: CaState) {
        self.round.on_state(vitals, new);
    }

    fn on_event(&mut self, vitals: &mut Vitals, event: Event) {
        self.round.on_event(vitals, event);
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        let phase = match () {
            () if vitals.in_slow_start() => "slow_start",
            () if self.slow_rounds > 0 => "slow",
            () => "fast",
        };
        Insight { phase, ..Insight::default() }
    }
}

/// Packets in the queue (`TCP_YEAH_ALPHA`).
const MOST_QUEUED: u32 = 80;
/// Share of the base delay that may come on top of it (`TCP_YEAH_PHY`).
const MOST_DELAY: u32 = 8;
/// Slow rounds after which others must be there (`TCP_YEAH_RHO`).
const ROUNDS_CONTENDED: u32 = 16;
/// Fast rounds after which nobody is (`TCP_YEAH_ZETA`).
const ROUNDS_ALONE: u32 = 50;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::vitals;
    use crate::time::Span;

    /// A flow in avoidance whose smallest round-trip time was 100 ms.
    fn flow(cwnd: u32) -> (Yeah, Vitals) {
        let mut yeah = Yeah::new();
        let mut vitals = Vitals { cwnd, ssthresh: 10, ..vitals() };
        yeah.start(&mut vitals);
        round(&mut yeah, &mut vitals, 100_000);
        (yeah, vitals)
    }

    /// A round of three samples, and an ACK of nothing that ends it.
    fn round(yeah: &mut Yeah, vitals: &mut Vitals, rtt_us: u64) {
        let sample = AckSample { acked: 1, rtt: Some(Span::from_micros(rtt_us - 1)), in_flight: 20 };
        (0..3).for_each(|_| yeah.on_acked(vitals, &sample));
        (vitals.snd_una, vitals.snd_nxt) = (vitals.snd_nxt + 1, vitals.snd_nxt + 100_000);
        yeah.avoid(vitals, 0);
    }

    /// 400 packets at 112 ms: 42 queued, and less than an eighth of 100 ms; at 113 ms more than that; at 126 ms 82 queued.
    #[test]
    fn a_long_queue_slows_it_and_is_taken_down() {
        for (rtt_us, phase, window) in [(112_000, "fast", 400), (113_000, "slow", 400), (126_000, "slow", 318)] {
            let (mut yeah, mut vitals) = flow(400);
            round(&mut yeah, &mut vitals, rtt_us);
            assert_eq!((yeah.insight(&vitals).phase, vitals.cwnd), (phase, window), "{rtt_us} us");
        }
    }

    #[test]
    fn it_grows_fast_or_slowly() {
        for (rtt_us, window) in [(100_000, 404), (120_000, 401)] {
            let (mut yeah, mut vitals) = flow(400);
            round(&mut yeah, &mut vitals, rtt_us);
            (0..400).for_each(|_| yeah.avoid(&mut vitals, 1));
            assert_eq!(vitals.cwnd, window, "{rtt_us} us");
        }
    }

    /// 400 packets: an eighth when nothing was queued, the 57 queued at 117 ms or so, a half after 16 slow rounds.
    #[test]
    fn a_loss_costs_what_is_queued() {
        let (mut yeah, mut vitals) = flow(400);
        assert_eq!(yeah.ssthresh(&mut vitals), 350);
        round(&mut yeah, &mut vitals, 117_000);
        assert_eq!((yeah.queued, yeah.ssthresh(&mut vitals)), (58, 342));
        (0..15).for_each(|_| round(&mut yeah, &mut vitals, 117_000));
        assert_eq!(yeah.ssthresh(&mut vitals), 200);
    }

    /// A Reno beside it gets half of what it has, and a packet a round.
    #[test]
    fn it_never_gives_up_more_than_a_reno_would() {
        let (mut yeah, mut vitals) = flow(400);
        round(&mut yeah, &mut vitals, 120_000);
        round(&mut yeah, &mut vitals, 120_000);
        assert_eq!((vitals.cwnd, yeah.reno_window), (400, 201));
        round(&mut yeah, &mut vitals, 900_000);
        assert_eq!(vitals.cwnd, 201);
    }
}
