//! LEDBAT++: transfers that nobody waits for, which leave the path to all others.
//!
//! - **What it does**: Reno's growth times a gain while the queue's delay is below a target of 60 ms, a decrease in
//!   proportion to the window above it; and every now and then a slowdown to two packets, so that the empty path is seen.
//! - **Signal it listens to**: delay (round trips above the least of the last ten minutes), and loss as Reno does.
//! - **When it does well**: updates and backups behind buffers of more than 60 ms.
//! - **When it does badly**: in buffers that never hold the target, where it is a slow Reno; behind an AQM.
//! - **Reference**: draft-irtf-iccrg-ledbat-plus-plus; RFC 6817 for base delay and filter.
//!
//! ```text
//!            delay > 3/4 target, or loss      2 RTT later           2 RTT later          cwnd = ssthresh
//!   initial ----------------------------> due -----------> frozen --------------> ramp ------------------+
//!   slow start                             ^               at 2 packets                                  |
//!                                          +------- 9 times as long as frozen and ramp took -------------+
//! ```
//!
//! [`delays`] has the base delay and the filter. The sender's initial window is its host's, not the draft's two packets.

mod delays;

use super::{AckSample, CaState, Control, Insight, Parameters, Vitals, growth, reno};
use crate::time::{Span, Time};
use delays::Delays;

/// A flow's LEDBAT++.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedbatPp {
    target: Span,
    delays: Delays,
    slowdown: Slowdown,
    /// What decreases have added up to, in 1/65536 packets.
    decrease: u64,
    /// In this round trip the window falls no lower.
    floor: u32,
    /// The round trip ends when this byte is acknowledged.
    round_ends: u64,
}

/// Where it stands between two slowdowns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slowdown {
    /// Before the first one is due: initial slow start.
    NotYet,
    /// It begins at this time.
    Due(Time),
    /// Two packets until then.
    Frozen { since: Time, until: Time },
    /// Slow start back to the window before.
    Ramp { since: Time },
}

impl LedbatPp {
    /// `target` in nanoseconds.
    pub fn new(parameters: &mut Parameters) -> Self {
        let target = parameters.take("target", TARGET.as_nanos(), 1_000_000..=1_000_000_000);
        Self {
            target: Span::from_nanos(target),
            delays: Delays::default(),
            slowdown: Slowdown::NotYet,
            decrease: 0,
            floor: LEAST,
            round_ends: 0,
        }
    }

    /// 1/GAIN = min(16, ⌈2 × target / base⌉): short paths grow slowly, so that many flows together stay polite.
    fn inverse_gain(&self, base: Span) -> u32 {
        let ratio = (2 * self.target.as_nanos()).div_ceil(base.as_nanos().max(1));
        u32::try_from(ratio.clamp(1, LEAST_GAIN)).unwrap_or(1)
    }

    /// Moves between slowdowns; says whether the window stands still now.
    fn is_frozen(&mut self, vitals: &mut Vitals) -> bool {
        match self.slowdown {
            Slowdown::Due(at) if vitals.now >= at => self.slow_down(vitals),
            Slowdown::Frozen { since, until } if vitals.now >= until => self.slowdown = Slowdown::Ramp { since },
            _ => {}
        }
        matches!(self.slowdown, Slowdown::Frozen { .. })
    }

    fn slow_down(&mut self, vitals: &mut Vitals) {
        let until = vitals.now + vitals.srtt().unwrap_or_default() * FROZEN_RTTS;
        self.slowdown = Slowdown::Frozen { since: vitals.now, until };
        vitals.ssthresh = vitals.cwnd.max(LEAST);
        vitals.cwnd = LEAST.min(vitals.cwnd_clamp);
        (vitals.cwnd_count, self.decrease) = (0, 0);
    }

    /// Slow start is over: when is the next slowdown?
    fn schedule(&mut self, vitals: &Vitals) {
        self.slowdown = match self.slowdown {
            Slowdown::NotYet => Slowdown::Due(vitals.now + vitals.srtt().unwrap_or_default() * FIRST_SLOWDOWN_RTTS),
            Slowdown::Ramp { since } => Slowdown::Due(vitals.now + vitals.now.since(since) * PAUSE_FACTOR),
            other => other,
        };
    }

