//! Prague: DCTCP for the Internet, L4S's reference controller (draft-briscoe-iccrg-prague-congestion-control; the window
//! mode of L4STeam's `tcp_prague.c`, versions 0.6 and 0.7).
//!
//! - **What it does**: cuts a window with a fraction by half of `alpha`, the running share of marked packets; grows with
//!   each ACK by the share that was not marked, also while it reduces. Below 25 ms of round trip it grows as if it had
//!   25 ms. Paced at its rate, in bursts of 250 µs at most. A loss halves it.
//! - **Signal it listens to**: every mark, counted by AccECN (RFC 9768); its packets are ECT(1) (RFC 9331).
//! - **When it does well**: behind dualpi2, or a queue of its own that marks early: full links, 1 ms of queue.
//! - **When it does badly**: in one queue with senders that halve at a mark or a loss, which it starves.
//! - **Reference**: K. De Schepper et al., "Prague Congestion Control", 2024; RFC 9330, RFC 9331.
//!
//! ```text
//!   alpha ← alpha + (F − alpha)/16     once a round trip, or each 25 ms where that is longer
//!   W     ← W − W alpha/2              when a mark is told, as often
//!   W     ← W + unmarked × s/W         with each ACK; s = (RTT/25 ms)² below 25 ms after 500 round trips, else 1
//! ```
//!
//! Without AccECN it is Reno, and calls itself `prague-reno`. It does not look for classic ECN queues (Linux's default).

use super::{CaState, Control, EcnUse, Event, Insight, Parameters, RateSample, Reno, Vitals, growth, reno};
use crate::rate::Rate;
use crate::time::{Span, Time};
use alpha::Alpha;
use scaling::Scaling;

mod alpha;
mod scaling;
#[cfg(test)]
mod tests;

/// A flow's Prague.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prague {
    alpha: Alpha,
    scaling: Scaling,
    /// 2 to the minus this are the seconds of a burst (`prague_burst_shift`).
    burst_shift: u32,
    /// The window in packets, with 20 bits behind its point (`frac_cwnd`).
    window: u64,
    /// And before the last loss.
    loss_window: u64,
    /// What the sender used then.
    loss_cwnd: u32,
    /// Packets in a burst.
    burst: u32,
    /// Marks told so far.
    marks: u64,
    /// When the window was last cut for a mark.
    cut_at: Time,
    /// The window is being reduced for a loss.
    in_loss: bool,
    /// Was AccECN refused?
    is_reno: bool,
}

impl Prague {
    /// Of a connection that is not established yet.
    pub fn new(parameters: &mut Parameters) -> Self {
        Self {
            alpha: Alpha::default(),
            scaling: Scaling::new(parameters),
            burst_shift: parameters.take("prague_burst_shift", DEFAULT_BURST_SHIFT, 0..=31),
            window: 0,
            loss_window: 0,
            loss_cwnd: 0,
            burst: 1,
            marks: 0,
            cut_at: Time::ZERO,
            in_loss: false,
            is_reno: false,
        }
    }

    /// Grows by what was not marked, and takes one step towards the window with the fraction (`prague_update_cwnd`).
    fn update_window(&mut self, vitals: &mut Vitals, delivered: u32) {
        let marks = vitals.delivered_ce - self.marks;
        self.marks = vitals.delivered_ce;
        self.alpha.saw_mark |= marks > 0;
        let unmarked = delivered.saturating_sub(u32::try_from(marks).unwrap_or(u32::MAX));
        if unmarked > 0 && !self.in_loss && vitals.is_cwnd_limited() {
            let mut left = unmarked;
            if vitals.in_slow_start() {
                left = growth::slow_start(vitals, unmarked);
                self.window = u64::from(vitals.cwnd) << POINT;
                if left == 0 {
                    self.scaling.refresh(vitals);
                    return;
                }
            }
            let increase = u64::from(left) * self.scaling.increase;
            let each = ((u128::from(increase) << POINT) + u128::from(self.window / 2)) / u128::from(self.window.max(1));
            self.window = self.window.saturating_add(u64::try_from(each).unwrap_or(u64::MAX).max(u64::from(left)));
        }
        self.step(vitals);
    }

    /// The sender's window follows one packet an ACK.
    fn step(&mut self, vitals: &mut Vitals) {
        let wanted = u32::try_from(self.window.div_ceil(ONE)).unwrap_or(u32::MAX).max(1);
        if vitals.cwnd > wanted && vitals.cwnd > LEAST_WINDOW {
            vitals.cwnd -= 1;
            vitals.ssthresh = vitals.cwnd;
            self.scaling.refresh(vitals);
        } else if vitals.cwnd < wanted && vitals.cwnd < vitals.cwnd_clamp {
            vitals.cwnd += 1;
            self.scaling.refresh(vitals);
        }
    }

