//! Copa: a rate of 1/(δ × queueing delay), so that every flow keeps about 1/δ packets in the queue.
//!
//! - **What it does**: each ACK moves the window by v/(δ × cwnd) packets towards the target rate; the velocity v
//!   doubles while the direction stays the same. Copa empties the queue every few round trips. If the queue never
//!   empties, other flows fill the buffer, and 1/δ grows and halves like Reno's window.
//! - **Signal**: delay: the standing round-trip time minus the minimum. Loss counts in competitive mode only.
//! - **Works well**: low delay, random loss, flows with different round trips.
//! - **Works badly**: where jitter hides the queue, or the minimum round-trip time is never observed.
//! - **Reference**: V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI
//!   2018.
//!
//! ```text
//!                 rate > target                  queue not nearly empty for 5 RTT
//!   slow start -----------------> default mode <---------------------------------> competitive mode
//! ```
//!
//! [`delays`] has the round-trip times, [`velocity`] v, [`mode`] δ. Differences from the paper: a timeout, which the
//! paper does not cover, restarts slow start; the window does not grow while the application leaves half of it unused;
//! and a velocity above 1 is reset at the ACK that reverses the direction, not at the end of the round trip, as in
//! mvfst. The handshake's round-trip time is ignored: a SYN is shorter than data.

mod delays;
mod extremes;
mod mode;
mod velocity;

use super::{CaState, CcInfo, CcState, CongestionControl, INFINITE_SSTHRESH, Parameters, RateSample, SenderState};
use crate::rate::Rate;
use crate::time::Span;
use delays::Delays;
use mode::Mode;
use velocity::Velocity;

/// Copa's state for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copa {
    delays: Delays,
    mode: Mode,
    velocity: Velocity,
    /// The window in 1/65536 packets.
    window: u64,
    slow_start: bool,
    /// `delivered` at which the round trip ends.
    round_ends: u64,
}

impl Copa {
    /// Parameter `delta_percent`: δ in hundredths.
    pub fn new(parameters: &mut Parameters) -> Self {
        let delta_percent = parameters.take("delta_percent", DELTA_PERCENT, 1..=1_000);
        Self {
            delays: Delays::new(),
            mode: Mode::new((mode::PACKET * 100).div_ceil(delta_percent)),
            velocity: Velocity::new(0),
            window: 0,
            slow_start: true,
            round_ends: 0,
        }
    }

    /// Is the rate below the target: cwnd / standing <= 1 / (δ × queueing)?
    fn is_below_target(&self, standing: Span) -> bool {
        let needed = u128::from(self.mode.inverse_delta()) * u128::from(standing.as_nanos()) * u128::from(PACKET);
        let have = u128::from(self.window) * u128::from(self.delays.queueing().as_nanos()) * u128::from(mode::PACKET);
        have <= needed
    }

    fn steer(&mut self, tp: &SenderState, cc: &CcState, standing: Span, acked: u32) {
        let is_below = self.is_below_target(standing);
        if self.slow_start && !is_below {
            self.slow_start = false;
            self.velocity = Velocity::new(self.window);
        }
        if is_below && !tp.is_cwnd_limited(cc) {
            return;
        }
        if !self.slow_start {
            self.velocity.set_direction(is_below, self.window);
        }
        let acked = u64::from(acked);
        let step = if self.slow_start { acked * PACKET } else { self.step(acked) };
        let window = if is_below { self.window + step } else { self.window.saturating_sub(step) };
        self.window = window.clamp(MIN_CWND * PACKET, u64::from(cc.cwnd_clamp.min(MAX_CWND)) * PACKET);
    }

    /// v / (δ × cwnd) packets for each acknowledged one.
    fn step(&self, acked: u64) -> u64 {
        let moved = u128::from(self.velocity.value() * self.mode.inverse_delta()) * u128::from(PACKET).pow(2);
        let step = moved * u128::from(acked) / (u128::from(mode::PACKET) * u128::from(self.window.max(1)));
        u64::try_from(step).unwrap_or(u64::MAX).min(acked * PACKET)
    }

    fn end_round(&mut self, tp: &SenderState) {
        self.round_ends = tp.delivered;
        self.mode.end_round(self.delays.was_nearly_empty());
        if !self.slow_start {
            let maximum = self.window * mode::PACKET / (PACKET * self.mode.inverse_delta());
            self.velocity.end_round(self.window, maximum);
        }
    }

    /// Sets the window, and the pacing rate to twice the window per standing round-trip time.
    fn set(&self, tp: &SenderState, cc: &mut CcState) {
        let packets = u32::try_from(self.window / PACKET).unwrap_or(u32::MAX);
        cc.cwnd = packets.max(1).min(cc.cwnd_clamp);
        if let Some(standing) = self.delays.standing() {
            let bytes = 2 * u128::from(self.window) * u128::from(tp.mss);
            let rate = Rate::of(bytes, standing.max(Span::from_micros(1)) * PACKET);
            cc.pacing_rate = rate.min(tp.max_pacing_rate);
        }
    }
}

impl CongestionControl for Copa {
    fn name(&self) -> &'static str {
        "copa"
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.window = u64::from(cc.cwnd) * PACKET;
        self.round_ends = tp.delivered;
        cc.paced = true;
        self.set(tp, cc);
    }

    fn ssthresh(&mut self, _tp: &SenderState, _cc: &mut CcState) -> u32 {
        INFINITE_SSTHRESH
    }

    fn undo_cwnd(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        cc.cwnd
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        if let (Some(rtt), Some(smoothed)) = (sample.rtt, tp.srtt()) {
            self.delays.update(tp.now, rtt, smoothed);
        }
        if sample.losses > 0 {
            self.mode.note_loss();
        }
        if sample.acked_sacked > 0 && sample.prior_delivered >= self.round_ends {
            self.end_round(tp);
        }
        if let Some(standing) = self.delays.standing() {
            self.steer(tp, cc, standing, sample.acked_sacked);
        }
        self.set(tp, cc);
    }

    fn set_state(&mut self, _tp: &SenderState, _cc: &mut CcState, new: CaState) {
        if new == CaState::Loss {
            self.window = MIN_CWND * PACKET;
            self.slow_start = true;
        }
    }

    fn cc_info(&self, _tp: &SenderState, _cc: &CcState) -> CcInfo {
        let phase = match (self.slow_start, self.mode.competes()) {
            (true, _) => "slow_start",
            (false, false) => "default",
            (false, true) => "competitive",
        };
        CcInfo { phase, ..CcInfo::default() }
    }
}

/// A packet in the unit of [`Copa::window`].
const PACKET: u64 = 1 << 16;
/// Minimum window in packets.
const MIN_CWND: u64 = 2;
/// Maximum window in packets.
const MAX_CWND: u32 = 1 << 24;
/// δ = 0.5.
const DELTA_PERCENT: u64 = 50;

#[cfg(test)]
mod tests;
