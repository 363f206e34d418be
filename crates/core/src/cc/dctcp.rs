//! DCTCP: a window cut in proportion to how many packets were marked (RFC 8257 as Linux's `tcp_dctcp.c` does it).
//!
//! - **What it does**: grows as Reno does; once a round trip with marks it cuts the window by half of `alpha`, the
//!   running share of marked packets. A loss halves it.
//! - **Signal it listens to**: ECN marks, each one: its receiver mirrors them (RFC 8257 section 3.2).
//! - **When it does well**: short paths whose queues mark at a low threshold: full links with short queues.
//! - **When it does badly**: beside flows that answer a mark with half a window, which it starves; long paths.
//! - **Reference**: RFC 8257; M. Alizadeh et al., "Data Center TCP (DCTCP)", 2010.
//!
//! ```text
//!   alpha ← (1 − g) alpha + g F once a round trip, F the share of packets marked in it     (section 3.3)
//!   cwnd  ← (1 − alpha/2) cwnd when a mark is told, once a round trip
//! ```
//!
//! Without ECN it is Reno, and calls itself `dctcp-reno` as Linux does. What a receiver tells is
//! `transport::receiver::feedback`'s.

use super::{CaState, Control, EcnUse, Event, Insight, Parameters, Reno, Vitals, reno};

/// A flow's DCTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dctcp {
    /// g is 2 to the minus this (`dctcp_shift_g`).
    shift_g: u32,
    /// alpha of a connection that begins, in 1/1024 (`dctcp_alpha_on_init`).
    first_alpha: u32,
    /// Running share of marked packets, in 1/1024.
    alpha: u32,
    /// The round is over when this byte has been acknowledged.
    round_end: u64,
    /// `delivered` when it began.
    delivered: u64,
    /// `delivered_ce` then.
    delivered_ce: u64,
    /// Window before the last reduction.
    loss_cwnd: u32,
    /// Was ECN refused?
    is_reno: bool,
}

impl Dctcp {
    /// Of a connection that is not established yet.
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

    fn begin_round(&mut self, vitals: &Vitals) {
        self.round_end = vitals.snd_nxt;
        self.delivered = vitals.delivered;
        self.delivered_ce = vitals.delivered_ce;
    }

    /// A loss halves the window, whatever alpha is (section 3.5).
    fn answer_loss(&mut self, vitals: &mut Vitals) {
        if !self.is_reno {
            self.loss_cwnd = vitals.cwnd;
            vitals.ssthresh = (vitals.cwnd / 2).max(LEAST_WINDOW);
        }
    }
}

impl Control for Dctcp {
    fn name(&self) -> &'static str {
        if self.is_reno { "dctcp-reno" } else { "dctcp" }
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.is_reno = !vitals.ecn;
        self.alpha = self.first_alpha.min(ALPHA_ONE);
        self.loss_cwnd = 0;
        self.begin_round(vitals);
    }

    fn ecn_use(&self) -> EcnUse {
        EcnUse::Mirrored
    }

    /// Once a round trip: what share of it was marked (section 3.3)?
    fn on_ack(&mut self, vitals: &mut Vitals, _is_plain: bool) {
        if vitals.snd_una < self.round_end || self.is_reno {
            return;
        }
        let delivered = vitals.delivered - self.delivered;
        let marked = vitals.delivered_ce - self.delivered_ce;
        let decay = self.alpha >> self.shift_g;
        self.alpha -= if decay == 0 { self.alpha } else { decay };
        let share = (marked << (ALPHA_BITS - self.shift_g)) / delivered.max(1);
        self.alpha = u32::try_from(u64::from(self.alpha) + share).map_or(ALPHA_ONE, |alpha| alpha.min(ALPHA_ONE));
        self.begin_round(vitals);
    }

    /// The window less half of alpha's share (section 3.4).
    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        if self.is_reno {
            return Reno.ssthresh(vitals);
        }
        self.loss_cwnd = vitals.cwnd;
        let cut = (u64::from(vitals.cwnd) * u64::from(self.alpha)) >> (ALPHA_BITS + 1);
        (vitals.cwnd - u32::try_from(cut).unwrap_or(vitals.cwnd)).max(LEAST_WINDOW)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        if self.is_reno { reno::undo_cwnd(vitals) } else { vitals.cwnd.max(self.loss_cwnd) }
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        Reno.avoid(vitals, acked);
    }

    fn on_state(&mut self, vitals: &mut Vitals, new: CaState) {
        if new == CaState::Recovery && vitals.state != CaState::Recovery {
            self.answer_loss(vitals);
        }
    }

    fn on_event(&mut self, vitals: &mut Vitals, event: Event) {
        if event == Event::Loss {
            self.answer_loss(vitals);
        }
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        let marked_share = (!self.is_reno).then_some(self.alpha << (20 - ALPHA_BITS));
        Insight { marked_share, ..Reno.insight(vitals) }
    }
}

/// g = 1/16.
const DEFAULT_SHIFT_G: u32 = 4;
/// alpha has so many bits behind its point.
const ALPHA_BITS: u32 = 10;
/// All packets are marked (`DCTCP_MAX_ALPHA`).
const ALPHA_ONE: u32 = 1 << ALPHA_BITS;
/// No reduction goes below.
const LEAST_WINDOW: u32 = 2;

#[cfg(test)]
mod tests;
