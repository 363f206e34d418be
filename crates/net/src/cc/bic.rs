//! BIC: a binary search for the window of the last loss (Linux's `tcp_bic.c`); CUBIC's predecessor.
//!
//! - **What it does**: below the last maximum the window covers a quarter of the distance per round trip, at most 16
//!   packets; above it, growth starts slowly and accelerates. On loss it falls to 0.8 of itself.
//! - **Signal**: loss.
//! - **Works well**: long fat paths with rare loss.
//! - **Works badly**: short round trips shared with Reno, which it starves; deep buffers.
//! - **Reference**: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance
//!   Networks", 2004.
//!
//! Where Linux departs from the paper: without a known maximum the window grows by 5 % per round trip, growth is
//! computed when the window has changed or 8 jiffies have passed, and an estimate of packets per ACK compensates for
//! delayed ACKs.

use super::{AckSample, CaState, CcInfo, CcState, CongestionControl, Parameters, SenderState, growth, reno};
use crate::time::HZ;

/// BIC's state for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bic {
    tuning: Tuning,
    /// Packets to acknowledge for one packet of growth.
    acks_per_packet: u32,
    /// The window at the last loss; 0 if none.
    last_max: u32,
    /// The window for which growth was last computed.
    last_cwnd: u32,
    /// The jiffy of that computation.
    last_at: u64,
    /// Packets per ACK, in sixteenths.
    packets_per_ack: u32,
}

/// The module's parameters, in packets unless stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tuning {
    fast_convergence: bool,
    max_increment: u32,
    low_window: u32,
    /// In 1/1024.
    beta: u32,
    /// 0: none.
    initial_ssthresh: u32,
    /// Round trips of growth from Wmax − B to Wmax (`BICTCP_B`).
    smooth_part: u32,
}

impl Bic {
    /// Linux's defaults, except for the parameters set.
    pub(super) fn new(parameters: &mut Parameters) -> Self {
        let tuning = Tuning {
            fast_convergence: parameters.switch("fast_convergence", true),
            max_increment: parameters.take("max_increment", 16, 1..=65_535),
            low_window: parameters.take("low_window", 14, 0..=65_535),
            beta: parameters.take("beta", 819, 1..=BETA_SCALE - 1),
            initial_ssthresh: parameters.take("initial_ssthresh", 0, 0..=u32::MAX >> 1),
            smooth_part: parameters.take("smooth_part", 20, 1..=65_535),
        };
        Self { tuning, acks_per_packet: 0, last_max: 0, last_cwnd: 0, last_at: 0, packets_per_ack: DELAYED }
    }

    fn forget(&mut self) {
        let fresh =
            Self { acks_per_packet: 0, last_max: 0, last_cwnd: 0, last_at: 0, packets_per_ack: DELAYED, ..*self };
        *self = fresh;
    }

    /// Computes the growth from this window (`bictcp_update`).
    fn update(&mut self, cwnd: u32, jiffy: u64) {
        if self.last_cwnd == cwnd && jiffy - self.last_at <= HZ / 32 {
            return;
        }
        (self.last_cwnd, self.last_at) = (cwnd, jiffy);
        if cwnd <= self.tuning.low_window {
            self.acks_per_packet = cwnd;
            return;
        }
        let mut acks = if cwnd < self.last_max { self.search(cwnd) } else { self.probe(cwnd) };
        if self.last_max == 0 {
            acks = acks.min(MAX_WITHOUT_MAXIMUM);
        }
        self.acks_per_packet = ((acks << ACK_SHIFT) / self.packets_per_ack.max(1)).max(1);
    }

    /// Growth below the last maximum: a quarter of the distance per round trip.
    const fn search(&self, cwnd: u32) -> u32 {
        let step = (self.last_max - cwnd) / PARTS;
        if step > self.tuning.max_increment {
            cwnd / self.tuning.max_increment
        } else if step <= 1 {
            cwnd.wrapping_mul(self.tuning.smooth_part) / PARTS
        } else {
            cwnd / step
        }
    }

    /// Growth above it: slow, then faster, then linear.
    const fn probe(&self, cwnd: u32) -> u32 {
        let beyond = cwnd - self.last_max;
        if beyond < PARTS {
            cwnd.wrapping_mul(self.tuning.smooth_part) / PARTS
        } else if beyond < self.tuning.max_increment * (PARTS - 1) {
            cwnd * (PARTS - 1) / beyond
        } else {
            cwnd / self.tuning.max_increment
        }
    }

    fn scaled(cwnd: u32, by: u32, of: u32) -> u32 {
        u32::try_from(u64::from(cwnd) * u64::from(by) / u64::from(of)).unwrap_or(u32::MAX)
    }
}

