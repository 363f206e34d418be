//! LEDBAT++: background transfers that yield to all other traffic.
//!
//! - **What it does**: Reno's growth times a gain while the queueing delay is below a target of 60 ms, a decrease in
//!   proportion to the window above it; and periodic slowdowns to two packets, to measure the empty path.
//! - **Signal**: delay (round-trip times above the minimum of the last ten minutes), and loss as in Reno.
//! - **Works well**: updates and backups with buffers of more than 60 ms.
//! - **Works badly**: in buffers that never reach the target, where it is a slow Reno; behind an AQM.
//! - **Reference**: draft-irtf-iccrg-ledbat-plus-plus; RFC 6817 for base delay and filter.
//!
//! ```text
//!            delay > 3/4 target, or loss      2 RTT later           2 RTT later          cwnd = ssthresh
//!   initial ----------------------------> due -----------> frozen --------------> ramp ------------------+
//!   slow start                             ^               at 2 packets                                  |
//!                                          +------- 9 times as long as frozen and ramp took -------------+
//! ```
//!
//! [`delays`] has the base delay and the filter. The initial window is the host's, not the draft's two packets.

mod delays;

use super::{AckSample, CaState, CcInfo, CcState, CongestionControl, Parameters, SenderState, growth, reno};
use crate::time::{Span, Time};
use delays::Delays;

/// LEDBAT++'s state for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedbatPp {
    target: Span,
    delays: Delays,
    slowdown: Slowdown,
    /// Accumulated decreases, in 1/65536 packets.
    decrease: u64,
    /// Lower limit of the window in this round trip.
    floor: u32,
    /// The round trip ends when this byte is acknowledged.
    round_ends: u64,
}

/// State between two slowdowns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slowdown {
    /// No slowdown scheduled yet: initial slow start.
    NotYet,
    /// The next slowdown begins at this time.
    Due(Time),
    /// Two packets until then.
    Frozen { since: Time, until: Time },
    /// Slow start back to the previous window.
    Ramp { since: Time },
}

impl LedbatPp {
    /// Parameter `target` in nanoseconds.
    pub fn new(parameters: &mut Parameters) -> Self {
        let target = parameters.take("target", TARGET.as_nanos(), 1_000_000..=1_000_000_000);
        Self {
            target: Span::from_nanos(target),
            delays: Delays::default(),
            slowdown: Slowdown::NotYet,
            decrease: 0,
            floor: MIN_CWND,
            round_ends: 0,
        }
    }

    /// 1/GAIN = min(16, ⌈2 × target / base⌉): short paths grow slowly, so that many flows together still yield.
    fn inverse_gain(&self, base: Span) -> u32 {
        let ratio = (2 * self.target.as_nanos()).div_ceil(base.as_nanos().max(1));
        u32::try_from(ratio.clamp(1, MIN_GAIN)).unwrap_or(1)
    }

    /// Moves between slowdown states; returns whether the window is frozen.
    fn is_frozen(&mut self, tp: &SenderState, cc: &mut CcState) -> bool {
        match self.slowdown {
            Slowdown::Due(at) if tp.now >= at => self.slow_down(tp, cc),
            Slowdown::Frozen { since, until } if tp.now >= until => self.slowdown = Slowdown::Ramp { since },
            _ => {}
        }
        matches!(self.slowdown, Slowdown::Frozen { .. })
    }

    fn slow_down(&mut self, tp: &SenderState, cc: &mut CcState) {
        let until = tp.now + tp.srtt().unwrap_or_default() * FROZEN_RTTS;
        self.slowdown = Slowdown::Frozen { since: tp.now, until };
        cc.ssthresh = cc.cwnd.max(MIN_CWND);
        cc.cwnd = MIN_CWND.min(cc.cwnd_clamp);
        (cc.cwnd_count, self.decrease) = (0, 0);
    }

    /// Schedules the next slowdown at the end of slow start.
    fn schedule(&mut self, tp: &SenderState) {
        self.slowdown = match self.slowdown {
            Slowdown::NotYet => Slowdown::Due(tp.now + tp.srtt().unwrap_or_default() * FIRST_SLOWDOWN_RTTS),
            Slowdown::Ramp { since } => Slowdown::Due(tp.now + tp.now.since(since) * PAUSE_FACTOR),
            other => other,
        };
    }

