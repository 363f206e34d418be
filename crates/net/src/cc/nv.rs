//! NV: Vegas for data centres: the window that the current rate needs without a queue (Linux's `tcp_nv.c`).
//!
//! - **What it does**: computes the window that keeps ten packets queued, from the recent maximum rate and the minimum
//!   round-trip time; a larger window shrinks by 30 % of the excess, a smaller one may grow as Reno's. On loss it falls
//!   to 0.8.
//! - **Signal**: delivery rate and delay; loss.
//! - **Works well**: inside a data centre where every flow is NV.
//! - **Works badly**: next to loss-based flows; with few packets per round trip.
//! - **Reference**: L. Brakmo, "TCP-NV: An Update to TCP-Vegas", 2015.

mod path;

use super::{
    AckSample, CaState, CcInfo, CcState, CongestionControl, INFINITE_SSTHRESH, Parameters, SenderState, growth, reno,
};
use crate::rng::Rng;
use path::Path;

/// NV's state for one flow.
#[derive(Clone, Debug)]
pub struct Nv {
    /// Packets to keep in the queue.
    pad: u32,
    /// Lower limit of the window without loss.
    min_window: u32,
    path: Path,
    round: Round,
    /// May the window grow?
    may_grow: bool,
    /// Restart measurement when no more packets are missing.
    restarts: bool,
    /// Doublings of the growth; negative: halvings.
    growth: i8,
    /// Consecutive decisions without congestion.
    calm: u32,
    /// Rounds with fewer packets do not decide; rises where many packets arrive as one.
    window_floor: u8,
}

/// Samples since the last decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Round {
    samples: u8,
    /// Round trips.
    count: u8,
    /// A round trip ends when more than this is acknowledged.
    ends: u64,
    /// `snd_una` at the last sample.
    una: u64,
}

/// The result of a round trip.
enum Verdict {
    /// Too few samples, or the window is about right.
    None,
    /// The window exceeds this one and has to shrink.
    Shrink(u32),
    Grow,
}

impl Nv {
    /// Linux's defaults, except for the parameters set.
    pub(super) fn new(parameters: &mut Parameters, rng: Rng) -> Self {
        Self {
            pad: parameters.take("nv_pad", 10, PAD_BUFFER..=65_535),
            path: Path::new(parameters.take("nv_reset_period", 5, 1..=3_600), rng),
            min_window: parameters.take("nv_min_cwnd", 2, 1..=65_535),
            round: Round::default(),
            may_grow: true,
            restarts: false,
            growth: 0,
            calm: 0,
            window_floor: path::WINDOW_FLOOR,
        }
    }

    const fn restart(&mut self, tp: &SenderState) {
        self.restarts = false;
        self.calm = 0;
        self.path.restart();
        self.round = Round { samples: 0, count: 0, ends: tp.snd_una, una: tp.snd_una };
    }

    /// Once per round trip (`tcpnv_acked`, its second half).
    fn end_round(&mut self, tp: &SenderState, cc: &mut CcState, acked_bytes: u64) {
        self.round.ends = tp.snd_nxt;
        self.round.count = self.round.count.saturating_add(1);
        if self.round.samples == 1 && self.is_one_burst(tp, acked_bytes) {
            return;
        }
        let maximum = self.path.window(tp.mss).wrapping_add(self.pad);
        match self.judge(cc, maximum) {
            Verdict::None => return,
            Verdict::Shrink(excess) => self.shrink(cc, maximum, excess),
            Verdict::Grow => self.allow_growth(),
        }
        (self.round.samples, self.round.count) = (0, 0);
        self.path.forget_rate();
        cc.cwnd = cc.cwnd.max(self.min_window);
    }

    /// One sample for a full round: packets arrive together, and the window is too small to decide.
    fn is_one_burst(&mut self, tp: &SenderState, acked_bytes: u64) -> bool {
        let floor = u64::from(self.window_floor);
        if acked_bytes < (floor - 1) * u64::from(tp.mss) || floor > u64::from(MAX_FLOOR) {
            return false;
        }
        self.window_floor = (self.window_floor + FLOOR_STEP).min(MAX_FLOOR + 1);
        self.round.ends = tp.snd_nxt + u64::from(self.window_floor) * u64::from(tp.mss);
        self.round.samples = 0;
        self.may_grow = true;
        true
    }

