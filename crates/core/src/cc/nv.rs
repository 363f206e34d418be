//! NV: Vegas for datacentres: what window does this rate need without a queue (Linux's `tcp_nv.c`)?
//!
//! - **What it does**: from the largest rate of late and the smallest round-trip time it reckons the window that keeps
//!   ten packets queued; a larger one shrinks by 30 % of the excess, a smaller one may grow as Reno's. On loss it falls to 0.8.
//! - **Signal it listens to**: delivery rate and delay; loss.
//! - **When it does well**: inside a datacentre where every flow is NV.
//! - **When it does badly**: beside loss-based flows; with few packets a round trip.
//! - **Reference**: L. Brakmo, "TCP-NV: An Update to TCP-Vegas", 2015.

mod path;

use super::{AckSample, CaState, Control, INFINITE_SSTHRESH, Insight, Parameters, Vitals, growth, reno};
use crate::dice::Dice;
use path::Path;

/// A flow's NV.
#[derive(Clone, Debug)]
pub struct Nv {
    /// Packets that may stand in the queue.
    pad: u32,
    /// Without loss the window does not fall below this.
    least_window: u32,
    path: Path,
    round: Round,
    /// May the window grow?
    may_grow: bool,
    /// All is measured anew when packets are no longer missing.
    restarts: bool,
    /// Doublings of the growth; below zero: halvings.
    growth: i8,
    /// Decisions in a row that there is no congestion.
    calm: u32,
    /// Rounds of fewer packets have no say; it grows where many arrive as one.
    window_floor: u8,
}

/// Samples since the last decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Round {
    samples: u8,
    /// Round trips.
    count: u8,
    /// A round trip is over when more than this is acknowledged.
    ends: u64,
    /// `snd_una` at the last sample.
    una: u64,
}

/// What a round trip says.
enum Verdict {
    /// It had too few samples, or the window is about right.
    None,
    /// Too large by what this window says.
    Shrink(u32),
    Grow,
}

impl Nv {
    /// Linux's, where nothing else is set.
    pub(super) fn new(parameters: &mut Parameters, dice: Dice) -> Self {
        Self {
            pad: parameters.take("nv_pad", 10, PAD_BUFFER..=65_535),
            path: Path::new(parameters.take("nv_reset_period", 5, 1..=3_600), dice),
            least_window: parameters.take("nv_min_cwnd", 2, 1..=65_535),
            round: Round::default(),
            may_grow: true,
            restarts: false,
            growth: 0,
            calm: 0,
            window_floor: path::WINDOW_FLOOR,
        }
    }

    const fn restart(&mut self, vitals: &Vitals) {
        self.restarts = false;
        self.calm = 0;
        self.path.restart();
        self.round = Round { samples: 0, count: 0, ends: vitals.snd_una, una: vitals.snd_una };
    }

    /// Once a round trip (`tcpnv_acked`, its second half).
    fn end_round(&mut self, vitals: &mut Vitals, acked_bytes: u64) {
        self.round.ends = vitals.snd_nxt;
        self.round.count = self.round.count.saturating_add(1);
        if self.round.samples == 1 && self.is_one_burst(vitals, acked_bytes) {
            return;
        }
        let most = self.path.window(vitals.mss).wrapping_add(self.pad);
        match self.judge(vitals, most) {
            Verdict::None => return,
            Verdict::Shrink(excess) => self.shrink(vitals, most, excess),
            Verdict::Grow => self.allow_growth(),
        }
        (self.round.samples, self.round.count) = (0, 0);
        self.path.forget_rate();
        vitals.cwnd = vitals.cwnd.max(self.least_window);
    }

    /// One sample for a whole round: packets arrive together, and the window is too small to tell anything.
    fn is_one_burst(&mut self, vitals: &Vitals, acked_bytes: u64) -> bool {
        let floor = u64::from(self.window_floor);
        if acked_bytes < (floor - 1) * u64::from(vitals.mss) || floor > u64::from(MOST_FLOOR) {
            return false;
        }
        self.window_floor = (self.window_floor + FLOOR_STEP).min(MOST_FLOOR + 1);
        self.round.ends = vitals.snd_nxt + u64::from(self.window_floor) * u64::from(vitals.mss);
        self.round.samples = 0;
        self.may_grow = true;
        true
    }

    fn judge(&mut self, vitals: &Vitals, most: u32) -> Verdict {
        if vitals.cwnd > most {
            return self.judge_large(vitals, vitals.cwnd - most);
        }
        if vitals.cwnd <= most.wrapping_sub(PAD_BUFFER) && self.round.samples >= SAMPLES_TO_GROW {
            return Verdict::Grow;
        }
        Verdict::None
    }