impl CongestionControl for Bic {
    fn name(&self) -> &'static str {
        "bic"
    }

    fn init(&mut self, _tp: &SenderState, cc: &mut CcState) {
        self.forget();
        if self.tuning.initial_ssthresh > 0 {
            cc.ssthresh = self.tuning.initial_ssthresh;
        }
    }

    /// β of the window. A loss below the last maximum lowers the next maximum to make room for other flows (fast
    /// convergence).
    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        let (cwnd, beta) = (cc.cwnd, self.tuning.beta);
        let lowers_maximum = cwnd < self.last_max && self.tuning.fast_convergence;
        self.last_max = if lowers_maximum { Self::scaled(cwnd, BETA_SCALE + beta, 2 * BETA_SCALE) } else { cwnd };
        if cwnd <= self.tuning.low_window { reno::ssthresh(cc) } else { Self::scaled(cwnd, beta, BETA_SCALE).max(2) }
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn pkts_acked(&mut self, tp: &SenderState, _cc: &mut CcState, sample: &AckSample) {
        if tp.state == CaState::Open {
            self.packets_per_ack = self.packets_per_ack - (self.packets_per_ack >> ACK_SHIFT) + sample.acked;
        }
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        let Some(acked) = growth::beyond_slow_start(tp, cc, acked) else { return };
        self.update(cc.cwnd, tp.now.jiffies());
        growth::additive_increase(cc, self.acks_per_packet, acked);
    }

    fn set_state(&mut self, _tp: &SenderState, _cc: &mut CcState, new: CaState) {
        if new == CaState::Loss {
            self.forget();
        }
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        let phase = match () {
            () if cc.in_slow_start() => "slow_start",
            () if cc.cwnd <= self.tuning.low_window => "reno_friendly",
            () if cc.cwnd < self.last_max => "search",
            () => "probe",
        };
        CcInfo { phase, ..CcInfo::default() }
    }
}

/// The search covers a quarter of the distance (`BICTCP_B`).
const PARTS: u32 = 4;
const BETA_SCALE: u32 = 1_024;
/// The estimate of packets per ACK moves by a sixteenth.
const ACK_SHIFT: u32 = 4;
/// Initially two packets per ACK.
const DELAYED: u32 = 2 << ACK_SHIFT;
/// 5 % per round trip.
const MAX_WITHOUT_MAXIMUM: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, ms, tp};

    /// A flow with one packet per ACK, so that the estimate is 16/16.
    fn bic(last_max: u32) -> Bic {
        Bic { last_max, packets_per_ack: 1 << ACK_SHIFT, ..Bic::new(&mut Parameters::default()) }
    }

    fn acks_per_packet(last_max: u32, cwnd: u32) -> u32 {
        let mut bic = bic(last_max);
        bic.update(cwnd, 1);
        bic.acks_per_packet
    }

    /// From 80 to a maximum of 100: 20/4 = 5 packets per round trip; from 93 on, 1/5 of one; from far below, 16.
    #[test]
    fn below_the_maximum_it_searches() {
        assert_eq!([80, 88, 93, 99].map(|cwnd| acks_per_packet(100, cwnd)), [80 / 5, 88 / 3, 93 * 5, 99 * 5]);
        assert_eq!(acks_per_packet(1_000, 480), 480 / 16);
    }

    #[test]
    fn above_the_maximum_growth_is_slow_then_linear() {
        let growth = [103, 104, 130, 147, 148, 400].map(|cwnd| acks_per_packet(100, cwnd));
        assert_eq!(growth, [103 * 5, 104 * 3 / 4, 130 * 3 / 30, 147 * 3 / 47, 148 / 16, 400 / 16]);
    }

    #[test]
    fn without_a_maximum_it_grows_by_a_twentieth() {
        assert_eq!((acks_per_packet(0, 200), acks_per_packet(0, 1_000)), (200 / 16, 20));
    }

    #[test]
    fn a_small_window_grows_as_reno() {
        assert_eq!((acks_per_packet(100, 14), bic(0).ssthresh(&tp(), &mut CcState { cwnd: 14, ..cc() })), (14, 7));
    }

    /// 100 · 819/1024 = 79; a second loss at 90 lowers the maximum to 90 · 1843/2048 = 80.
    #[test]
    fn a_second_loss_below_the_maximum_lowers_the_maximum() {
        let mut bic = bic(0);
        let thresholds = [100, 90].map(|cwnd| bic.ssthresh(&tp(), &mut CcState { cwnd, ..cc() }));
        assert_eq!((thresholds, bic.last_max), ([79, 71], 80));
        let lone = [("fast_convergence".into(), crate::cc::Setting::Number(0))];
        let mut stubborn = Bic { last_max: 100, ..Bic::new(&mut Parameters::of(lone)) };
        stubborn.ssthresh(&tp(), &mut CcState { cwnd: 90, ..cc() });
        assert_eq!(stubborn.last_max, 90);
    }

    /// Two packets per ACK keep the estimate at 32/16: half as many ACKs add a packet.
    #[test]
    fn delayed_acks_are_compensated() {
        let (mut bic, tp, mut cc) = (bic(0), SenderState { now: ms(1_000), ..tp() }, cc());
        (0..100).for_each(|_| bic.pkts_acked(&tp, &mut cc, &AckSample { acked: 2, rtt: None, in_flight: 2 }));
        assert!((30..=32).contains(&bic.packets_per_ack), "{}", bic.packets_per_ack);
        bic.update(200, 1);
        assert_eq!(bic.acks_per_packet, (200 / 16) * 16 / bic.packets_per_ack);
    }

    #[test]
    fn growth_is_recomputed_when_the_window_changed_or_time_passed() {
        let mut bic = bic(100);
        bic.update(80, 10);
        bic.last_max = 200;
        bic.update(80, 17);
        assert_eq!(bic.acks_per_packet, 16, "seven jiffies later: unchanged");
        bic.update(80, 18);
        assert_eq!(bic.acks_per_packet, 80 / 16);
    }

    #[test]
    fn a_timeout_resets_the_maximum() {
        let mut bic = bic(100);
        bic.set_state(&tp(), &mut cc(), CaState::Loss);
        assert_eq!(bic.cc_info(&tp(), &CcState { ssthresh: 20, cwnd: 50, ..cc() }).phase, "probe");
        assert_eq!((bic.last_max, bic.packets_per_ack), (0, DELAYED));
    }
}
