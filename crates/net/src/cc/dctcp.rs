//! DCTCP: reduces the window in proportion to the share of marked packets (RFC 8257 as in Linux's `tcp_dctcp.c`).
//!
//! - **What it does**: grows as Reno; once per round trip with marks, reduces the window by half of `alpha`, the moving
//!   average of the share of marked packets. A loss halves it.
//! - **Signal**: every ECN mark; the receiver mirrors them (RFC 8257 section 3.2).
//! - **Works well**: short paths with a low marking threshold: full utilization with short queues.
//! - **Works badly**: next to flows that halve on a mark, which it starves; long paths.
//! - **Reference**: RFC 8257; M. Alizadeh et al., "Data Center TCP (DCTCP)", 2010.
//!
//! ```text
//!   alpha ← (1 − g) alpha + g F once per round trip, F the share of marked packets in it     (section 3.3)
//!   cwnd  ← (1 − alpha/2) cwnd on an echoed mark, once per round trip
//! ```
//!
//! Without ECN it is Reno, and its name is `dctcp-reno` as in Linux. The receiver's part is in
//! `transport::receiver::feedback`.

use super::{CaState, CcInfo, CcState, CongestionControl, EcnUse, Event, Parameters, Reno, SenderState, reno};

/// DCTCP's state for one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dctcp {
    /// g is 2 to the power of minus this (`dctcp_shift_g`).
    shift_g: u32,
    /// Initial alpha of a connection, in 1/1024 (`dctcp_alpha_on_init`).
    first_alpha: u32,
    /// Moving average of the share of marked packets, in 1/1024.
    alpha: u32,
    /// The round ends when this byte has been acknowledged.
    round_end: u64,
    /// `delivered` at the start of the round.
    delivered: u64,
    /// `delivered_ce` at the start of the round.
    delivered_ce: u64,
    /// Window before the last reduction.
    loss_cwnd: u32,
    /// Was ECN refused?
    is_reno: bool,
}

impl Dctcp {
    /// State before the connection is established.
    pub fn new(parameters: &mut Parameters) -> Self {
        Self {
            shift_g: parameters.take("dctcp_shift_g", DEFAULT_SHIFT_G, 0..=ALPHA_BITS),
            first_alpha: parameters.take("dctcp_alpha_on_init", ALPHA_ONE, 0..=u32::MAX),
            alpha: ALPHA_ONE,
            round_end: 0,
            delivered: 0,
            delivered_ce: 0,
            loss_cwnd: 0,
            is_reno: false,
        }
    }

    fn begin_round(&mut self, tp: &SenderState) {
        self.round_end = tp.snd_nxt;
        self.delivered = tp.delivered;
        self.delivered_ce = tp.delivered_ce;
    }

    /// A loss halves the window, independent of alpha (section 3.5).
    fn react_to_loss(&mut self, cc: &mut CcState) {
        if !self.is_reno {
            self.loss_cwnd = cc.cwnd;
            cc.ssthresh = (cc.cwnd / 2).max(MIN_WINDOW);
        }
    }
}

impl CongestionControl for Dctcp {
    fn name(&self) -> &'static str {
        if self.is_reno { "dctcp-reno" } else { "dctcp" }
    }

    fn init(&mut self, tp: &SenderState, _cc: &mut CcState) {
        self.is_reno = !tp.ecn;
        self.alpha = self.first_alpha.min(ALPHA_ONE);
        self.loss_cwnd = 0;
        self.begin_round(tp);
    }

    fn ecn_use(&self) -> EcnUse {
        EcnUse::Mirrored
    }

    /// Updates alpha once per round trip (section 3.3).
    fn in_ack_event(&mut self, tp: &SenderState, _cc: &mut CcState, _is_plain: bool) {
        if tp.snd_una < self.round_end || self.is_reno {
            return;
        }
        let delivered = tp.delivered - self.delivered;
        let marked = tp.delivered_ce - self.delivered_ce;
        let decay = self.alpha >> self.shift_g;
        self.alpha -= if decay == 0 { self.alpha } else { decay };
        let share = (marked << (ALPHA_BITS - self.shift_g)) / delivered.max(1);
        self.alpha = u32::try_from(u64::from(self.alpha) + share).map_or(ALPHA_ONE, |alpha| alpha.min(ALPHA_ONE));
        self.begin_round(tp);
    }

    /// The window less half of alpha's share (section 3.4).
    fn ssthresh(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        if self.is_reno {
            return Reno.ssthresh(tp, cc);
        }
        self.loss_cwnd = cc.cwnd;
        let cut = (u64::from(cc.cwnd) * u64::from(self.alpha)) >> (ALPHA_BITS + 1);
        (cc.cwnd - u32::try_from(cut).unwrap_or(cc.cwnd)).max(MIN_WINDOW)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        if self.is_reno { reno::undo_cwnd(tp, cc) } else { cc.cwnd.max(self.loss_cwnd) }
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        Reno.cong_avoid(tp, cc, acked);
    }

    fn set_state(&mut self, tp: &SenderState, cc: &mut CcState, new: CaState) {
        if new == CaState::Recovery && tp.state != CaState::Recovery {
            self.react_to_loss(cc);
        }
    }

    fn cwnd_event(&mut self, _tp: &SenderState, cc: &mut CcState, event: Event) {
        if event == Event::Loss {
            self.react_to_loss(cc);
        }
    }

    fn cc_info(&self, tp: &SenderState, cc: &CcState) -> CcInfo {
        let marked_share = (!self.is_reno).then_some(self.alpha << (20 - ALPHA_BITS));
        CcInfo { marked_share, ..Reno.cc_info(tp, cc) }
    }
}

/// g = 1/16.
const DEFAULT_SHIFT_G: u32 = 4;
/// Fractional bits of alpha.
const ALPHA_BITS: u32 = 10;
/// Alpha when all packets are marked (`DCTCP_MAX_ALPHA`).
const ALPHA_ONE: u32 = 1 << ALPHA_BITS;
/// Lower limit of every reduction.
const MIN_WINDOW: u32 = 2;

#[cfg(test)]
mod tests;