    /// At the window's rate, twice that early in slow start; headers count (`prague_update_pacing_rate`).
    fn update_pacing(&mut self, vitals: &mut Vitals) {
        let mtu = u64::from(vitals.mss + HEADERS_BYTES);
        let mut rate = (1_000_000 << 3) * mtu;
        if vitals.cwnd < vitals.ssthresh / 2 {
            rate <<= 1;
        }
        rate /= u64::from(vitals.srtt_us8.max(1));
        let rate = (u128::from(rate) * u128::from(self.window) + u128::from(ONE / 2)) >> POINT;
        let rate = u64::try_from(rate).unwrap_or(u64::MAX >> 3).clamp(1, u64::MAX >> 3);
        let rate = Rate::from_bytes(rate).min(vitals.max_pacing_rate);
        let packets = (rate.as_bytes() / mtu) >> self.burst_shift;
        self.burst = u32::try_from(packets).unwrap_or(u32::MAX).max(1);
        vitals.pacing_rate = rate;
    }

    /// Half of alpha's share, once a round trip (`prague_enter_cwr`).
    fn answer_mark(&mut self, vitals: &Vitals) {
        if self.scaling.is_independent(vitals) && self.scaling.target(vitals) > vitals.now.since(self.cut_at) {
            return;
        }
        self.cut_at = vitals.now;
        let cut = (u128::from(self.alpha.share()) * u128::from(self.window) + u128::from(ONE)) >> (POINT + 1);
        self.window -= u64::try_from(cut).unwrap_or(0).min(self.window);
    }

    fn answer_loss(&mut self, vitals: &Vitals) {
        self.loss_cwnd = vitals.cwnd;
        self.loss_window = self.window;
        self.window -= self.window >> 1;
        self.in_loss = true;
        self.scaling.refresh(vitals);
    }
}

impl Control for Prague {
    fn name(&self) -> &'static str {
        if self.is_reno { "prague-reno" } else { "prague" }
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.is_reno = !vitals.ecn;
        if self.is_reno {
            return;
        }
        vitals.paced = true;
        self.window = u64::from(vitals.cwnd) << POINT;
        self.marks = vitals.delivered_ce;
        self.alpha.start(vitals);
        self.scaling.refresh(vitals);
        if vitals.srtt_us8 > 0 {
            self.update_pacing(vitals);
        }
    }

    fn ecn_use(&self) -> EcnUse {
        EcnUse::Counted
    }

    /// The threshold stays: marks and losses move the window with the fraction.
    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        if self.is_reno { Reno.ssthresh(vitals) } else { vitals.ssthresh }
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        if self.is_reno {
            return reno::undo_cwnd(vitals);
        }
        self.in_loss = false;
        self.window = self.window.max(self.loss_window);
        vitals.cwnd.max(self.loss_cwnd)
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        Reno.avoid(vitals, acked);
    }

    fn controls(&self) -> bool {
        !self.is_reno
    }

    fn control(&mut self, vitals: &mut Vitals, sample: &RateSample) {
        self.update_window(vitals, sample.acked_sacked);
        if self.alpha.is_round_over(vitals) && self.scaling.is_due(vitals, self.alpha.updated_at) {
            self.alpha.update(vitals);
            self.scaling.count_round(vitals);
            self.scaling.refresh(vitals);
        }
        self.update_pacing(vitals);
    }

    fn on_state(&mut self, vitals: &mut Vitals, new: CaState) {
        if self.is_reno || new == vitals.state {
            return;
        }
        match new {
            CaState::Recovery => self.answer_loss(vitals),
            CaState::Cwr => self.answer_mark(vitals),
            CaState::Open => self.in_loss = false,
            CaState::Disorder | CaState::Loss => {}
        }
    }

    fn on_event(&mut self, vitals: &mut Vitals, event: Event) {
        if event == Event::Loss && !self.is_reno {
            self.answer_loss(vitals);
        }
    }

    /// 250 µs at the pacing rate (`prague_tso_segs`).
    fn tso_segments(&self) -> Option<u32> {
        (!self.is_reno).then_some(self.burst)
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        let marked_share = (!self.is_reno).then(|| self.alpha.share());
        Insight { marked_share, ..Reno.insight(vitals) }
    }
}

/// Bits behind the window's point (`CWND_UNIT`).
const POINT: u32 = 20;
/// A packet.
const ONE: u64 = 1 << POINT;
/// No step goes below (`MIN_CWND`).
const LEAST_WINDOW: u32 = 2;
/// 2⁻¹² s: 244 µs.
const DEFAULT_BURST_SHIFT: u32 = 12;
/// IPv4, TCP and timestamps (`tcp_mss_to_mtu`).
const HEADERS_BYTES: u32 = 52;

/// So many microseconds.
const fn micros(us: u64) -> Span {
    Span::from_micros(us)
}