    /// The initial slow start ends before the queue reaches the target.
    fn leaves_slow_start(&self, delay: Span) -> bool {
        self.slowdown == Slowdown::NotYet && delay.as_nanos() * 4 > self.target.as_nanos() * 3
    }

    /// Per round trip GAIN − cwnd × (delay/target − 1) packets, and half the window at most.
    fn retreat(&mut self, vitals: &mut Vitals, delay: Span, inverse_gain: u32, acked: u32) {
        if vitals.snd_una >= self.round_ends {
            self.round_ends = vitals.snd_nxt;
            self.floor = (vitals.cwnd / 2).max(LEAST);
        }
        let target = u128::from(self.target.as_nanos());
        let excess = u128::from(delay.saturating_sub(self.target).as_nanos()) * PACKET / target;
        let gain = PACKET / (u128::from(inverse_gain) * u128::from(vitals.cwnd.max(1)));
        let shares = u128::from(acked) * excess.saturating_sub(gain);
        self.decrease = self.decrease.saturating_add(u64::try_from(shares).unwrap_or(u64::MAX));
        let whole = u128::from(self.decrease) / PACKET;
        self.decrease = u64::try_from(u128::from(self.decrease) % PACKET).unwrap_or(0);
        let whole = u32::try_from(whole).unwrap_or(u32::MAX);
        vitals.cwnd = vitals.cwnd.saturating_sub(whole).max(self.floor).min(vitals.cwnd);
        // Below its threshold a window would be in slow start.
        vitals.ssthresh = vitals.ssthresh.min(vitals.cwnd.max(LEAST));
        vitals.cwnd_count = 0;
    }
}

impl Control for LedbatPp {
    fn name(&self) -> &'static str {
        "ledbat++"
    }

    fn start(&mut self, _vitals: &mut Vitals) {}

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        (vitals.cwnd / 2).max(LEAST)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn on_acked(&mut self, vitals: &mut Vitals, sample: &AckSample) {
        if let Some(rtt) = sample.rtt {
            self.delays.update(vitals.now, rtt);
        }
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        let Some((base, delay)) = self.delays.base_and_queueing() else { return };
        if self.is_frozen(vitals) {
            return;
        }
        if vitals.in_slow_start() && self.leaves_slow_start(delay) {
            vitals.ssthresh = vitals.cwnd.max(LEAST);
        }
        let inverse_gain = self.inverse_gain(base);
        if vitals.in_slow_start() {
            if vitals.is_cwnd_limited() {
                growth::additive_increase(vitals, inverse_gain, acked);
                vitals.cwnd = vitals.cwnd.min(vitals.ssthresh);
            }
            return;
        }
        self.schedule(vitals);
        if delay > self.target {
            self.retreat(vitals, delay, inverse_gain, acked);
        } else if vitals.is_cwnd_limited() {
            self.decrease = 0;
            growth::additive_increase(vitals, vitals.cwnd.saturating_mul(inverse_gain), acked);
        }
    }

    fn on_state(&mut self, _vitals: &mut Vitals, new: CaState) {
        if new == CaState::Loss {
            self.decrease = 0;
        }
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        let phase = match self.slowdown {
            Slowdown::Frozen { .. } => "slowdown",
            Slowdown::Ramp { .. } => "ramp_up",
            _ if vitals.in_slow_start() => "slow_start",
            _ => "avoidance",
        };
        Insight { phase, ..Insight::default() }
    }
}

/// One packet of [`LedbatPp::decrease`].
const PACKET: u128 = 1 << 16;
/// The draft's target for the queue's delay.
const TARGET: Span = Span::from_millis(60);
/// No window is smaller.
const LEAST: u32 = 2;
/// GAIN is a sixteenth at least.
const LEAST_GAIN: u64 = 16;
/// Round trips from the end of the initial slow start to the first slowdown.
const FIRST_SLOWDOWN_RTTS: u64 = 2;
/// Round trips at two packets.
const FROZEN_RTTS: u64 = 2;
/// A slowdown takes a tenth of the time.
const PAUSE_FACTOR: u64 = 9;

#[cfg(test)]
mod tests;