    fn judge(&mut self, cc: &CcState, maximum: u32) -> Verdict {
        if cc.cwnd > maximum {
            return self.judge_large(cc, cc.cwnd - maximum);
        }
        if cc.cwnd <= maximum.wrapping_sub(PAD_BUFFER) && self.round.samples >= SAMPLES_TO_GROW {
            return Verdict::Grow;
        }
        Verdict::None
    }

    fn judge_large(&mut self, cc: &CcState, excess: u32) -> Verdict {
        if self.round.count < ROUNDS_TO_JUDGE {
            return Verdict::None;
        }
        let in_first_slow_start = cc.ssthresh == INFINITE_SSTHRESH;
        let enough = if in_first_slow_start { SAMPLES_TO_END_SLOW_START } else { SAMPLES_TO_SHRINK };
        if self.round.samples >= enough {
            return Verdict::Shrink(excess);
        }
        if !in_first_slow_start && self.round.count > ROUNDS_TO_STOP {
            self.may_grow = false;
        }
        Verdict::None
    }

    fn shrink(&mut self, cc: &mut CcState, maximum: u32, excess: u32) {
        self.may_grow = false;
        cc.ssthresh = maximum;
        cc.cwnd = if excess > 2 { cc.cwnd - (excess.wrapping_mul(DECREASE) >> 7).max(2) } else { maximum };
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

impl CongestionControl for Nv {
    fn name(&self) -> &'static str {
        "nv"
    }

    fn init(&mut self, tp: &SenderState, _cc: &mut CcState) {
        self.restart(tp);
        self.path.init(tp.now.jiffies());
    }

    /// 0.8 of the window.
    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        (cc.cwnd.wrapping_mul(KEPT) >> 10).max(2)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn pkts_acked(&mut self, tp: &SenderState, cc: &mut CcState, sample: &AckSample) {
        let Some(rtt_us) = sample.rtt_us() else { return };
        if tp.state > CaState::Disorder {
            return;
        }
        let acked_bytes = tp.snd_una - core::mem::replace(&mut self.round.una, tp.snd_una);
        let bytes = tp.mss.wrapping_mul(sample.in_flight);
        if bytes == 0 {
            return;
        }
        self.path.take(rtt_us, bytes);
        self.round.samples = self.round.samples.saturating_add(1);
        if self.path.age(tp.now.jiffies()) {
            self.window_floor = (self.window_floor / 2).max(path::WINDOW_FLOOR);
        }
        if tp.snd_una > self.round.ends {
            self.end_round(tp, cc, acked_bytes);
        }
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        if !self.may_grow {
            return;
        }
        let Some(acked) = growth::beyond_slow_start(tp, cc, acked) else { return };
        let halvings = u32::from(self.growth.unsigned_abs());
        let per = if self.growth < 0 { cc.cwnd << halvings } else { (cc.cwnd >> halvings).max(4) };
        growth::additive_increase(cc, per, acked);
    }

    fn set_state(&mut self, tp: &SenderState, _cc: &mut CcState, new: CaState) {
        match new {
            CaState::Open if self.restarts => self.restart(tp),
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

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        let phase = if self.may_grow { growth::phase(cc) } else { "holding" };
        CcInfo { phase, ..CcInfo::default() }
    }
}

/// Packets below the target at which growth stops (`nv_pad_buffer`).
const PAD_BUFFER: u32 = 2;
/// Share of the excess to remove: 30 %, in 1/128.
const DECREASE: u32 = 30 * 128 / 100;
/// Share of the window kept after a loss: 0.8, in 1/1024.
const KEPT: u32 = 819;
/// Samples for each kind of decision.
const SAMPLES_TO_GROW: u8 = 20;
const SAMPLES_TO_END_SLOW_START: u8 = 30;
const SAMPLES_TO_SHRINK: u8 = 60;
/// Round trips before the first decision, and those after which growth stops for lack of samples.
const ROUNDS_TO_JUDGE: u8 = 2;
const ROUNDS_TO_STOP: u8 = 10;
/// Decisions without congestion that undo a halving of the growth.
const DECISIONS_TO_RECOVER: u32 = 8;
const SLOWEST_GROWTH: i8 = -8;
/// Step and limit of the rising floor (`NV_MIN_CWND_GROW`, `NV_TSO_CWND_BOUND`).
const FLOOR_STEP: u8 = 2;
const MAX_FLOOR: u8 = 80;

#[cfg(test)]
mod tests;
