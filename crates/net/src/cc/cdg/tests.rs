//! CDG's rounds.

use super::*;
use crate::cc::testing::{cc, tp};
use crate::time::Span;

struct Flow {
    cdg: Cdg,
    tp: SenderState,
    cc: CcState,
}

impl Flow {
    fn new(parameters: &[(&str, u64)]) -> Self {
        let set = parameters.iter().map(|(name, number)| ((*name).into(), crate::cc::Setting::Number(*number)));
        let mut cdg = Cdg::new(&mut Parameters::of(set), Rng::from_name(1, "cdg"));
        let (tp, mut cc) = (tp(), CcState { cwnd: 100, ssthresh: 50, ..cc() });
        cdg.init(&tp, &mut cc);
        Self { cdg, tp, cc }
    }

    /// A round with one delay; returns whether it backs off.
    fn round(&mut self, rtt_us: u64) -> bool {
        let sample = AckSample { acked: 2, rtt: Some(Span::from_micros(rtt_us)), in_flight: 100 };
        self.cdg.pkts_acked(&self.tp, &mut self.cc, &sample);
        (self.tp.snd_una, self.tp.snd_nxt) = (self.tp.snd_nxt + 1, self.tp.snd_nxt + 100_000);
        self.cdg.cong_avoid(&self.tp, &mut self.cc, 2);
        self.cdg.take_cwr_request()
    }
}

/// The first round of data is compared with the handshake's delay.
#[test]
fn the_handshake_is_the_first_round() {
    let mut flow = Flow::new(&[]);
    let mut cdg = Cdg::new(&mut Parameters::default(), Rng::from_name(1, "cdg"));
    cdg.syn_acked(&flow.tp, &mut flow.cc, &AckSample { acked: 1, rtt: Some(Span::from_millis(10)), in_flight: 1 });
    cdg.init(&flow.tp, &mut flow.cc);
    assert_eq!((cdg.round.delays.min_us, cdg.round.delays.max_us), (10_000, 10_000));
}

/// exp(−42 · 0.8 s) is almost 0: 100 ms more per round cause a backoff with certainty, five times; the sixth has no
/// effect.
#[test]
fn a_rising_delay_causes_backoffs_until_they_prove_ineffective() {
    let mut flow = Flow::new(&[]);
    flow.round(100_000);
    let retreats: [bool; 7] = core::array::from_fn(|round| flow.round(200_000 + 100_000 * round as u64));
    assert_eq!(retreats, [true, true, true, true, true, false, false]);
    assert_eq!(flow.cdg.cc_info(&flow.tp, &flow.cc).phase, "retreat");
    assert_eq!(flow.cdg.ssthresh(&flow.tp, &mut flow.cc), 70, "724/1024");
    (0..9).for_each(|_| assert!(!flow.round(50_000)));
    assert_eq!(flow.cdg.retreats, 0, "a falling delay shows an effect");
}

#[test]
fn a_constant_delay_causes_no_backoff() {
    let mut flow = Flow::new(&[]);
    assert!((0..50).all(|_| !flow.round(100_000)));
    assert!(flow.cc.cwnd > 100 || flow.cc.cwnd_count > 0);
}

/// 0.8 ms over eight rounds: 1 − exp(−42 · 0.0008) = 3.3 % of the rounds.
#[test]
fn a_slow_rise_causes_occasional_backoffs() {
    let mut flow = Flow::new(&[("use_ineff", 0)]);
    let retreats = (0..6_000).filter(|round| flow.round(100_000 + 100 * round)).count();
    assert!((150..250).contains(&retreats), "{retreats}");
}

/// A backoff from 100 packets leaves the shadow window there: a loss at 70 falls to 50, not to 35.
#[test]
fn the_shadow_window_softens_a_loss_after_a_backoff() {
    for (shadow, threshold) in [(1, 50), (0, 35)] {
        let mut flow = Flow::new(&[("use_shadow", shadow)]);
        flow.round(100_000);
        assert!(flow.round(500_000));
        flow.cc.cwnd = 70;
        flow.cdg.cwnd_event(&flow.tp, &mut flow.cc, Event::CompleteCwr);
        assert_eq!(flow.cdg.ssthresh(&flow.tp, &mut flow.cc), threshold);
    }
}

/// With loss tolerance, a loss while the maximum delay still rises is not congestion.
#[test]
fn a_tolerant_flow_keeps_its_window_while_the_queue_fills() {
    let mut flow = Flow::new(&[("use_tolerance", 1), ("backoff_factor", 0)]);
    flow.round(100_000);
    flow.round(110_000);
    assert_eq!(flow.cdg.ssthresh(&flow.tp, &mut flow.cc), 100);
}

#[test]
fn an_expected_delayed_ack_does_not_raise_the_maximum_delay() {
    let mut flow = Flow::new(&[]);
    let acknowledge = |flow: &mut Flow, acked, rtt_ms| {
        let sample = AckSample { acked, rtt: Some(Span::from_millis(rtt_ms)), in_flight: 10 };
        flow.cdg.pkts_acked(&flow.tp, &mut flow.cc, &sample);
        flow.cdg.round.delays
    };
    acknowledge(&mut flow, 2, 40);
    assert_eq!(acknowledge(&mut flow, 1, 80), Range { min_us: 40_000, max_us: 40_000 });
    assert_eq!(acknowledge(&mut flow, 1, 80), Range { min_us: 40_000, max_us: 80_000 });
}
