//! What follows for the window: gain times the bandwidth-delay product, and room for what hosts hold back.

use super::bandwidth::{Bandwidth, UNIT};
use super::pacing::tso_segments;
use super::probe_rtt::FEWEST_PACKETS;
use super::{Bbr, Mode};
use crate::cc::model::pacing::in_network_at_departure;
use crate::cc::{INITIAL_WINDOW, RateSample, Vitals};

impl Bbr {
    /// Grows by what was acknowledged towards the target, or falls to it (`bbr_set_cwnd`).
    pub(super) fn set_cwnd(&mut self, vitals: &mut Vitals, sample: &RateSample, bandwidth: Bandwidth, gain: u32) {
        let mut cwnd = vitals.cwnd;
        let acked = sample.acked_sacked;
        if acked > 0 {
            let (from, is_conserving) = self.recover_or_restore(vitals, sample);
            cwnd = from;
            if !is_conserving {
                cwnd = self.towards_target(vitals, from, acked, bandwidth, gain);
            }
        }
        vitals.cwnd = cwnd.min(vitals.cwnd_clamp);
        if self.mode == Mode::ProbeRtt {
            vitals.cwnd = vitals.cwnd.min(FEWEST_PACKETS);
        }
    }

    fn towards_target(&self, vitals: &Vitals, cwnd: u32, acked: u32, bandwidth: Bandwidth, gain: u32) -> u32 {
        let product = self.product(bandwidth, gain).saturating_add(self.aggregation_bonus());
        let target = self.with_budget(vitals, product);
        let grown = cwnd.saturating_add(acked);
        let cwnd = if self.full_pipe.is_reached() {
            grown.min(target)
        } else if cwnd < target || vitals.delivered < u64::from(INITIAL_WINDOW) {
            grown
        } else {
            cwnd
        };
        cwnd.max(FEWEST_PACKETS)
    }

    /// Packets to have in flight at this gain, by the largest bandwidth (`bbr_inflight`).
    pub(super) fn target_in_flight(&self, vitals: &Vitals, gain: u32) -> u32 {
        self.with_budget(vitals, self.product(self.max_bandwidth.best(), gain))
    }

    /// Bandwidth-delay product (`bbr_bdp`); the initial window while no delay is known.
    fn product(&self, bandwidth: Bandwidth, gain: u32) -> u32 {
        self.min_rtt.micros().map_or(INITIAL_WINDOW, |micros| bandwidth.packets_in_at(micros, gain))
    }

    /// Room for super-packets in both hosts, and an even number because of delayed ACKs (`bbr_quantization_budget`).
    fn with_budget(&self, vitals: &Vitals, packets: u32) -> u32 {
        let even = packets.saturating_add(3 * tso_segments(vitals)).saturating_add(1) & !1;
        // Probing must exceed the product even where a quarter of it is less than a packet.
        let probing = self.mode == Mode::ProbeBw && self.cycle.is_probing();
        even.saturating_add(if probing { 2 } else { 0 })
    }

    /// Of packets in flight, those that will be in the network when the next ones have departed.
    pub(super) fn in_network_at_departure(&self, vitals: &Vitals, in_flight: u32) -> u32 {
        let departing = if self.gains.pacing > UNIT { tso_segments(vitals) } else { 0 };
        in_network_at_departure(vitals, in_flight + departing, self.bandwidth())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{DUE, TEN_MBIT, bbr_with};
    use super::super::{FullPipe, MinRtt};
    use super::*;

    fn acked(packets: u32) -> RateSample {
        RateSample { acked_sacked: packets, ..RateSample::default() }
    }

    /// 2 x 33.02 packets, rounded up, six for hosts, rounded up to an even number: 74.
    #[test]
    fn the_target_is_two_products_and_a_budget() {
        let (bbr, vitals) = bbr_with(Mode::ProbeBw);
        assert_eq!(bbr.product(TEN_MBIT, 2 * UNIT), 67);
        assert_eq!(bbr.with_budget(&vitals, 67), 76, "in the probing phase");
        let (bbr, _) = bbr_with(Mode::Drain);
        assert_eq!(bbr.with_budget(&vitals, 67), 74);
        assert_eq!(bbr.with_budget(&vitals, 68), 74);
    }

    #[test]
    fn the_window_walks_to_the_target_and_jumps_back_to_it() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        vitals.cwnd = 70;
        let windows = [2, 2, 2, 2].map(|packets| {
            bbr.set_cwnd(&mut vitals, &acked(packets), TEN_MBIT, 512);
            vitals.cwnd
        });
        assert_eq!(windows, [72, 74, 76, 76]);
        bbr.set_cwnd(&mut vitals, &acked(1), TEN_MBIT, 256);
        assert_eq!(vitals.cwnd, 42, "34, 6 and 2");
    }

    #[test]
    fn startup_never_shrinks_the_window() {
        let (mut bbr, mut vitals) = bbr_with(Mode::Startup);
        bbr.full_pipe = FullPipe::default();
        vitals.delivered = 1_000;
        vitals.cwnd = 200;
        bbr.set_cwnd(&mut vitals, &acked(5), TEN_MBIT, 739);
        assert_eq!(vitals.cwnd, 200);
        vitals.delivered = 5;
        bbr.set_cwnd(&mut vitals, &acked(5), TEN_MBIT, 739);
        assert_eq!(vitals.cwnd, 205, "the first ten packets always grow it");
    }

    #[test]
    fn probe_rtt_holds_four_packets_and_the_clamp_holds_always() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeRtt);
        vitals.cwnd = 70;
        bbr.set_cwnd(&mut vitals, &acked(0), TEN_MBIT, 256);
        assert_eq!(vitals.cwnd, 4);
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        vitals.cwnd_clamp = 20;
        bbr.set_cwnd(&mut vitals, &acked(50), TEN_MBIT, 512);
        assert_eq!(vitals.cwnd, 20);
    }

    #[test]
    fn without_a_delay_the_product_is_the_initial_window() {
        let (mut bbr, _) = bbr_with(Mode::Startup);
        bbr.min_rtt = MinRtt::default();
        assert_eq!(bbr.product(TEN_MBIT, 739), 10);
    }

    #[test]
    fn what_arrives_before_the_next_departure_is_not_in_the_network() {
        let (mut bbr, mut vitals) = bbr_with(Mode::ProbeBw);
        bbr.gains.pacing = 192;
        vitals.next_send_at = vitals.now + DUE;
        assert_eq!(bbr.in_network_at_departure(&vitals, 40), 36);
        assert_eq!(bbr.in_network_at_departure(&vitals, 3), 0);
        bbr.gains.pacing = 320;
        assert_eq!(bbr.in_network_at_departure(&vitals, 40), 38, "two packets depart then");
    }
}
