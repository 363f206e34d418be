//! BIC: a binary search for the window at which packets were lost last (Linux's `tcp_bic.c`); CUBIC's predecessor.
//!
//! - **What it does**: below the last maximum the window moves a quarter of the distance a round trip, 16 packets at
//!   most; above it grows slowly first, then ever faster. On loss it falls to 0.8 of itself.
//! - **Signal it listens to**: loss.
//! - **When it does well**: long fat paths with rare loss.
//! - **When it does badly**: short round trips beside Reno, which it starves; deep buffers.
//! - **Reference**: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance
//!   Networks", 2004.
//!
//! Where Linux departs from the paper: without a known maximum the window grows by 5 % a round trip, growth is worked
//! out when the window has changed or 8 jiffies have passed, and an estimate of packets an ACK makes up for delayed ones.

use super::{AckSample, CaState, Control, Insight, Parameters, Vitals, growth, reno};
use crate::time::HZ;

/// A flow's BIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bic {
    tuning: Tuning,
    /// Packets to acknowledge for one more.
    acks_a_packet: u32,
    /// The window at the last loss; 0 when there is none.
    last_max: u32,
    /// The window for which growth was worked out.
    last_cwnd: u32,
    /// The jiffy when it was.
    last_at: u64,
    /// Packets an ACK, in sixteenths.
    packets_an_ack: u32,
}

/// The module's parameters, in packets where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tuning {
    fast_convergence: bool,
    max_increment: u32,
    low_window: u32,
    /// In 1/1024.
    beta: u32,
    /// 0 for none.
    initial_ssthresh: u32,
    /// Round trips from a quarter of the search to its end.
    smooth_part: u32,
}

impl Bic {
    /// Linux's, where nothing else is set.
    pub(super) fn new(parameters: &mut Parameters) -> Self {
        let tuning = Tuning {
            fast_convergence: parameters.switch("fast_convergence", true),
            max_increment: parameters.take("max_increment", 16, 1..=65_535),
            low_window: parameters.take("low_window", 14, 0..=65_535),
            beta: parameters.take("beta", 819, 1..=BETA_SCALE - 1),
            initial_ssthresh: parameters.take("initial_ssthresh", 0, 0..=u32::MAX >> 1),
            smooth_part: parameters.take("smooth_part", 20, 1..=65_535),
        };
        Self { tuning, acks_a_packet: 0, last_max: 0, last_cwnd: 0, last_at: 0, packets_an_ack: DELAYED }
    }

    fn forget(&mut self) {
        let fresh = Self { acks_a_packet: 0, last_max: 0, last_cwnd: 0, last_at: 0, packets_an_ack: DELAYED, ..*self };
        *self = fresh;
    }

    /// Works out how fast the window grows from here (`bictcp_update`).
    fn update(&mut self, cwnd: u32, jiffy: u64) {
        if self.last_cwnd == cwnd && jiffy - self.last_at <= HZ / 32 {
            return;
        }
        (self.last_cwnd, self.last_at) = (cwnd, jiffy);
        if cwnd <= self.tuning.low_window {
            self.acks_a_packet = cwnd;
            return;
        }
        let mut acks = if cwnd < self.last_max { self.search(cwnd) } else { self.probe(cwnd) };
        if self.last_max == 0 {
            acks = acks.min(MOST_WITHOUT_MAXIMUM);
        }
        self.acks_a_packet = ((acks << ACK_SHIFT) / self.packets_an_ack.max(1)).max(1);
    }

    /// Below the last maximum: a quarter of the way there each round trip.
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

    /// Above it: slowly away from it, then faster, then in a line.
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

impl Control for Bic {
    fn name(&self) -> &'static str {
        "bic"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.forget();
        if self.tuning.initial_ssthresh > 0 {
            vitals.ssthresh = self.tuning.initial_ssthresh;
        }
    }

    /// β of the window. Who loses below the last maximum makes room: the next search ends lower (fast convergence).
    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        let (cwnd, beta) = (vitals.cwnd, self.tuning.beta);
        let makes_room = cwnd < self.last_max && self.tuning.fast_convergence;
        self.last_max = if makes_room { Self::scaled(cwnd, BETA_SCALE + beta, 2 * BETA_SCALE) } else { cwnd };
        if cwnd <= self.tuning.low_window {
            reno::ssthresh(vitals)
        } else {
            Self::scaled(cwnd, beta, BETA_SCALE).max(2)
        }
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn on_acked(&mut self, vitals: &mut Vitals, sample: &AckSample) {
        if vitals.state == CaState::Open {
            self.packets_an_ack = self.packets_an_ack - (self.packets_an_ack >> ACK_SHIFT) + sample.acked;
        }
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        let Some(acked) = growth::beyond_slow_start(vitals, acked) else { return };
        self.update(vitals.cwnd, vitals.now.jiffies());
        growth::additive_increase(vitals, self.acks_a_packet, acked);
    }

