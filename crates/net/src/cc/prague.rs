//! Prague: DCTCP for the Internet, L4S's reference controller (draft-briscoe-iccrg-prague-congestion-control; the
//! window mode of L4STeam's `tcp_prague.c`, versions 0.6 and 0.7).
//!
//! - **What it does**: reduces a fractional window by half of `alpha`, the moving average of the share of marked
//!   packets; each ACK grows it by the share of unmarked packets, also during a reduction. Below 25 ms of round-trip
//!   time it grows as fast as at 25 ms. Paced at its rate, in bursts of at most 250 µs. A loss halves it.
//! - **Signal**: every mark, counted by AccECN (RFC 9768); its packets are ECT(1) (RFC 9331).
//! - **Works well**: behind dualpi2, or a queue of its own that marks early: full utilization, 1 ms of queue.
//! - **Works badly**: in one queue with senders that halve on a mark or a loss, which it starves.
//! - **Reference**: K. De Schepper et al., "Prague Congestion Control", 2024; RFC 9330, RFC 9331.
//!
//! ```text
//!   alpha ← alpha + (F − alpha)/16     once per round trip, or each 25 ms where that is longer
//!   W     ← W − W alpha/2              on a reported mark, at the same interval
//!   W     ← W + unmarked × s/W         with each ACK; s = (RTT/25 ms)² below 25 ms after 500 round trips, else 1
//! ```
//!
//! Without AccECN it is Reno, and its name is `prague-reno`. It does not detect classic ECN queues (Linux's default).

use super::{
    CaState, CcInfo, CcState, CongestionControl, EcnUse, Event, Parameters, RateSample, Reno, SenderState, growth, reno,
};
use crate::rate::Rate;
use crate::time::{Span, Time};
use alpha::Alpha;
use scaling::Scaling;

mod alpha;
mod scaling;
#[cfg(test)]
mod tests;

/// Prague's state for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prague {
    alpha: Alpha,
    scaling: Scaling,
    /// A burst lasts 2 to the power of minus this, in seconds (`prague_burst_shift`).
    burst_shift: u32,
    /// The window in packets, with 20 fractional bits (`frac_cwnd`).
    window: u64,
    /// The window before the last loss.
    loss_window: u64,
    /// The sender's window before the last loss.
    loss_cwnd: u32,
    /// Packets in a burst.
    burst: u32,
    /// Marks reported so far.
    marks: u64,
    /// Time of the last reduction for a mark.
    cut_at: Time,
    /// A reduction for a loss is in progress.
    in_loss: bool,
    /// Was AccECN refused?
    is_reno: bool,
}

impl Prague {
    /// State before the connection is established.
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

    /// Grows by the unmarked packets, and moves the sender's window one step towards the fractional one
    /// (`prague_update_cwnd`).
    fn update_window(&mut self, tp: &SenderState, cc: &mut CcState, delivered: u32) {
        let marks = tp.delivered_ce - self.marks;
        self.marks = tp.delivered_ce;
        self.alpha.saw_mark |= marks > 0;
        let unmarked = delivered.saturating_sub(u32::try_from(marks).unwrap_or(u32::MAX));
        if unmarked > 0 && !self.in_loss && tp.is_cwnd_limited(cc) {
            let mut left = unmarked;
            if cc.in_slow_start() {
                left = growth::slow_start(cc, unmarked);
                self.window = u64::from(cc.cwnd) << POINT;
                if left == 0 {
                    self.scaling.refresh(tp);
                    return;
                }
            }
            let increase = u64::from(left) * self.scaling.increase;
            let each = ((u128::from(increase) << POINT) + u128::from(self.window / 2)) / u128::from(self.window.max(1));
            self.window = self.window.saturating_add(u64::try_from(each).unwrap_or(u64::MAX).max(u64::from(left)));
        }
        self.step(tp, cc);
    }

    /// The sender's window follows by one packet per ACK.
    fn step(&mut self, tp: &SenderState, cc: &mut CcState) {
        let target = u32::try_from(self.window.div_ceil(ONE)).unwrap_or(u32::MAX).max(1);
        if cc.cwnd > target && cc.cwnd > MIN_WINDOW {
            cc.cwnd -= 1;
            cc.ssthresh = cc.cwnd;
            self.scaling.refresh(tp);
        } else if cc.cwnd < target && cc.cwnd < cc.cwnd_clamp {
            cc.cwnd += 1;
            self.scaling.refresh(tp);
        }
    }

