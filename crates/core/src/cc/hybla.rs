//! Hybla: a long round trip grows as if it took 25 ms (Linux's `tcp_hybla.c`).
//!
//! - **What it does**: ρ is the smallest round-trip time over 25 ms, 1 at least; slow start adds 2^ρ − 1 packets an ACK and
//!   avoidance ρ²/window, so that a satellite's flow gains what a terrestrial one would.
//! - **Signal it listens to**: loss; the round-trip time sets the pace.
//! - **When it does well**: satellite paths beside terrestrial flows.
//! - **When it does badly**: long paths with shallow buffers, which its slow start overruns.
//! - **Reference**: C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", 2004.
//!
//! Where Linux departs from the paper: growth counts ACKs, not packets; a new flow starts with ρ packets instead of ten.

use super::{CaState, Control, Insight, Parameters, Vitals, growth, reno};

/// A flow's Hybla.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hybla {
    /// The round-trip time that is imitated, in milliseconds.
    reference_ms: u32,
    /// Nothing is missing; else it is Reno.
    is_on: bool,
    /// Growth below a packet, in 1/128.
    fraction: u32,
    /// ρ in eighths.
    rho8: u32,
    /// The smoothed round-trip time that ρ was reckoned from, in eighths of a microsecond.
    least_srtt_us8: u32,
}

impl Hybla {
    /// Linux's, where nothing else is set.
    pub(super) fn new(parameters: &mut Parameters) -> Self {
        let reference_ms = parameters.take("rtt0", 25, 1..=60_000);
        Self { reference_ms, is_on: true, fraction: 0, rho8: 0, least_srtt_us8: 0 }
    }

    fn measure(&mut self, vitals: &Vitals) {
        self.rho8 = (vitals.srtt_us8 / (self.reference_ms * 1_000)).max(8);
    }

    const fn rho(&self) -> u32 {
        self.rho8 >> 3
    }

    /// 2^ρ − 1, in 1/128.
    fn slow_start_step(&self) -> u32 {
        let eighths = POWERS[usize::try_from(self.rho8 & 7).unwrap_or(0)];
        (eighths << self.rho().min(16)) - ONE
    }

    /// Adds a number of packets in 1/128.
    const fn add(&mut self, vitals: &mut Vitals, step: u32) {
        self.fraction += step % ONE;
        let carried = self.fraction / ONE;
        if carried > 0 {
            self.fraction %= ONE;
            vitals.cwnd_count = 0;
        }
        vitals.cwnd = vitals.cwnd.saturating_add(step / ONE).saturating_add(carried);
    }
}

impl Control for Hybla {
    fn name(&self) -> &'static str {
        "hybla"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        vitals.cwnd_clamp = vitals.cwnd_clamp.min(65_535);
        self.measure(vitals);
        self.least_srtt_us8 = vitals.srtt_us8;
        vitals.cwnd = self.rho();
    }

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        reno::ssthresh(vitals)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        if vitals.srtt_us8 < self.least_srtt_us8 {
            self.measure(vitals);
            self.least_srtt_us8 = vitals.srtt_us8;
        }
        if !vitals.is_cwnd_limited() {
            return;
        }
        if !self.is_on {
            reno::avoid(vitals, acked);
            return;
        }
        if vitals.in_slow_start() {
            self.add(vitals, self.slow_start_step());
            vitals.cwnd = vitals.cwnd.min(vitals.ssthresh);
        } else {
            let step = (self.rho8 * self.rho8 * 2) / vitals.cwnd;
            if step < ONE {
                vitals.cwnd_count = vitals.cwnd_count.saturating_add(1);
            }
            self.add(vitals, step);
            // A window so large that a step is nothing grows as Reno's.
            if step == 0 && vitals.cwnd_count >= vitals.cwnd {
                vitals.cwnd += 1;
                vitals.cwnd_count = 0;
            }
        }
        vitals.cwnd = vitals.cwnd.min(vitals.cwnd_clamp);
    }

    fn on_state(&mut self, _vitals: &mut Vitals, new: CaState) {
        self.is_on = new == CaState::Open;
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        Insight { phase: growth::phase(vitals), ..Insight::default() }
    }
}

/// A packet.
const ONE: u32 = 128;
/// 2^(n/8), in 1/128.
const POWERS: [u32; 8] = [128, 139, 152, 165, 181, 197, 215, 234];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::vitals;

    fn flow(rtt_ms: u32) -> (Hybla, Vitals) {
        let (mut hybla, mut vitals) =
            (Hybla::new(&mut Parameters::default()), Vitals { srtt_us8: rtt_ms * 8_000, ..vitals() });
        hybla.start(&mut vitals);
        (hybla, vitals)
    }

    /// 10 ms count as 25; 100 ms are ρ = 4, 550 ms 22.
    #[test]
    fn a_flow_starts_with_rho_packets() {
        assert_eq!([10, 25, 100, 550].map(|rtt_ms| flow(rtt_ms).1.cwnd), [1, 1, 4, 22]);
    }

    /// ρ = 1: a packet an ACK; 2: three; 2.5: 4 · 181/128 − 1 = 4.66.
    #[test]
    fn slow_start_doubles_as_often_as_the_short_path_would() {
        let grown = [25_000, 50_000, 62_500].map(|rtt_us| {
            let (mut hybla, mut vitals) = flow(0);
            vitals.srtt_us8 = rtt_us * 8;
            hybla.start(&mut vitals);
            vitals.cwnd = 10;
            (0..3).for_each(|_| hybla.avoid(&mut vitals, 1));
            vitals.cwnd
        });
        assert_eq!(grown, [13, 19, 23]);
    }

    /// ρ = 4 at a window of 64: 16/64 of a packet an ACK; ρ = 1: 1/64.
    #[test]
    fn avoidance_grows_by_rho_squared_a_round() {
        let grown = [100, 25].map(|rtt_ms| {
            let (mut hybla, mut vitals) = flow(rtt_ms);
            (vitals.cwnd, vitals.ssthresh) = (64, 64);
            (0..64).for_each(|_| hybla.avoid(&mut vitals, 1));
            vitals.cwnd
        });
        assert_eq!(grown, [64 + 14, 65], "less as the window grows");
    }

    /// 128/300 of 1/128 is nothing.
    #[test]
    fn a_large_window_on_a_short_path_grows_as_renos() {
        let (mut hybla, mut vitals) = flow(25);
        (vitals.cwnd, vitals.ssthresh) = (300, 300);
        (0..299).for_each(|_| hybla.avoid(&mut vitals, 1));
        assert_eq!(vitals.cwnd, 300);
        hybla.avoid(&mut vitals, 1);
        assert_eq!(vitals.cwnd, 301);
    }

    #[test]
    fn a_shorter_round_trip_lowers_rho_a_longer_one_does_not_raise_it() {
        let (mut hybla, mut vitals) = flow(100);
        for (rtt_ms, rho) in [(200, 4), (75, 3), (100, 3)] {
            vitals.srtt_us8 = rtt_ms * 8_000;
            hybla.avoid(&mut vitals, 1);
            assert_eq!(hybla.rho(), rho);
        }
    }

    #[test]
    fn while_packets_are_missing_it_is_reno() {
        let (mut hybla, mut vitals) = flow(100);
        (vitals.cwnd, vitals.ssthresh) = (20, 20);
        hybla.on_state(&mut vitals, CaState::Disorder);
        (0..20).for_each(|_| hybla.avoid(&mut vitals, 1));
        assert_eq!(vitals.cwnd, 21);
    }
}
