//! HyStart++: slow start with a second check before it ends (RFC 9406), for Reno and CUBIC.
//!
//! - **What it does**: when the round-trip time grows by an eighth, continues four times more slowly for up to five
//!   rounds (conservative slow start, CSS); if the round-trip time falls again, the exit was premature and slow start
//!   resumes.
//! - **Signal**: each round's minimum round-trip time, compared with the previous round's.
//! - **Works well**: large windows with any buffer: it leaves before the buffer overflows, and jitter causes no final
//!   exit.
//! - **Works badly**: windows below its eight samples per round; unpaced senders, whose window grows by at most eight
//!   packets per ACK.
//! - **Reference**: RFC 9406 (P. Balasubramanian, Y. Huang, M. Olson, 2023).
//!
//! ```text
//!              RTT + threshold                    five rounds
//!   slow start ----------------> conservative -------------------> avoidance: ssthresh = cwnd
//!       ^                             |
//!       +------ RTT below baseline ---+            a loss or a mark ends it at any time
//! ```
//!
//! It applies to the first slow start only (section 4.3); the wrapped controller handles loss and avoidance.

use super::{
    AckSample, CaState, CcInfo, CcState, CongestionControl, EcnUse, Event, INFINITE_SSTHRESH, RateSample, SenderState,
    Stamps,
};

#[cfg(test)]
mod tests;

/// A controller with HyStart++ in front.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HyStartPp<C> {
    inner: C,
    phase: Phase,
    /// The round ends when this byte has been acknowledged (`windowEnd`).
    round_end: u64,
    /// Minimum round-trip time of this round, in microseconds; None before its first sample.
    round_min_us: Option<u32>,
    /// Minimum of the previous round.
    last_min_us: Option<u32>,
    /// Samples in this round, up to [`SAMPLES`].
    samples: u8,
    /// Quarters of a packet by which the window may still grow.
    credit: u32,
}

/// The phase of HyStart++.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Slow start.
    #[default]
    Fast,
    /// CSS: rounds so far, and the round-trip time at which it began.
    Conservative { rounds: u8, baseline_us: u32 },
    /// Slow start has ended for good.
    Over,
}

impl<C: CongestionControl> HyStartPp<C> {
    /// Wraps a controller.
    pub fn wrap(inner: C) -> Self {
        Self { inner, phase: Phase::Fast, round_end: 0, round_min_us: None, last_min_us: None, samples: 0, credit: 0 }
    }

    fn sample(&mut self, rtt_us: u32) {
        self.round_min_us = Some(self.round_min_us.map_or(rtt_us, |minimum| minimum.min(rtt_us)));
        self.samples = (self.samples + 1).min(SAMPLES);
        let (Some(now_us), true) = (self.round_min_us, self.samples == SAMPLES) else { return };
        match (self.phase, self.last_min_us) {
            (Phase::Fast, Some(last_us)) if now_us >= last_us.saturating_add(threshold_us(last_us)) => {
                self.phase = Phase::Conservative { rounds: 0, baseline_us: now_us };
            }
            (Phase::Conservative { baseline_us, .. }, _) if now_us < baseline_us => self.phase = Phase::Fast,
            _ => {}
        }
    }

    fn end_round(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.round_end = tp.snd_nxt;
        (self.last_min_us, self.round_min_us, self.samples) = (self.round_min_us.take(), None, 0);
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds >= MAX_ROUNDS {
                self.phase = Phase::Over;
                cc.ssthresh = cc.cwnd;
            }
        }
    }

    /// One packet per acknowledged one, a quarter in CSS; at most `L` per ACK unless paced.
    fn grow(&mut self, cc: &mut CcState, acked: u32) {
        let acked = if cc.paced { acked } else { acked.min(MAX_AT_ONCE) };
        self.credit += if self.phase == Phase::Fast { acked * GROWTH_DIVISOR } else { acked };
        cc.cwnd = cc.cwnd.saturating_add(self.credit / GROWTH_DIVISOR).min(cc.cwnd_clamp);
        self.credit %= GROWTH_DIVISOR;
    }

    /// Is a threshold set for any reason? Then the first slow start is over.
    fn is_over(&mut self, cc: &CcState) -> bool {
        if cc.ssthresh < INFINITE_SSTHRESH {
            self.phase = Phase::Over;
        }
        self.phase == Phase::Over
    }
}

/// An eighth of the round-trip time, limited to 4 to 16 ms.
fn threshold_us(rtt_us: u32) -> u32 {
    (rtt_us / RTT_DIVISOR).clamp(MIN_THRESHOLD_US, MAX_THRESHOLD_US)
}

impl<C: CongestionControl> CongestionControl for HyStartPp<C> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        self.round_end = tp.snd_nxt;
        self.inner.init(tp, cc);
    }

    fn ssthresh(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        self.inner.ssthresh(tp, cc)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        self.inner.undo_cwnd(tp, cc)
    }

    fn ecn_use(&self) -> EcnUse {
        self.inner.ecn_use()
    }

    fn on_timestamps(&mut self, stamps: Stamps) {
        self.inner.on_timestamps(stamps);
    }

    fn pkts_acked(&mut self, tp: &SenderState, cc: &mut CcState, sample: &AckSample) {
        if !self.is_over(cc) {
            if let Some(rtt) = sample.rtt {
                self.sample(u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX));
            }
            if tp.snd_una >= self.round_end {
                self.end_round(tp, cc);
            }
        }
        self.inner.pkts_acked(tp, cc, sample);
    }

    fn in_ack_event(&mut self, tp: &SenderState, cc: &mut CcState, is_plain: bool) {
        self.inner.in_ack_event(tp, cc, is_plain);
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        if self.is_over(cc) {
            self.inner.cong_avoid(tp, cc, acked);
        } else if tp.is_cwnd_limited(cc) {
            self.grow(cc, acked);
        }
    }

    fn has_cong_control(&self) -> bool {
        self.inner.has_cong_control()
    }

    fn cong_control(&mut self, tp: &SenderState, cc: &mut CcState, sample: &RateSample) {
        self.inner.cong_control(tp, cc, sample);
    }

    fn set_state(&mut self, tp: &SenderState, cc: &mut CcState, new: CaState) {
        self.inner.set_state(tp, cc, new);
    }

    fn cwnd_event(&mut self, tp: &SenderState, cc: &mut CcState, event: Event) {
        self.inner.cwnd_event(tp, cc, event);
    }

    fn cc_info(&self, tp: &SenderState, cc: &CcState) -> CcInfo {
        let cc_info = self.inner.cc_info(tp, cc);
        match self.phase {
            Phase::Conservative { .. } if cc.in_slow_start() => CcInfo { phase: "conservative_slow_start", ..cc_info },
            _ => cc_info,
        }
    }
}

/// `MIN_RTT_THRESH`.
const MIN_THRESHOLD_US: u32 = 4_000;
/// `MAX_RTT_THRESH`.
const MAX_THRESHOLD_US: u32 = 16_000;
/// `MIN_RTT_DIVISOR`.
const RTT_DIVISOR: u32 = 8;
/// `N_RTT_SAMPLE`.
const SAMPLES: u8 = 8;
/// `CSS_GROWTH_DIVISOR`.
const GROWTH_DIVISOR: u32 = 4;
/// `CSS_ROUNDS`.
const MAX_ROUNDS: u8 = 5;
/// `L`, for senders that are not paced.
const MAX_AT_ONCE: u32 = 8;
