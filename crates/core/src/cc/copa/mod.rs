//! Copa: a rate of 1/(δ × queueing delay), so that every flow keeps about 1/δ packets in the queue.
//!
//! - **What it does**: each ACK moves the window by v/(δ × cwnd) packets towards the target rate; the velocity v doubles
//!   while the direction holds. It empties the queue every few round trips; where that never happens, others fill the
//!   buffer, and 1/δ grows and halves like Reno's window.
//! - **Signal it listens to**: delay: the standing round trip above the least one. Loss counts in competitive mode only.
//! - **When it does well**: low delay, random loss, flows with different round trips.
//! - **When it does badly**: where jitter hides the queue, or the least round trip is never seen.
//! - **Reference**: V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018.
//!
//! ```text
//!                 rate > target                  queue not nearly empty for 5 RTT
//!   slow start -----------------> default mode <---------------------------------> competitive mode
//! ```
//!
//! [`delays`] has the round trips, [`velocity`] v, [`mode`] δ. Where we depart from the paper: a timeout, of which it
//! says nothing, begins slow start anew; the window does not grow while the application leaves half of it unused; and a
//! velocity of more than 1 is given up at the ACK that asks for the other direction, not at the round trip's end, as the
//! deployed implementation in mvfst does it. The handshake's round trip is not counted: a SYN is shorter than data.

mod delays;
mod extremes;
mod mode;
mod velocity;

use super::{CaState, Control, INFINITE_SSTHRESH, Insight, Parameters, RateSample, Vitals};
use crate::rate::Rate;
use crate::time::Span;
use delays::Delays;
use mode::Mode;
use velocity::Velocity;

/// A flow's Copa.
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
    /// `delta_percent`: δ in hundredths.
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
        let want = u128::from(self.mode.inverse_delta()) * u128::from(standing.as_nanos()) * u128::from(PACKET);
        let have = u128::from(self.window) * u128::from(self.delays.queueing().as_nanos()) * u128::from(mode::PACKET);
        have <= want
    }

    fn steer(&mut self, vitals: &Vitals, standing: Span, acked: u32) {
        let is_below = self.is_below_target(standing);
        if self.slow_start && !is_below {
            self.slow_start = false;
            self.velocity = Velocity::new(self.window);
        }
        if is_below && !vitals.is_cwnd_limited() {
            return;
        }
        if !self.slow_start {
            self.velocity.head(is_below, self.window);
        }
        let acked = u64::from(acked);
        let step = if self.slow_start { acked * PACKET } else { self.step(acked) };
        let window = if is_below { self.window + step } else { self.window.saturating_sub(step) };
        self.window = window.clamp(LEAST * PACKET, u64::from(vitals.cwnd_clamp.min(MOST)) * PACKET);
    }

    /// v / (δ × cwnd) packets for each one acknowledged.
    fn step(&self, acked: u64) -> u64 {
        let moved = u128::from(self.velocity.value() * self.mode.inverse_delta()) * u128::from(PACKET).pow(2);
        let step = moved * u128::from(acked) / (u128::from(mode::PACKET) * u128::from(self.window.max(1)));
        u64::try_from(step).unwrap_or(u64::MAX).min(acked * PACKET)
    }

    fn end_round(&mut self, vitals: &Vitals) {
        self.round_ends = vitals.delivered;
        self.mode.end_round(self.delays.was_nearly_empty());
        if !self.slow_start {
            let most = self.window * mode::PACKET / (PACKET * self.mode.inverse_delta());
            self.velocity.end_round(self.window, most);
        }
    }

    /// Sets the window, and the pace at which it leaves: twice as fast as it is acknowledged.
    fn set(&self, vitals: &mut Vitals) {
        let packets = u32::try_from(self.window / PACKET).unwrap_or(u32::MAX);
        vitals.cwnd = packets.max(1).min(vitals.cwnd_clamp);
        if let Some(standing) = self.delays.standing() {
            let bytes = 2 * u128::from(self.window) * u128::from(vitals.mss);
            let rate = Rate::of(bytes, standing.max(Span::from_micros(1)) * PACKET);
            vitals.pacing_rate = rate.min(vitals.max_pacing_rate);
        }
    }
}

impl Control for Copa {
    fn name(&self) -> &'static str {
        "copa"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.window = u64::from(vitals.cwnd) * PACKET;
        self.round_ends = vitals.delivered;
        vitals.paced = true;
        self.set(vitals);
    }

    fn ssthresh(&mut self, _vitals: &mut Vitals) -> u32 {
        INFINITE_SSTHRESH
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        vitals.cwnd
    }

    fn controls(&self) -> bool {
        true
    }

    fn control(&mut self, vitals: &mut Vitals, sample: &RateSample) {
        if let (Some(rtt), Some(smoothed)) = (sample.rtt, vitals.srtt()) {
            self.delays.update(vitals.now, rtt, smoothed);
        }
        if sample.losses > 0 {
            self.mode.note_loss();
        }
        if sample.acked_sacked > 0 && sample.prior_delivered >= self.round_ends {
            self.end_round(vitals);
        }
        if let Some(standing) = self.delays.standing() {
            self.steer(vitals, standing, sample.acked_sacked);
        }
        self.set(vitals);
    }

    fn on_state(&mut self, _vitals: &mut Vitals, new: CaState) {
        if new == CaState::Loss {
            self.window = LEAST * PACKET;
            self.slow_start = true;
        }
    }

    fn insight(&self, _vitals: &Vitals) -> Insight {
        let phase = match (self.slow_start, self.mode.competes()) {
            (true, _) => "slow_start",
            (false, false) => "default",
            (false, true) => "competitive",
        };
        Insight { phase, ..Insight::default() }
    }
}

/// A packet of [`Copa::window`].
const PACKET: u64 = 1 << 16;
/// No window is smaller.
const LEAST: u64 = 2;
/// Nor larger, in packets.
const MOST: u32 = 1 << 24;
/// δ = 0.5.
const DELTA_PERCENT: u64 = 50;

#[cfg(test)]
mod tests;