    /// The window's rate, twice that early in slow start; headers count (`prague_update_pacing_rate`).
    fn update_pacing(&mut self, tp: &SenderState, cc: &mut CcState) {
        let mtu = u64::from(tp.mss + HEADERS_BYTES);
        let mut rate = (1_000_000 << 3) * mtu;
        if cc.cwnd < cc.ssthresh / 2 {
            rate <<= 1;
        }
        rate /= u64::from(tp.srtt_us8.max(1));
        let rate = (u128::from(rate) * u128::from(self.window) + u128::from(ONE / 2)) >> POINT;
        let rate = u64::try_from(rate).unwrap_or(u64::MAX >> 3).clamp(1, u64::MAX >> 3);
        let rate = Rate::from_bytes(rate).min(tp.max_pacing_rate);
        let packets = (rate.as_bytes() / mtu) >> self.burst_shift;
        self.burst = u32::try_from(packets).unwrap_or(u32::MAX).max(1);
        cc.pacing_rate = rate;
    }

    /// Reduces by half of alpha's share, once per round trip (`prague_enter_cwr`).
    fn react_to_mark(&mut self, tp: &SenderState, cc: &CcState) {
        if self.scaling.is_independent(cc) && self.scaling.target(tp) > tp.now.since(self.cut_at) {
            return;
        }
        self.cut_at = tp.now;
        let cut = (u128::from(self.alpha.share()) * u128::from(self.window) + u128::from(ONE)) >> (POINT + 1);
        self.window -= u64::try_from(cut).unwrap_or(0).min(self.window);
    }

    fn react_to_loss(&mut self, tp: &SenderState, cc: &CcState) {
        self.loss_cwnd = cc.cwnd;
        self.loss_window = self.window;
        self.window -= self.window >> 1;
        self.in_loss = true;
        self.scaling.refresh(tp);
    }
}

impl CongestionControl for Prague {
    fn name(&self) -> &'static str {
        if self.is_reno { "prague-reno" } else { "prague" }
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.is_reno = !tp.ecn;
        if self.is_reno {
            return;
        }
        cc.paced = true;
        self.window = u64::from(cc.cwnd) << POINT;
        self.marks = tp.delivered_ce;
        self.alpha.init(tp);
        self.scaling.refresh(tp);
        if tp.srtt_us8 > 0 {
            self.update_pacing(tp, cc);
        }
    }

    fn ecn_use(&self) -> EcnUse {
        EcnUse::Counted
    }

    /// Keeps the threshold: marks and losses move the fractional window.
    fn ssthresh(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        if self.is_reno { Reno.ssthresh(tp, cc) } else { cc.ssthresh }
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        if self.is_reno {
            return reno::undo_cwnd(tp, cc);
        }
        self.in_loss = false;
        self.window = self.window.max(self.loss_window);
        cc.cwnd.max(self.loss_cwnd)
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        Reno.cong_avoid(tp, cc, acked);
    }

    fn has_cong_control(&self) -> bool {
        !self.is_reno
    }

    fn cong_control(&mut self, tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        self.update_window(tp, cc, sample.acked_sacked);
        if self.alpha.is_round_over(tp) && self.scaling.may_update(tp, cc, self.alpha.updated_at) {
            self.alpha.update(tp);
            self.scaling.count_round(cc);
            self.scaling.refresh(tp);
        }
        self.update_pacing(tp, cc);
    }

    fn set_state(&mut self, tp: &SenderState, cc: &mut CcState, new: CaState) {
        if self.is_reno || new == tp.state {
            return;
        }
        match new {
            CaState::Recovery => self.react_to_loss(tp, cc),
            CaState::Cwr => self.react_to_mark(tp, cc),
            CaState::Open => self.in_loss = false,
            CaState::Disorder | CaState::Loss => {}
        }
    }

    fn cwnd_event(&mut self, tp: &SenderState, cc: &mut CcState, event: Event) {
        if event == Event::Loss && !self.is_reno {
            self.react_to_loss(tp, cc);
        }
    }

    /// 250 µs at the pacing rate (`prague_tso_segs`).
    fn tso_segments(&self) -> Option<u32> {
        (!self.is_reno).then_some(self.burst)
    }

    fn cc_info(&self, tp: &SenderState, cc: &CcState) -> CcInfo {
        let marked_share = (!self.is_reno).then(|| self.alpha.share());
        CcInfo { marked_share, ..Reno.cc_info(tp, cc) }
    }
}

/// Fractional bits of the window (`CWND_UNIT`).
const POINT: u32 = 20;
/// One packet.
const ONE: u64 = 1 << POINT;
/// Lower limit of a step (`MIN_CWND`).
const MIN_WINDOW: u32 = 2;
/// 2⁻¹² s: 244 µs.
const DEFAULT_BURST_SHIFT: u32 = 12;
/// IPv4, TCP and timestamps (`tcp_mss_to_mtu`).
const HEADERS_BYTES: u32 = 52;

/// Microseconds.
const fn micros(us: u64) -> Span {
    Span::from_micros(us)
}