    fn on_state(&mut self, _vitals: &mut Vitals, new: CaState) {
        if new == CaState::Loss {
            self.forget();
        }
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        let phase = match () {
            () if vitals.in_slow_start() => "slow_start",
            () if vitals.cwnd <= self.tuning.low_window => "reno_friendly",
            () if vitals.cwnd < self.last_max => "search",
            () => "probe",
        };
        Insight { phase, ..Insight::default() }
    }
}

/// The search goes a quarter of the distance (`BICTCP_B`).
const PARTS: u32 = 4;
const BETA_SCALE: u32 = 1_024;
/// The estimate of packets an ACK moves by a sixteenth.
const ACK_SHIFT: u32 = 4;
/// Two packets an ACK, to begin with.
const DELAYED: u32 = 2 << ACK_SHIFT;
/// 5 % a round trip.
const MOST_WITHOUT_MAXIMUM: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ms, vitals};

    /// One packet acknowledged by each ACK, so that the estimate stands at 16/16.
    fn bic(last_max: u32) -> Bic {
        Bic { last_max, packets_an_ack: 1 << ACK_SHIFT, ..Bic::new(&mut Parameters::default()) }
    }

    fn acks_a_packet(last_max: u32, cwnd: u32) -> u32 {
        let mut bic = bic(last_max);
        bic.update(cwnd, 1);
        bic.acks_a_packet
    }

    /// From 80 to a maximum of 100: 20/4 = 5 packets a round trip; from 93 on, 1/5 of one; from far below, 16.
    #[test]
    fn below_the_maximum_it_searches() {
        assert_eq!([80, 88, 93, 99].map(|cwnd| acks_a_packet(100, cwnd)), [80 / 5, 88 / 3, 93 * 5, 99 * 5]);
        assert_eq!(acks_a_packet(1_000, 480), 480 / 16);
    }

    #[test]
    fn above_the_maximum_it_leaves_slowly_then_in_a_line() {
        let growth = [103, 104, 130, 147, 148, 400].map(|cwnd| acks_a_packet(100, cwnd));
        assert_eq!(growth, [103 * 5, 104 * 3 / 4, 130 * 3 / 30, 147 * 3 / 47, 148 / 16, 400 / 16]);
    }

    #[test]
    fn without_a_maximum_it_grows_by_a_twentieth() {
        assert_eq!((acks_a_packet(0, 200), acks_a_packet(0, 1_000)), (200 / 16, 20));
    }

    #[test]
    fn a_small_window_is_renos() {
        assert_eq!((acks_a_packet(100, 14), bic(0).ssthresh(&mut Vitals { cwnd: 14, ..vitals() })), (14, 7));
    }

    /// 100 · 819/1024 = 79; a second loss at 90 aims at 90 · 1843/2048 = 80.
    #[test]
    fn a_second_loss_below_the_maximum_aims_lower() {
        let mut bic = bic(0);
        let thresholds = [100, 90].map(|cwnd| bic.ssthresh(&mut Vitals { cwnd, ..vitals() }));
        assert_eq!((thresholds, bic.last_max), ([79, 71], 80));
        let lone = [("fast_convergence".into(), crate::cc::Setting::Number(0))];
        let mut stubborn = Bic { last_max: 100, ..Bic::new(&mut Parameters::of(lone)) };
        stubborn.ssthresh(&mut Vitals { cwnd: 90, ..vitals() });
        assert_eq!(stubborn.last_max, 90);
    }

    /// Two packets an ACK keep the estimate at 32/16: half as many "ACKs" buy a packet.
    #[test]
    fn delayed_acks_are_made_up_for() {
        let (mut bic, mut vitals) = (bic(0), Vitals { now: ms(1_000), ..vitals() });
        (0..100).for_each(|_| bic.on_acked(&mut vitals, &AckSample { acked: 2, rtt: None, in_flight: 2 }));
        assert!((30..=32).contains(&bic.packets_an_ack), "{}", bic.packets_an_ack);
        bic.update(200, 1);
        assert_eq!(bic.acks_a_packet, (200 / 16) * 16 / bic.packets_an_ack);
    }

    #[test]
    fn growth_is_worked_out_anew_when_the_window_moved_or_time_passed() {
        let mut bic = bic(100);
        bic.update(80, 10);
        bic.last_max = 200;
        bic.update(80, 17);
        assert_eq!(bic.acks_a_packet, 16, "seven jiffies later: as before");
        bic.update(80, 18);
        assert_eq!(bic.acks_a_packet, 80 / 16);
    }

    #[test]
    fn a_timeout_forgets_the_maximum() {
        let mut bic = bic(100);
        bic.on_state(&mut vitals(), CaState::Loss);
        assert_eq!(bic.insight(&Vitals { ssthresh: 20, cwnd: 50, ..vitals() }).phase, "probe");
        assert_eq!((bic.last_max, bic.packets_an_ack), (0, DELAYED));
    }
}
