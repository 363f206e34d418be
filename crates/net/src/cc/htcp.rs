//! H-TCP: growth by the time since the last loss (Linux's `tcp_htcp.c`).
//!
//! - **What it does**: for a second after a loss it is Reno; then growth rises with the square of the elapsed time, in
//!   proportion to the round-trip time. A loss reduces the window by just enough to empty the queue.
//! - **Signal**: loss; round-trip times and throughput determine the decrease.
//! - **Works well**: long fat paths, where losses are seconds apart.
//! - **Works badly**: deep buffers, which it fills; random loss.
//! - **Reference**: D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", 2004.
//!
//! Where Linux departs from the paper: time and round-trip times count in jiffies, and the maximum round-trip time
//! rises only in steps of up to 20 ms.

mod throughput;

use super::{AckSample, CaState, CcInfo, CcState, CongestionControl, Parameters, SenderState, growth, reno};
use crate::number::narrow;
use crate::time::HZ;
use throughput::Throughput;

/// H-TCP's state for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Htcp {
    scales_by_rtt: bool,
    watches_throughput: bool,
    /// Packets per round trip, in 1/128.
    alpha: u32,
    /// Share of the window that remains after a loss, in 1/128.
    beta: u32,
    /// Does the delay determine β? From the second loss at equal throughput on.
    by_delay: bool,
    /// Packets of the last ACK.
    acked: u32,
    rtt: Rtts,
    throughput: Throughput,
    /// The jiffy at which the last recovery ended.
    since: u64,
    /// State to restore when a reduction is undone.
    before: Option<SavedState>,
}

/// Round-trip times in jiffies; 0 when unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rtts {
    minimum: u32,
    maximum: u32,
}

/// State that a reduction overwrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SavedState {
    since: u64,
    max_rtt: u32,
    old_max_throughput: u32,
}

impl Htcp {
    /// Linux's defaults, except for the parameters set.
    pub(super) fn new(parameters: &mut Parameters) -> Self {
        Self {
            scales_by_rtt: parameters.switch("use_rtt_scaling", true),
            watches_throughput: parameters.switch("use_bandwidth_switch", true),
            alpha: ONE,
            beta: BETA_MIN,
            by_delay: false,
            acked: 1,
            rtt: Rtts::default(),
            throughput: Throughput::default(),
            since: 0,
            before: None,
        }
    }