    fn judge_large(&mut self, vitals: &Vitals, excess: u32) -> Verdict {
        if self.round.count < ROUNDS_TO_JUDGE {
            return Verdict::None;
        }
        let in_first_slow_start = vitals.ssthresh == INFINITE_SSTHRESH;
        let enough = if in_first_slow_start { SAMPLES_TO_END_SLOW_START } else { SAMPLES_TO_SHRINK };
        if self.round.samples >= enough {
            return Verdict::Shrink(excess);
        }
        if !in_first_slow_start && self.round.count > ROUNDS_TO_STOP {
            self.may_grow = false;
        }
        Verdict::None
    }

    fn shrink(&mut self, vitals: &mut Vitals, most: u32, excess: u32) {
        self.may_grow = false;
        vitals.ssthresh = most;
        vitals.cwnd = if excess > 2 { vitals.cwnd - (excess.wrapping_mul(DECREASE) >> 7).max(2) } else { most };
        self.growth = self.growth.min(0);
        self.calm = 0;
    }

    const fn allow_growth(&mut self) {
        self.may_grow = true;
        self.calm += 1;
        if self.growth < 0 && self.calm > DECISIONS_TO_RECOVER {
            self.growth += 1;
            self.calm = 0;
        }
    }
}

impl Control for Nv {
    fn name(&self) -> &'static str {
        "nv"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.restart(vitals);
        self.path.start(vitals.now.jiffies());
    }

    /// 0.8 of the window.
    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        (vitals.cwnd.wrapping_mul(KEPT) >> 10).max(2)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn on_acked(&mut self, vitals: &mut Vitals, sample: &AckSample) {
        let Some(rtt_us) = sample.rtt_us() else { return };
        if vitals.state > CaState::Disorder {
            return;
        }
        let acked_bytes = vitals.snd_una - core::mem::replace(&mut self.round.una, vitals.snd_una);
        let bytes = vitals.mss.wrapping_mul(sample.in_flight);
        if bytes == 0 {
            return;
        }
        self.path.take(rtt_us, bytes);
        self.round.samples = self.round.samples.saturating_add(1);
        if self.path.age(vitals.now.jiffies()) {
            self.window_floor = (self.window_floor / 2).max(path::WINDOW_FLOOR);
        }
        if vitals.snd_una > self.round.ends {
            self.end_round(vitals, acked_bytes);
        }
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        if !self.may_grow {
            return;
        }
        let Some(acked) = growth::beyond_slow_start(vitals, acked) else { return };
        let halvings = u32::from(self.growth.unsigned_abs());
        let per = if self.growth < 0 { vitals.cwnd << halvings } else { (vitals.cwnd >> halvings).max(4) };
        growth::additive_increase(vitals, per, acked);
    }

    fn on_state(&mut self, vitals: &mut Vitals, new: CaState) {
        match new {
            CaState::Open if self.restarts => self.restart(vitals),
            CaState::Open | CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.restarts = true;
                self.may_grow = false;
            }
        }
        if new == CaState::Loss {
            self.growth = (self.growth.min(0) - 1).max(SLOWEST_GROWTH);
        }
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        let phase = if self.may_grow { growth::phase(vitals) } else { "holding" };
        Insight { phase, ..Insight::default() }
    }
}

/// Packets below the mark at which growth stops (`nv_pad_buffer`).
const PAD_BUFFER: u32 = 2;
/// Share of the excess that is given up: 30 %, in 1/128.
const DECREASE: u32 = 30 * 128 / 100;
/// What a loss leaves: 0.8, in 1/1024.
const KEPT: u32 = 819;
/// Samples for each kind of decision.
const SAMPLES_TO_GROW: u8 = 20;
const SAMPLES_TO_END_SLOW_START: u8 = 30;
const SAMPLES_TO_SHRINK: u8 = 60;
/// Round trips before the first, and those after which growth stops for want of samples.
const ROUNDS_TO_JUDGE: u8 = 2;
const ROUNDS_TO_STOP: u8 = 10;
/// Good decisions that take back a halving of the growth.
const DECISIONS_TO_RECOVER: u32 = 8;
const SLOWEST_GROWTH: i8 = -8;
/// How the floor rises, and how far (`NV_MIN_CWND_GROW`, `NV_TSO_CWND_BOUND`).
const FLOOR_STEP: u8 = 2;
const MOST_FLOOR: u8 = 80;

#[cfg(test)]
mod tests;
