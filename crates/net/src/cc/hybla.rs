//! Hybla: the window grows at a long round-trip time as fast as at 25 ms (Linux's `tcp_hybla.c`).
//!
//! - **What it does**: ρ is the minimum round-trip time over 25 ms, at least 1; slow start adds 2^ρ − 1 packets per ACK
//!   and avoidance ρ²/window, so that a satellite flow grows as fast as a terrestrial one.
//! - **Signal**: loss; the round-trip time sets the growth.
//! - **Works well**: satellite paths that share a link with terrestrial flows.
//! - **Works badly**: long paths with shallow buffers, which its slow start overruns.
//! - **Reference**: C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", 2004.
//!
//! Where Linux departs from the paper: growth counts ACKs, not packets; a new flow starts with ρ packets instead of
//! ten.

use super::{CaState, CcInfo, CcState, CongestionControl, Parameters, SenderState, growth, reno};

/// Hybla's state for one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hybla {
    /// The reference round-trip time in milliseconds.
    reference_ms: u32,
    /// In use while no packets are missing; otherwise it is Reno.
    is_on: bool,
    /// Growth below a packet, in 1/128.
    fraction: u32,
    /// ρ in eighths.
    rho8: u32,
    /// The smoothed round-trip time for which ρ was computed, in eighths of a microsecond.
    min_srtt_us8: u32,
}

impl Hybla {
    /// Linux's defaults, except for the parameters set.
    pub(super) fn new(parameters: &mut Parameters) -> Self {
        let reference_ms = parameters.take("rtt0", 25, 1..=60_000);
        Self { reference_ms, is_on: true, fraction: 0, rho8: 0, min_srtt_us8: 0 }
    }

    fn measure(&mut self, tp: &SenderState) {
        self.rho8 = (tp.srtt_us8 / (self.reference_ms * 1_000)).max(8);
    }

    const fn rho(&self) -> u32 {
        self.rho8 >> 3
    }

    /// 2^ρ − 1, in 1/128.
    fn slow_start_step(&self) -> u32 {
        let eighths = POWERS[usize::try_from(self.rho8 & 7).unwrap_or(0)];
        (eighths << self.rho().min(16)) - ONE
    }

    /// Adds packets in 1/128.
    const fn add(&mut self, cc: &mut CcState, step: u32) {
        self.fraction += step % ONE;
        let carried = self.fraction / ONE;
        if carried > 0 {
            self.fraction %= ONE;
            cc.cwnd_count = 0;
        }
        cc.cwnd = cc.cwnd.saturating_add(step / ONE).saturating_add(carried);
    }
}

impl CongestionControl for Hybla {
    fn name(&self) -> &'static str {
        "hybla"
    }

    fn init(&mut self, tp: &SenderState, cc: &mut CcState) {
        cc.cwnd_clamp = cc.cwnd_clamp.min(65_535);
        self.measure(tp);
        self.min_srtt_us8 = tp.srtt_us8;
        cc.cwnd = self.rho();
    }

    fn ssthresh(&mut self, _tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::ssthresh(cc)
    }

    fn undo_cwnd(&mut self, tp: &SenderState, cc: &mut CcState) -> u32 {
        reno::undo_cwnd(tp, cc)
    }

    fn cong_avoid(&mut self, tp: &SenderState, cc: &mut CcState, acked: u32) {
        if tp.srtt_us8 < self.min_srtt_us8 {
            self.measure(tp);
            self.min_srtt_us8 = tp.srtt_us8;
        }
        if !tp.is_cwnd_limited(cc) {
            return;
        }
        if !self.is_on {
            reno::cong_avoid(tp, cc, acked);
            return;
        }
        if cc.in_slow_start() {
            self.add(cc, self.slow_start_step());
            cc.cwnd = cc.cwnd.min(cc.ssthresh);
        } else {
            let step = (self.rho8 * self.rho8 * 2) / cc.cwnd;
            if step < ONE {
                cc.cwnd_count = cc.cwnd_count.saturating_add(1);
            }
            self.add(cc, step);
            // At windows so large that the step is zero, grows as Reno.
            if step == 0 && cc.cwnd_count >= cc.cwnd {
                cc.cwnd += 1;
                cc.cwnd_count = 0;
            }
        }
        cc.cwnd = cc.cwnd.min(cc.cwnd_clamp);
    }

    fn set_state(&mut self, _tp: &SenderState, _cc: &mut CcState, new: CaState) {
        self.is_on = new == CaState::Open;
    }

    fn cc_info(&self, _tp: &SenderState, cc: &CcState) -> CcInfo {
        CcInfo { phase: growth::phase(cc), ..CcInfo::default() }
    }
}

