//! H-TCP: growth by the time since the last loss (Linux's `tcp_htcp.c`).
//!
//! - **What it does**: for a second after a loss it is Reno; then the growth rises with the square of the time that
//!   has passed, in proportion to the round-trip time. On loss the window falls to what just empties the queue.
//! - **Signal it listens to**: loss; round-trip times and throughput decide how much it gives up.
//! - **When it does well**: long fat paths, where losses are seconds apart.
//! - **When it does badly**: deep buffers, which it fills; random loss.
//! - **Reference**: D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", 2004.
//!
//! Where Linux departs from the paper: time and round trips count in jiffies, and the largest round-trip time only
//! rises by steps of 20 ms and less.

mod throughput;

use super::{AckSample, CaState, Control, Insight, Parameters, Vitals, growth, reno};
use crate::time::HZ;
use throughput::Throughput;

/// A flow's H-TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Htcp {
    scales_by_rtt: bool,
    watches_throughput: bool,
    /// Packets a round trip, in 1/128.
    alpha: u32,
    /// What is left of the window after a loss, in 1/128.
    beta: u32,
    /// Does the delay decide β? From the second loss of equal throughput on.
    by_delay: bool,
    /// Packets of the last ACK.
    acked: u32,
    rtt: Rtts,
    throughput: Throughput,
    /// The jiffy at which the last loss was over.
    since: u64,
    /// What to go back to when it was none.
    before: Option<Before>,
}

/// Round-trip times in jiffies; 0 when unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rtts {
    least: u32,
    most: u32,
}

/// What a reduction overwrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Before {
    since: u64,
    most_rtt: u32,
    old_most_throughput: u32,
}

impl Htcp {
    /// Linux's, where nothing else is set.
    pub(super) fn new(parameters: &mut Parameters) -> Self {
        Self {
            scales_by_rtt: parameters.switch("use_rtt_scaling", true),
            watches_throughput: parameters.switch("use_bandwidth_switch", true),
            alpha: ONE,
            beta: BETA_LEAST,
            by_delay: false,
            acked: 1,
            rtt: Rtts::default(),
            throughput: Throughput::default(),
            since: 0,
            before: None,
        }
    }

    /// How fast to grow (`htcp_alpha_update`): 1 + 10 t + t²/4 packets a round trip, t seconds beyond the first; by the
    /// round-trip time, a tenth of a second being 1, and by what a loss costs, 2 (1 − β).
    fn update_alpha(&mut self, jiffy: u64) {
        let passed = narrow(jiffy - self.since);
        let mut factor = 1;
        if passed > HZ_32 {
            let beyond = passed - HZ_32;
            factor = 1 + beyond.wrapping_mul(10).wrapping_add((beyond / 2).wrapping_mul(beyond / 2) / HZ_32) / HZ_32;
        }
        if self.scales_by_rtt && self.rtt.least > 0 {
            let scale = ((HZ_32 << 3) / (10 * self.rtt.least)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
        if self.alpha == 0 {
            self.alpha = ONE;
        }
    }

    /// How much to keep (`htcp_beta_update`): the smallest over the largest round-trip time, where throughput is what
    /// it was at the last loss within a fifth; else half.
    fn update_beta(&mut self) {
        if self.watches_throughput && !self.throughput.is_steady() {
            (self.beta, self.by_delay) = (BETA_LEAST, false);
            return;
        }
        let Rtts { least, most } = self.rtt;
        if self.by_delay && least > TEN_MS && most > 0 {
            self.beta = (((least << 7) / most) & 0xff).clamp(BETA_LEAST, BETA_MOST);
        } else {
            (self.beta, self.by_delay) = (BETA_LEAST, true);
        }
    }

    fn measure_rtt(&mut self, rtt: u32, is_open: bool) {
        let known = &mut self.rtt;
        if known.least > rtt || known.least == 0 {
            known.least = rtt;
        }
        if is_open {
            known.most = known.most.max(known.least);
            if known.most < rtt && rtt <= known.most + TWENTY_MS {
                known.most = rtt;
            }
        }
    }

    fn measure_throughput(&mut self, vitals: &Vitals, acked: u32) {
        let jiffy = vitals.now.jiffies();
        if vitals.state > CaState::Disorder {
            self.throughput.begin(jiffy);
            return;
        }
        // A round of packets, less what the window may grow by meanwhile.
        let round = vitals.cwnd.wrapping_sub((self.alpha >> 7).max(1));
        if self.throughput.is_over(acked, round, jiffy, self.rtt.least) {
            let rounds = narrow(jiffy - self.since) / self.rtt.least;
            self.throughput.take(jiffy, rounds <= 3);
        }
    }
}

impl Control for Htcp {
    fn name(&self) -> &'static str {
        "htcp"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.since = vitals.now.jiffies();
    }

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        let Rtts { least, most } = self.rtt;
        self.update_beta();
        self.update_alpha(vitals.now.jiffies());
        if least > 0 && most > least {
            self.rtt.most = least + (most - least) * 95 / 100; // A path may change: the largest fades.
        }
        (vitals.cwnd.wrapping_mul(self.beta) >> 7).max(2)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        if let Some(before) = self.before.take() {
            self.since = before.since;
            self.rtt.most = before.most_rtt;
            self.throughput.old_most = before.old_most_throughput;
        }
        reno::undo_cwnd(vitals)
    }

    fn on_acked(&mut self, vitals: &mut Vitals, sample: &AckSample) {
        let is_open = vitals.state == CaState::Open;
        if is_open {
            self.acked = sample.acked & 0xffff;
        }
        if let Some(rtt) = sample.rtt_jiffies().filter(|rtt| *rtt > 0) {
            self.measure_rtt(rtt, is_open);
        }
        if self.watches_throughput {
            self.measure_throughput(vitals, sample.acked);
        }
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        if !growth::in_avoidance(vitals, acked) {
            return;
        }
        if vitals.cwnd_count.wrapping_mul(self.alpha) >> 7 >= vitals.cwnd {
            if vitals.cwnd < vitals.cwnd_clamp {
                vitals.cwnd += 1;
            }
            vitals.cwnd_count = 0;
            self.update_alpha(vitals.now.jiffies());
        } else {
            vitals.cwnd_count = vitals.cwnd_count.wrapping_add(self.acked);
        }
        self.acked = 1;
    }

    fn on_state(&mut self, vitals: &mut Vitals, new: CaState) {
        let jiffy = vitals.now.jiffies();
        match new {
            CaState::Open => {
                if self.before.take().is_some() {
                    self.since = jiffy;
                }
            }
            CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.before = Some(Before {
                    since: self.since,
                    most_rtt: self.rtt.most,
                    old_most_throughput: self.throughput.old_most,
                });
                self.since = jiffy;
            }
        }
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        let phase = match () {
            () if vitals.in_slow_start() => "slow_start",
            () if vitals.now.jiffies() - self.since > HZ => "fast",
            () => "avoidance",
        };
        Insight { phase, ..Insight::default() }
    }
}

/// Jiffies stay far below 2^32.
fn narrow(jiffies: u64) -> u32 {
    u32::try_from(jiffies).unwrap_or(u32::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "250")]
const HZ_32: u32 = HZ as u32;
/// 1.0 in 1/128 (`ALPHA_BASE`).
const ONE: u32 = 128;
/// 0.5 and 0.8 in 1/128.
const BETA_LEAST: u32 = 64;
const BETA_MOST: u32 = 102;
/// In jiffies, rounded up (`msecs_to_jiffies`).
const TEN_MS: u32 = 3;
const TWENTY_MS: u32 = 5;

#[cfg(test)]
mod tests;