    /// The growth (`htcp_alpha_update`): 1 + 10 t + t²/4 packets per round trip, t seconds beyond the first; scaled by
    /// the round-trip time (a tenth of a second is 1) and by 2 (1 − β).
    fn update_alpha(&mut self, jiffy: u64) {
        let passed = narrow(jiffy - self.since);
        let mut factor = 1;
        if passed > HZ_32 {
            let beyond = passed - HZ_32;
            factor = 1 + beyond.wrapping_mul(10).wrapping_add((beyond / 2).wrapping_mul(beyond / 2) / HZ_32) / HZ_32;
        }
        if self.scales_by_rtt && self.rtt.minimum > 0 {
            let scale = ((HZ_32 << 3) / (10 * self.rtt.minimum)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
        if self.alpha == 0 {
            self.alpha = ONE;
        }
    }

    /// The share to keep (`htcp_beta_update`): minimum over maximum round-trip time if throughput is within a fifth of
    /// that at the last loss, else half.
    fn update_beta(&mut self) {
        if self.watches_throughput && !self.throughput.is_steady() {
            (self.beta, self.by_delay) = (BETA_MIN, false);
            return;
        }
        let Rtts { minimum, maximum } = self.rtt;
        if self.by_delay && minimum > TEN_MS && maximum > 0 {
            self.beta = (((minimum << 7) / maximum) & 0xff).clamp(BETA_MIN, BETA_MAX);
        } else {
            (self.beta, self.by_delay) = (BETA_MIN, true);
        }
    }

    fn measure_rtt(&mut self, rtt: u32, is_open: bool) {
        let known = &mut self.rtt;
        if known.minimum > rtt || known.minimum == 0 {
            known.minimum = rtt;
        }
        if is_open {
            known.maximum = known.maximum.max(known.minimum);
            if known.maximum < rtt && rtt <= known.maximum + TWENTY_MS {
                known.maximum = rtt;
            }
        }
    }

    fn measure_throughput(&mut self, tp: &SenderState, cc: &CcState, acked: u32) {
        let jiffy = tp.now.jiffies();
        if tp.state > CaState::Disorder {
            self.throughput.begin(jiffy);
            return;
        }
        // A round of packets, less the window's growth in the meantime.
        let round = cc.cwnd.wrapping_sub((self.alpha >> 7).max(1));
        if self.throughput.is_over(acked, round, jiffy, self.rtt.minimum) {
            let rounds = narrow(jiffy - self.since) / self.rtt.minimum;
            self.throughput.take(jiffy, rounds <= 3);
        }
    }
}

impl CongestionControl for Htcp {
    fn name(&self) -> &'static str {
        "htcp"
    }

    fn init(&mut self, tp: &SenderState, _cc: &mut CcState) {
        self.since = tp.now.jiffies();
    }

    fn ssthresh(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        let Rtts { minimum, maximum } = self.rtt;
        self.update_beta();
        self.update_alpha(tp.now.jiffies());
        if minimum > 0 && maximum > minimum {
            self.rtt.maximum = minimum + (maximum - minimum) * 95 / 100; // A path may change: the maximum decays.
        }
        (cc.cwnd.wrapping_mul(self.beta) >> 7).max(2)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        if let Some(before) = self.before.take() {
            self.since = before.since;
            self.rtt.maximum = before.max_rtt;
            self.throughput.old_max = before.old_max_throughput;
        }
        reno::undo_cwnd(tp, cc)
    }

    fn pkts_acked(&mut self, tp: &SenderState, cc: &mut CcState, sample: &AckSample) {
        let is_open = tp.state == CaState::Open;
        if is_open {
            self.acked = sample.acked & 0xffff;
        }
        if let Some(rtt) = sample.rtt_jiffies().filter(|rtt| *rtt > 0) {
            self.measure_rtt(rtt, is_open);
        }
        if self.watches_throughput {
            self.measure_throughput(tp, cc, sample.acked);
        }
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        if !growth::in_avoidance(tp, cc, acked) {
            return;
        }
        if cc.cwnd_count.wrapping_mul(self.alpha) >> 7 >= cc.cwnd {
            if cc.cwnd < cc.cwnd_clamp {
                cc.cwnd += 1;
            }
            cc.cwnd_count = 0;
            self.update_alpha(tp.now.jiffies());
        } else {
            cc.cwnd_count = cc.cwnd_count.wrapping_add(self.acked);
        }
        self.acked = 1;
    }

    fn set_state(&mut self, tp: &SenderState, _cc: &mut CcState, new: CaState) {
        let jiffy = tp.now.jiffies();
        match new {
            CaState::Open => {
                if self.before.take().is_some() {
                    self.since = jiffy;
                }
            }
            CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.before = Some(SavedState {
                    since: self.since,
                    max_rtt: self.rtt.maximum,
                    old_max_throughput: self.throughput.old_max,
                });
                self.since = jiffy;
            }
        }
    }

    fn cc_info(&self, tp: &SenderState, cc: &CcState) -> CcInfo {
        let phase = match () {
            () if cc.in_slow_start() => "slow_start",
            () if tp.now.jiffies() - self.since > HZ => "fast",
            () => "avoidance",
        };
        CcInfo { phase, ..CcInfo::default() }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "250")]
const HZ_32: u32 = HZ as u32;
/// 1.0 in 1/128 (`ALPHA_BASE`).
const ONE: u32 = 128;
/// 0.5 and 0.8 in 1/128.
const BETA_MIN: u32 = 64;
const BETA_MAX: u32 = 102;
/// In jiffies, rounded up (`msecs_to_jiffies`).
const TEN_MS: u32 = 3;
const TWENTY_MS: u32 = 5;

#[cfg(test)]
mod tests;
