//! Illinois: loss says whether, delay says how much (Linux's `tcp_illinois.c`).
//!
//! - **What it does**: the window grows by ten packets a round trip while there is no queue and by a third of one when
//!   the queue is full; a loss costs an eighth or up to a half likewise.
//! - **Signal it listens to**: loss; the mean delay of the last round trip sets growth and decrease.
//! - **When it does well**: long fat paths with buffers of a bandwidth-delay product.
//! - **When it does badly**: short buffers, where the largest delay it ever saw says little.
//! - **Reference**: S. Liu, T. Başar, R. Srikant, "TCP-Illinois: A Loss- and Delay-Based Congestion Control Algorithm for
//!   High-Speed Networks", 2008.
//!
//! Where Linux departs from the paper: nothing is forgotten of the largest delay.

mod curves;

use super::{AckSample, CaState, Control, Insight, Parameters, Vitals, growth, reno};
use curves::Curves;

/// A flow's Illinois.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Illinois {
    /// Below this window it is Reno.
    window_threshold: u32,
    curves: Curves,
    round: Round,
    /// Smallest and largest round-trip time ever, in microseconds.
    base_us: u32,
    most_us: u32,
    /// Packets of the last ACK.
    acked: u32,
}

/// The samples of a round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Round {
    sum_us: u64,
    samples: u16,
    /// It is over when more than this is acknowledged.
    ends: u64,
}

impl Illinois {
    /// Linux's, where nothing else is set.
    pub(super) fn new(parameters: &mut Parameters) -> Self {
        Self {
            window_threshold: parameters.take("win_thresh", 15, 0..=65_535),
            curves: Curves::new(parameters.take("theta", 5, 0..=255)),
            round: Round::default(),
            base_us: 0x7fff_ffff,
            most_us: 0,
            acked: 0,
        }
    }

    const fn begin_round(&mut self, vitals: &Vitals) {
        self.round = Round { sum_us: 0, samples: 0, ends: vitals.snd_nxt };
    }

    /// A round is over: growth and decrease anew.
    fn end_round(&mut self, vitals: &Vitals) {
        if vitals.cwnd < self.window_threshold {
            self.curves.be_reno();
        } else if self.round.samples > 0 {
            let mean_us = self.round.sum_us / u64::from(self.round.samples);
            let queueing_us = u32::try_from(mean_us).unwrap_or(u32::MAX).wrapping_sub(self.base_us);
            self.curves.follow(queueing_us, self.most_us - self.base_us);
        }
        self.begin_round(vitals);
    }
}

impl Control for Illinois {
    fn name(&self) -> &'static str {
        "illinois"
    }

    fn start(&mut self, vitals: &mut Vitals) {
        self.begin_round(vitals);
    }

    fn ssthresh(&mut self, vitals: &mut Vitals) -> u32 {
        (vitals.cwnd - self.curves.decrease(vitals.cwnd)).max(2)
    }

    fn undo_cwnd(&mut self, vitals: &mut Vitals) -> u32 {
        reno::undo_cwnd(vitals)
    }

    fn on_acked(&mut self, _vitals: &mut Vitals, sample: &AckSample) {
        self.acked = sample.acked & 0xffff;
        let Some(rtt_us) = sample.rtt_us() else { return };
        let rtt_us = rtt_us.min(curves::MOST_RTT_US);
        self.base_us = self.base_us.min(rtt_us);
        self.most_us = self.most_us.max(rtt_us);
        self.round.samples = self.round.samples.wrapping_add(1);
        self.round.sum_us += u64::from(rtt_us);
    }

    fn avoid(&mut self, vitals: &mut Vitals, acked: u32) {
        if vitals.snd_una > self.round.ends {
            self.end_round(vitals);
        }
        if !growth::in_avoidance(vitals, acked) {
            return;
        }
        vitals.cwnd_count = vitals.cwnd_count.wrapping_add(self.acked);
        self.acked = 1;
        let grown = self.curves.increase(vitals.cwnd_count);
        if grown >= vitals.cwnd {
            vitals.cwnd = (vitals.cwnd + grown / vitals.cwnd).min(vitals.cwnd_clamp);
            vitals.cwnd_count = 0;
        }
    }

    fn on_state(&mut self, vitals: &mut Vitals, new: CaState) {
        if new == CaState::Loss {
            self.curves.restart();
            self.begin_round(vitals);
        }
    }

    fn insight(&self, vitals: &Vitals) -> Insight {
        Insight { phase: growth::phase(vitals), ..Insight::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::vitals;
    use crate::time::Span;

    fn flow(cwnd: u32) -> (Illinois, Vitals) {
        let mut illinois = Illinois::new(&mut Parameters::default());
        let mut vitals = Vitals { cwnd, ssthresh: 10, ..vitals() };
        illinois.start(&mut vitals);
        (illinois, vitals)
    }

    fn hear(illinois: &mut Illinois, vitals: &mut Vitals, rtts_ms: &[u64]) {
        for rtt_ms in rtts_ms {
            let sample = AckSample { acked: 1, rtt: Some(Span::from_millis(*rtt_ms)), in_flight: 20 };
            illinois.on_acked(vitals, &sample);
        }
        (vitals.snd_una, vitals.snd_nxt) = (vitals.snd_nxt + 1, vitals.snd_nxt + 100_000);
        illinois.avoid(vitals, 1);
    }

    /// A round at 100 ms after one at 200 ms: no queue, an eighth. One whose mean is 190 ms: nine tenths of it, a half.
    #[test]
    fn the_mean_delay_of_a_round_sets_the_decrease() {
        let (mut illinois, mut vitals) = flow(64);
        hear(&mut illinois, &mut vitals, &[100, 200]);
        hear(&mut illinois, &mut vitals, &[100, 100]);
        assert_eq!(illinois.ssthresh(&mut Vitals { cwnd: 64, ..vitals.clone() }), 56);
        hear(&mut illinois, &mut vitals, &[190, 180, 200]);
        assert_eq!(illinois.ssthresh(&mut Vitals { cwnd: 64, ..vitals.clone() }), 32);
    }

    /// Without any queue ten packets a window: the window of 40 grows by one with every fourth ACK.
    #[test]
    fn without_a_queue_it_grows_by_ten_packets_a_round() {
        let (mut illinois, mut vitals) = flow(40);
        hear(&mut illinois, &mut vitals, &[100]);
        let grown: [u32; 4] = core::array::from_fn(|_| {
            illinois.avoid(&mut vitals, 1);
            vitals.cwnd
        });
        assert_eq!(grown, [40, 40, 41, 41]);
    }

    #[test]
    fn a_small_window_is_renos() {
        let (mut illinois, mut vitals) = flow(14);
        hear(&mut illinois, &mut vitals, &[100]);
        assert_eq!(illinois.ssthresh(&mut vitals), 7);
        (0..13).for_each(|_| illinois.avoid(&mut vitals, 1));
        assert_eq!(vitals.cwnd, 15);
    }
}