/// One packet.
const ONE: u32 = 128;
/// 128 · 2^(n/8), rounded down: the largest p with p⁸ ≤ 2⁵⁶⁺ⁿ.
const POWERS: [u32; 8] = powers();

const fn powers() -> [u32; 8] {
    let mut powers = [0; 8];
    let (mut n, mut power) = (0, ONE);
    while n < 8 {
        while (power as u64 + 1).pow(8) <= 1 << (56 + n) {
            power += 1;
        }
        powers[n] = power;
        n += 1;
    }
    powers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{cc, tp};
    use crate::table_checksum::table_checksum;

    #[test]
    fn the_table_of_powers_is_linux_s() {
        assert_eq!(table_checksum(POWERS), 0x0000_0351_b663_a5fb);
    }

    fn flow(rtt_ms: u32) -> (Hybla, SenderState, CcState) {
        let mut hybla = Hybla::new(&mut Parameters::default());
        let (tp, mut cc) = (SenderState { srtt_us8: rtt_ms * 8_000, ..tp() }, cc());
        hybla.init(&tp, &mut cc);
        (hybla, tp, cc)
    }

    /// 10 ms count as 25; 100 ms are ρ = 4, 550 ms 22.
    #[test]
    fn a_flow_starts_with_rho_packets() {
        assert_eq!([10, 25, 100, 550].map(|rtt_ms| flow(rtt_ms).2.cwnd), [1, 1, 4, 22]);
    }

    /// ρ = 1: a packet per ACK; 2: three; 2.5: 4 · 181/128 − 1 = 4.66.
    #[test]
    fn slow_start_doubles_as_often_as_the_short_path_would() {
        let grown = [25_000, 50_000, 62_500].map(|rtt_us| {
            let (mut hybla, mut tp, mut cc) = flow(0);
            tp.srtt_us8 = rtt_us * 8;
            hybla.init(&tp, &mut cc);
            cc.cwnd = 10;
            (0..3).for_each(|_| hybla.cong_avoid(&tp, &mut cc, 1));
            cc.cwnd
        });
        assert_eq!(grown, [13, 19, 23]);
    }

    /// ρ = 4 at a window of 64: 16/64 of a packet per ACK; ρ = 1: 1/64.
    #[test]
    fn avoidance_grows_by_rho_squared_a_round() {
        let grown = [100, 25].map(|rtt_ms| {
            let (mut hybla, tp, mut cc) = flow(rtt_ms);
            (cc.cwnd, cc.ssthresh) = (64, 64);
            (0..64).for_each(|_| hybla.cong_avoid(&tp, &mut cc, 1));
            cc.cwnd
        });
        assert_eq!(grown, [64 + 14, 65], "less as the window grows");
    }

    /// 128/300 of 1/128 rounds to zero.
    #[test]
    fn a_large_window_on_a_short_path_grows_as_reno() {
        let (mut hybla, tp, mut cc) = flow(25);
        (cc.cwnd, cc.ssthresh) = (300, 300);
        (0..299).for_each(|_| hybla.cong_avoid(&tp, &mut cc, 1));
        assert_eq!(cc.cwnd, 300);
        hybla.cong_avoid(&tp, &mut cc, 1);
        assert_eq!(cc.cwnd, 301);
    }

    #[test]
    fn a_shorter_round_trip_lowers_rho_a_longer_one_does_not_raise_it() {
        let (mut hybla, mut tp, mut cc) = flow(100);
        for (rtt_ms, rho) in [(200, 4), (75, 3), (100, 3)] {
            tp.srtt_us8 = rtt_ms * 8_000;
            hybla.cong_avoid(&tp, &mut cc, 1);
            assert_eq!(hybla.rho(), rho);
        }
    }

    #[test]
    fn while_packets_are_missing_it_is_reno() {
        let (mut hybla, tp, mut cc) = flow(100);
        (cc.cwnd, cc.ssthresh) = (20, 20);
        hybla.set_state(&tp, &mut cc, CaState::Disorder);
        (0..20).for_each(|_| hybla.cong_avoid(&tp, &mut cc, 1));
        assert_eq!(cc.cwnd, 21);
    }
}
