//! The window: gain times the bandwidth-delay product, plus a budget for packets that hosts hold back.

use super::bandwidth::{Bandwidth, UNIT};
use super::pacing::tso_segments;
use super::{Bbr, Mode};
use crate::cc::model::pacing::in_network_at_departure;
use crate::cc::model::probe_rtt::MIN_PIPE_CWND;
use crate::cc::{CcState, INITIAL_WINDOW, RateSample, SenderState};

impl Bbr {
    /// Grows the window towards the target by the acknowledged packets, or cuts it to the target (`bbr_set_cwnd`).
    pub(super) fn set_cwnd(
        &mut self,
        tp: &SenderState,
        cc: &mut CcState,
        sample: &RateSample,
        bandwidth: Bandwidth,
        gain: u32,
    ) {
        let mut cwnd = cc.cwnd;
        let acked = sample.acked_sacked;
        if acked > 0 {
            let (from, is_conserving) = self.recover_or_restore(tp, cc, sample);
            cwnd = from;
            if !is_conserving {
                cwnd = self.towards_target(tp, cc, from, acked, bandwidth, gain);
            }
        }
        cc.cwnd = cwnd.min(cc.cwnd_clamp);
        if self.mode == Mode::ProbeRtt {
            cc.cwnd = cc.cwnd.min(MIN_PIPE_CWND);
        }
    }

    fn towards_target(
        &self,
        tp: &SenderState,
        cc: &CcState,
        cwnd: u32,
        acked: u32,
        bandwidth: Bandwidth,
        gain: u32,
    ) -> u32 {
        let product = self.product(bandwidth, gain).saturating_add(self.aggregation_bonus());
        let target = self.with_budget(tp, cc, product);
        let grown = cwnd.saturating_add(acked);
        let cwnd = if self.full_pipe.is_reached() {
            grown.min(target)
        } else if cwnd < target || tp.delivered < u64::from(INITIAL_WINDOW) {
            grown
        } else {
            cwnd
        };
        cwnd.max(MIN_PIPE_CWND)
    }

    /// Target of packets in flight at this gain, with the maximum bandwidth (`bbr_inflight`).
    pub(super) fn target_in_flight(&self, tp: &SenderState, cc: &CcState, gain: u32) -> u32 {
        self.with_budget(tp, cc, self.product(self.max_bandwidth.best(), gain))
    }

    /// Bandwidth-delay product (`bbr_bdp`); the initial window while no delay is known.
    fn product(&self, bandwidth: Bandwidth, gain: u32) -> u32 {
        self.min_rtt.micros().map_or(INITIAL_WINDOW, |micros| bandwidth.packets_in_at(micros, gain))
    }

    /// Adds super-packets in both hosts and rounds up to an even number because of delayed ACKs
    /// (`bbr_quantization_budget`).
    fn with_budget(&self, tp: &SenderState, cc: &CcState, packets: u32) -> u32 {
        let even = packets.saturating_add(3 * tso_segments(tp, cc)).saturating_add(1) & !1;
        // Probing must exceed the BDP even where a quarter of it is less than a packet.
        let probing = self.mode == Mode::ProbeBw && self.cycle.is_probing();
        even.saturating_add(if probing { 2 } else { 0 })
    }

    /// Packets still in the network when the next ones depart, out of `in_flight`.
    pub(super) fn in_network_at_departure(&self, tp: &SenderState, cc: &CcState, in_flight: u32) -> u32 {
        let departing = if self.gains.pacing > UNIT { tso_segments(tp, cc) } else { 0 };
        in_network_at_departure(tp, in_flight + departing, self.bandwidth())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{FOUR_PACKETS, TEN_MBIT, bbr_with};
    use super::super::{FullPipe, MinRtt};
    use super::*;

    fn acked(packets: u32) -> RateSample {
        RateSample { acked_sacked: packets, ..RateSample::default() }
    }

    /// 2 × 33.02 packets, rounded up, six for hosts, rounded up to an even number: 74.
    #[test]
    fn the_target_is_twice_the_bdp_and_a_budget() {
        let (bbr, tp, cc) = bbr_with(Mode::ProbeBw);
        assert_eq!(bbr.product(TEN_MBIT, 2 * UNIT), 67);
        assert_eq!(bbr.with_budget(&tp, &cc, 67), 76, "in the probing phase");
        let (bbr, ..) = bbr_with(Mode::Drain);
        assert_eq!(bbr.with_budget(&tp, &cc, 67), 74);
        assert_eq!(bbr.with_budget(&tp, &cc, 68), 74);
    }

    #[test]
    fn the_window_grows_to_the_target_and_is_cut_to_it() {
        let (mut bbr, tp, mut cc) = bbr_with(Mode::ProbeBw);
        cc.cwnd = 70;
        let windows = [2, 2, 2, 2].map(|packets| {
            bbr.set_cwnd(&tp, &mut cc, &acked(packets), TEN_MBIT, 512);
            cc.cwnd
        });
        assert_eq!(windows, [72, 74, 76, 76]);
        bbr.set_cwnd(&tp, &mut cc, &acked(1), TEN_MBIT, 256);
        assert_eq!(cc.cwnd, 42, "34, 6 and 2");
    }

    #[test]
    fn startup_never_shrinks_the_window() {
        let (mut bbr, mut tp, mut cc) = bbr_with(Mode::Startup);
        bbr.full_pipe = FullPipe::default();
        tp.delivered = 1_000;
        cc.cwnd = 200;
        bbr.set_cwnd(&tp, &mut cc, &acked(5), TEN_MBIT, 739);
        assert_eq!(cc.cwnd, 200);
        tp.delivered = 5;
        bbr.set_cwnd(&tp, &mut cc, &acked(5), TEN_MBIT, 739);
        assert_eq!(cc.cwnd, 205, "the first ten packets always grow it");
    }

    #[test]
    fn probe_rtt_uses_four_packets_and_the_clamp_always_applies() {
        let (mut bbr, tp, mut cc) = bbr_with(Mode::ProbeRtt);
        cc.cwnd = 70;
        bbr.set_cwnd(&tp, &mut cc, &acked(0), TEN_MBIT, 256);
        assert_eq!(cc.cwnd, 4);
        let (mut bbr, tp, mut cc) = bbr_with(Mode::ProbeBw);
        cc.cwnd_clamp = 20;
        bbr.set_cwnd(&tp, &mut cc, &acked(50), TEN_MBIT, 512);
        assert_eq!(cc.cwnd, 20);
    }

    #[test]
    fn without_a_delay_the_bdp_is_the_initial_window() {
        let (mut bbr, ..) = bbr_with(Mode::Startup);
        bbr.min_rtt = MinRtt::default();
        assert_eq!(bbr.product(TEN_MBIT, 739), 10);
    }

    #[test]
    fn packets_that_arrive_before_the_next_departure_are_not_in_the_network() {
        let (mut bbr, mut tp, cc) = bbr_with(Mode::ProbeBw);
        bbr.gains.pacing = 192;
        tp.next_send_at = tp.now + FOUR_PACKETS;
        assert_eq!(bbr.in_network_at_departure(&tp, &cc, 40), 36);
        assert_eq!(bbr.in_network_at_departure(&tp, &cc, 3), 0);
        bbr.gains.pacing = 320;
        assert_eq!(bbr.in_network_at_departure(&tp, &cc, 40), 38, "two packets depart then");
    }
}