    /// The initial slow start ends before the queue reaches the target.
    fn leaves_slow_start(&self, delay: Span) -> bool {
        self.slowdown == Slowdown::NotYet && delay.as_nanos() * 4 > self.target.as_nanos() * 3
    }

    /// GAIN − cwnd × (delay/target − 1) packets per round trip, at most half the window.
    fn retreat(&mut self, tp: &SenderState, cc: &mut CcState, delay: Span, inverse_gain: u32, acked: u32) {
        if tp.snd_una >= self.round_ends {
            self.round_ends = tp.snd_nxt;
            self.floor = (cc.cwnd / 2).max(MIN_CWND);
        }
        let target = u128::from(self.target.as_nanos());
        let excess = u128::from(delay.saturating_sub(self.target).as_nanos()) * PACKET / target;
        let gain = PACKET / (u128::from(inverse_gain) * u128::from(cc.cwnd.max(1)));
        let shares = u128::from(acked) * excess.saturating_sub(gain);
        self.decrease = self.decrease.saturating_add(u64::try_from(shares).unwrap_or(u64::MAX));
        let packets = u128::from(self.decrease) / PACKET;
        self.decrease = u64::try_from(u128::from(self.decrease) % PACKET).unwrap_or(0);
        let packets = u32::try_from(packets).unwrap_or(u32::MAX);
        cc.cwnd = cc.cwnd.saturating_sub(packets).max(self.floor).min(cc.cwnd);
        // A window below its threshold would be in slow start.
        cc.ssthresh = cc.ssthresh.min(cc.cwnd.max(MIN_CWND));
        cc.cwnd_count = 0;
    }
}

impl CongestionControl for LedbatPp {
    fn name(&self) -> &'static str {
        "ledbat++"
    }

    fn init(&mut self, _tp: &SenderState, _cc: &mut CcState) {}

    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        (cc.cwnd / 2).max(MIN_CWND)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn pkts_acked(&mut self, tp: &SenderState, _cc: &mut CcState, sample: &AckSample) {
        if let Some(rtt) = sample.rtt {
            self.delays.update(tp.now, rtt);
        }
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        let Some((base, delay)) = self.delays.base_and_queueing() else { return };
        if self.is_frozen(tp, cc) {
            return;
        }
        if cc.in_slow_start() && self.leaves_slow_start(delay) {
            cc.ssthresh = cc.cwnd.max(MIN_CWND);
        }
        let inverse_gain = self.inverse_gain(base);
        if cc.in_slow_start() {
            if tp.is_cwnd_limited(cc) {
                growth::additive_increase(cc, inverse_gain, acked);
                cc.cwnd = cc.cwnd.min(cc.ssthresh);
            }
            return;
        }
        self.schedule(tp);
        if delay > self.target {
            self.retreat(tp, cc, delay, inverse_gain, acked);
        } else if tp.is_cwnd_limited(cc) {
            self.decrease = 0;
            growth::additive_increase(cc, cc.cwnd.saturating_mul(inverse_gain), acked);
        }
    }

    fn set_state(&mut self, _tp: &SenderState, _cc: &mut CcState, new: CaState) {
        if new == CaState::Loss {
            self.decrease = 0;
        }
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        let phase = match self.slowdown {
            Slowdown::Frozen { .. } => "slowdown",
            Slowdown::Ramp { .. } => "ramp_up",
            _ if cc.in_slow_start() => "slow_start",
            _ => "avoidance",
        };
        CcInfo { phase, ..CcInfo::default() }
    }
}

/// One packet in the unit of [`LedbatPp::decrease`].
const PACKET: u128 = 1 << 16;
/// The draft's target for the queueing delay.
const TARGET: Span = Span::from_millis(60);
/// Minimum window.
const MIN_CWND: u32 = 2;
/// GAIN is at least a sixteenth.
const MIN_GAIN: u64 = 16;
/// Round trips from the end of the initial slow start to the first slowdown.
const FIRST_SLOWDOWN_RTTS: u64 = 2;
/// Round trips at two packets.
const FROZEN_RTTS: u64 = 2;
/// A slowdown takes a tenth of the time.
const PAUSE_FACTOR: u64 = 9;

#[cfg(test)]
mod tests;
